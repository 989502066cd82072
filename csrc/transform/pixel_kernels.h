// The inner loops of the pixel writer: bytes to numbers, channels apart or together, mirrored or not. Vector code,
// chosen at run time for the CPU at hand (Highway). Pure functions; any thread.
//
// Division is the exact and slow way; where the CPU has fused multiply-add, x / d is fma(x, hi, x * lo) with
// hi + lo = 1 / d to twice float's precision. That is almost always the correctly rounded quotient; PixelWriter looks
// at every value that can occur before it relies on it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transform/pixels.h"

namespace pyfastdl {

// One row of `width` RGB pixels to `out`; channels are `plane_bytes` apart (chw). Rows shorter than a vector are left
// to the caller: false, and nothing is written.
bool write_pixels(const PixelConstants& constants, const std::uint8_t* rgb, int width, bool flip,
                  std::byte* out, std::size_t plane_bytes);

}  // namespace pyfastdl
