// Warps that take the nearest pixel, in Pillow's three ways: positions added up in double where the matrix only scales and
// moves, in 16.16 fixed point where the image's corners fit, in double elsewhere. They differ in some pixels.
// Pure functions; any thread.
#pragma once

#include <array>
#include <cstdint>

#include "base/geometry.h"

namespace pyfastdl {

// Packed RGB, both of the same size. `from` has kRowPadding readable bytes behind it.
struct WarpImages {
  const std::uint8_t* from;
  std::uint8_t* to;
  Size size;
  std::array<std::uint8_t, 3> fill;
};

// `columns` has room for size.width numbers.
void warp_nearest(const std::array<double, 6>& matrix, const WarpImages& images, int* columns);

}  // namespace pyfastdl
