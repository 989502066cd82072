// ImageEnhance.Sharpness on packed RGB in place: Image.blend of the smoothed image with this one. Vector code, chosen at
// run time for the CPU at hand (Highway). Any thread; the scratch memory is the caller's.
//
// Pillow smooths by a 3x3 kernel of ones with a five in the middle, over 13, in float, adds a half and cuts off. The sum n
// of the weighted bytes is an integer, so that n / 13 + 1/2 is an odd number of 26ths: at least 1/26 away from the next
// integer, where the float errors stay below 1/1000. Hence (n + 6) / 13 in integers is the same byte.
#pragma once

#include <cstdint>

#include "base/byte_buffer.h"
#include "base/geometry.h"

namespace pyfastdl {

// The outermost pixels, and images with a side below 3, stay as they are. `scratch` gets two rows. Throws std::bad_alloc.
void adjust_sharpness(std::uint8_t* rgb, Size size, float factor, ByteBuffer& scratch);

}  // namespace pyfastdl
