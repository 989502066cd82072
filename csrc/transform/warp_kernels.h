// Warps that blend neighbours: two by two pixels or four by four, in double as Pillow does. Vector code, a pixel's channels
// side by side, chosen at run time for the CPU at hand (Highway). Pure functions; any thread.
#pragma once

#include <array>

#include "transform/warp_nearest.h"

namespace pyfastdl {

void warp_bilinear(const std::array<double, 6>& matrix, const WarpImages& images);
void warp_bicubic(const std::array<double, 6>& matrix, const WarpImages& images);

}  // namespace pyfastdl
