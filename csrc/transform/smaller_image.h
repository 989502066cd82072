// use_smaller_image: lets the source decode fewer pixels where the first resize would throw them away. Inexact.
//
// Any thread; nothing blocks.
#pragma once

#include "base/geometry.h"
#include "base/row_source.h"
#include "transform/steps.h"

namespace pyfastdl {

// The least eighths of its size that a crop may come in so that, in both directions, it still has as many pixels as the
// resize makes of it: 1, 2, 4, or 8, which is the size itself. (Between those the inverse DCT has no fast code.)
int least_eighths(Size crop, Size out);

// Asks the image for that, if it is less than its size, and tells the steps, if it does it. The crop keeps its fractional edges: nothing moves.
// REQUIRES: the steps were made for the image, which isn't started.
void use_smaller_image(RowSource& image, Steps& steps);

}  // namespace pyfastdl
