// The arithmetic of Pillow's Image.blend on one byte, and of its conversion to gray on one pixel: what the vector kernels
// must equal, and what they use for the last few bytes. Pure functions; any thread.
#pragma once

#include <cstdint>

namespace pyfastdl {

// A blend's single-precision factor. What doesn't fit is infinite, as where Python makes a C float of it.
inline float blend_factor(double factor) { return static_cast<float>(factor); }

// from + (to - from) * factor in float, clipped, then cut off. What is no number gives 0.
// This file must be compiled without fused multiply-add (-ffp-contract=off).
inline std::uint8_t blend_byte(int from, int to, float factor) {
  const float x = static_cast<float>(from) + factor * static_cast<float>(to - from);
  if (!(x > 0.0f)) return 0;
  return x >= 255.0f ? 255 : static_cast<std::uint8_t>(x);
}

// ITU-R 601-2 luma in 16 bits below the point, rounded.
inline int gray_of(const std::uint8_t* rgb) {
  return (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16;
}

}  // namespace pyfastdl
