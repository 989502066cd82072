#include "bindings/specs.h"

#include <pybind11/stl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "bindings/names.h"

namespace py = pybind11;

namespace pyfastdl::bindings {
namespace {

// The arguments of a spec, taken one after another.
class Arguments {
 public:
  explicit Arguments(const py::tuple& spec) : spec_(spec) {}

  template <class T>
  T take() {
    return spec_[next_++].cast<T>();
  }
  Size size() {
    const auto [height, width] = take<std::pair<int, int>>();
    return {height, width};
  }
  std::optional<Padding> padding() {
    const auto sides = take<std::optional<std::array<int, 4>>>();
    if (!sides) return std::nullopt;
    return Padding{(*sides)[0], (*sides)[1], (*sides)[2], (*sides)[3]};
  }
  Filter filter() { return to_filter(take<std::string>()); }
  PadMode pad_mode() { return by_name("padding_mode", take<std::string>(), kPadModes); }
  Sampling sampling() { return by_name("interpolation", take<std::string>(), kSamplings); }
  DType dtype() { return by_name("dtype", take<std::string>(), kDTypes); }
  py::object peek() const { return spec_[next_]; }

 private:
  const py::tuple& spec_;
  std::size_t next_ = 1;
};

Op resize(Arguments& a) {
  if (!py::isinstance<py::int_>(a.peek())) {
    const Size size = a.size();
    if (!a.take<py::object>().is_none()) {
      throw Error(Errc::invalid_argument,
                  "resize: max_size goes with a shorter side, not with a height and a width");
    }
    return Resize{size, a.filter()};
  }
  const int shorter = a.take<int>();
  const auto max_size = a.take<std::optional<int>>();
  return ResizeShorter{shorter, max_size, a.filter()};
}

// Braces: arguments are taken from left to right.
struct Maker {
  std::size_t arguments;
  Op (*make)(Arguments&);
};
const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> table = {
      {"random_resized_crop",
       {4,
        [](Arguments& a) -> Op {
          return RandomResizedCrop{a.size(), a.take<Range>(), a.take<Range>(), a.filter()};
        }}},
      {"resize", {3, &resize}},
      {"center_crop", {1, [](Arguments& a) -> Op { return CenterCrop{a.size()}; }}},
      {"pad", {3, [](Arguments& a) -> Op { return Pad{a.padding().value(), a.take<Rgb>(), a.pad_mode()}; }}},
      {"random_crop",
       {5,
        [](Arguments& a) -> Op {
          return RandomCrop{a.size(), a.padding(), a.take<bool>(), a.take<Rgb>(), a.pad_mode()};
        }}},
      {"random_horizontal_flip",
       {1, [](Arguments& a) -> Op { return RandomHorizontalFlip{a.take<double>()}; }}},
      {"random_vertical_flip", {1, [](Arguments& a) -> Op { return RandomVerticalFlip{a.take<double>()}; }}},
      {"grayscale", {0, [](Arguments&) -> Op { return Grayscale{}; }}},
      {"random_grayscale", {1, [](Arguments& a) -> Op { return RandomGrayscale{a.take<double>()}; }}},
      {"color_jitter",
       {4,
        [](Arguments& a) -> Op {
          using R = std::optional<Range>;
          return ColorJitter{a.take<R>(), a.take<R>(), a.take<R>(), a.take<R>()};
        }}},
      {"rand_augment",
       {5,
        [](Arguments& a) -> Op {
          return RandAugment{a.take<int>(), a.take<int>(), a.take<int>(), a.sampling(), a.take<Rgb>()};
        }}},
      {"trivial_augment_wide",
       {3,
        [](Arguments& a) -> Op { return TrivialAugmentWide{a.take<int>(), a.sampling(), a.take<Rgb>()}; }}},
      {"pil_to_tensor", {0, [](Arguments&) -> Op { return ToBytes{}; }}},
      {"to_image", {0, [](Arguments&) -> Op { return ToBytes{true}; }}},
      {"to_tensor", {0, [](Arguments&) -> Op { return ToTensor{}; }}},
      {"to_dtype", {2, [](Arguments& a) -> Op { return ToDtype{a.dtype(), a.take<bool>()}; }}},
      {"normalize",
       {2,
        [](Arguments& a) -> Op {
          return Normalize{a.take<std::array<double, 3>>(), a.take<std::array<double, 3>>()};
        }}},
      {"random_erasing",
       {4,
        [](Arguments& a) -> Op {
          return RandomErasing{a.take<double>(), a.take<Range>(), a.take<Range>(),
                               a.take<std::optional<std::array<double, 3>>>()};
        }}},
  };
  return table;
}

}  // namespace

Op to_op(const py::tuple& spec) {
  if (spec.empty())
    throw Error(Errc::invalid_argument, "a transform is a tuple that begins with its name, not ()");
  const auto name = spec[0].cast<std::string>();
  const auto found = makers().find(name);
  if (found == makers().end())
    throw Error(Errc::invalid_argument, "the native core has no transform '" + name + "'");
  const Maker& maker = found->second;
  if (spec.size() != maker.arguments + 1) {
    throw Error(Errc::invalid_argument, "a transform has the wrong number of arguments, " +
                                            std::to_string(spec.size() - 1) + " instead of " +
                                            std::to_string(maker.arguments) + ": " +
                                            py::repr(spec).cast<std::string>());
  }
  Arguments arguments(spec);
  return maker.make(arguments);
}

}  // namespace pyfastdl::bindings
