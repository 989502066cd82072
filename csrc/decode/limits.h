// The checks that every decoder makes before it allocates, and the words for what fails them.
#pragma once

#include <cstdint>
#include <string>

#include "base/geometry.h"
#include "base/status.h"
#include "decode/decoder.h"

namespace pyfastdl {

inline Status check_pixels(std::uint64_t height, std::uint64_t width, const DecodeLimits& limits) {
  // Both are below 2^32, so the product does not overflow.
  if (height * width <= limits.max_pixels) return {};
  return {Errc::limit, "the image claims " + std::to_string(height) + " x " + std::to_string(width) + " = " +
                           std::to_string(height * width) + " pixels, more than the limit of " +
                           std::to_string(limits.max_pixels) + " (max_pixels)"};
}

inline Status check_pixels(Size size, const DecodeLimits& limits) {
  return check_pixels(static_cast<std::uint64_t>(size.height), static_cast<std::uint64_t>(size.width),
                      limits);
}

inline Status out_of_memory(const char* what, Size size) {
  return {Errc::out_of_memory, std::string("not enough memory for ") + what + " of an image of " +
                                   std::to_string(size.height) + " x " + std::to_string(size.width) +
                                   " pixels"};
}

}  // namespace pyfastdl
