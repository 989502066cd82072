// A border around an image in memory: numpy.pad's edge, reflect and symmetric, which is what torchvision's Pad does.
// Pure functions; any thread.
#pragma once

#include <cstdint>

#include "base/geometry.h"
#include "transform/op.h"

namespace pyfastdl {

// Which of `size` positions shows at position `at` of the axis, which may be anywhere outside.
// REQUIRES: a mode other than constant, size > 0.
int mirrored(PadMode mode, int at, int size);

// `rgb` has room for the padded image, packed, three bytes a pixel; the image stands in its place, and the border is
// written around it. REQUIRES: as above; no side of the padding below 0; the image is not empty.
void write_border(PadMode mode, const Padding& padding, Size image, std::uint8_t* rgb);

}  // namespace pyfastdl
