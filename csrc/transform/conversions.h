// From pictures to numbers: which operations may follow which, and the format of the finished pixels that they ask for.
//
// A list of operations goes from a picture (as Pillow has it) to a tensor of bytes (PILToTensor, ToImage) or of floats
// (ToTensor, ToDtype), and there Normalize and RandomErasing come. What works on pictures is refused behind a
// conversion, where torchvision's results differ from those on pictures; crops, padding with zeros and flips are the
// same on both. Normalize and RandomErasing convert by themselves where nobody did.
//
// Pure functions; any thread.
#pragma once

#include <span>

#include "transform/op.h"
#include "transform/pixels.h"

namespace pyfastdl {

// `basics` says the dtype and the layout of the cells; the operations give the rest. Throws Error (invalid_argument) that
// names the operation that stands where it can't, or what the dtype would have to be.
PixelFormat format_of(std::span<const Op> ops, const PixelFormat& basics);

}  // namespace pyfastdl
