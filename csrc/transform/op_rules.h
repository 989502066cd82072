// What each operation demands of its arguments, what it makes of an image's size, and which images it can't be done to.
//
// Pure functions; any thread.
#pragma once

#include <optional>
#include <string>

#include "base/geometry.h"
#include "transform/op.h"

namespace pyfastdl {

// No side of a result or of an image between steps is longer.
inline constexpr int kMaxSide = 1 << 24;

std::string text(Size size);  // "3x4"

// Throws Error (invalid_argument) that names the operation and what is wrong with its arguments.
void check(const Op& op);

// torchvision's name for it.
const char* op_name(const Op& op);

// The size after an operation, whatever it draws. {0, 0} (or sides that aren't `possible`): it can't be done to such an
// image, and why_impossible() says why.
Size size_after(const Op& op, Size image);
bool possible(Size size);
std::string why_impossible(const Op& op, Size image);

// The size that an operation gives to every image that it can be done to; nullopt: it depends on the image.
std::optional<Size> fixed_size(const Op& op);

// Its negative numbers: what is taken away, before anything is added.
Padding taken_away(const Padding& padding);

// RandAugment draws no more operations than this for a sample.
inline constexpr int kMaxAugments = 1000;

// `image` with pixels added at its sides. A side grows no further than kMaxSide + 1, nor shrinks below 0.
Size padded_size(const Padding& padding, Size image);
// {0, 0} where the mode mirrors what is no longer there.
Size padded_size(const Padding& padding, PadMode mode, Size image);
// RandomCrop's image once it is padded, before the crop.
Size padded_size(const RandomCrop& op, Size image);
// What RandomCrop adds after its own padding, because the image is still too small: as much at both sides of an axis.
Padding missing(const RandomCrop& op, Size padded);

// Where `size` positions in the middle of `image` begin. A negative result is torchvision's padding: the odd one goes
// behind.
int center(int image, int size);

}  // namespace pyfastdl
