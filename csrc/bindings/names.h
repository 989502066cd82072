// What users call filters, dtypes and the like, as values.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "base/status.h"
#include "transform/filter.h"
#include "transform/op.h"
#include "transform/pixels.h"

namespace pyfastdl::bindings {

// The value that a name stands for. Throws Error that lists the names.
template <class T, std::size_t N>
T by_name(const char* what, const std::string& name, const std::pair<const char*, T> (&names)[N]) {
  std::string list;
  for (const auto& [known, value] : names) {
    if (name == known) return value;
    list += (list.empty() ? "" : ", ") + std::string(known);
  }
  throw Error(Errc::invalid_argument, std::string(what) + " must be one of " + list + ", not '" + name + "'");
}

inline constexpr std::pair<const char*, Filter> kFilters[] = {{"box", Filter::box},
                                                              {"bilinear", Filter::bilinear},
                                                              {"bicubic", Filter::bicubic},
                                                              {"lanczos", Filter::lanczos}};
inline constexpr std::pair<const char*, PassOrder> kPassOrders[] = {
    {"horizontal_first", PassOrder::horizontal_first},
    {"tall_vertical_first", PassOrder::tall_vertical_first},
    {"shrink_vertical_first", PassOrder::shrink_vertical_first}};
inline constexpr std::pair<const char*, DType> kDTypes[] = {{"uint8", DType::uint8},
                                                            {"float16", DType::float16},
                                                            {"bfloat16", DType::bfloat16},
                                                            {"float32", DType::float32}};

inline constexpr std::pair<const char*, Sampling> kSamplings[] = {
    {"nearest", Sampling::nearest}, {"bilinear", Sampling::bilinear}, {"bicubic", Sampling::bicubic}};
inline constexpr std::pair<const char*, PadMode> kPadModes[] = {{"constant", PadMode::constant},
                                                                {"edge", PadMode::edge},
                                                                {"reflect", PadMode::reflect},
                                                                {"symmetric", PadMode::symmetric}};

inline Filter to_filter(const std::string& name) { return by_name("the filter", name, kFilters); }
inline PassOrder to_pass_order(const std::string& name) {
  return by_name("the pass order", name, kPassOrders);
}

}  // namespace pyfastdl::bindings
