// The matrices of Affine and Rotate, to the last bit: torchvision's and Pillow's formulas with the same order of operations
// in double. Pure functions; any thread.
#pragma once

#include <array>

#include "base/geometry.h"

namespace pyfastdl {

// Six numbers that take an output pixel to its place in the input: (a x + b y + c, d x + e y + f).
using AffineMatrix = std::array<double, 6>;

// x, then y.
using Pair = std::array<double, 2>;

// The inverse of: shear, scale and turn about the centre, then move. Angles in degrees, clockwise; the rest in pixels.
// torchvision's _get_inverse_affine_matrix. REQUIRES: a scale that isn't 0.
AffineMatrix inverse_affine_matrix(Pair center, double angle, Pair translate, double scale, Pair shear);

// A turn about the image's centre, as Image.rotate makes it: sines and cosines rounded to 15 decimals.
// REQUIRES: degrees of 0 to 360.
AffineMatrix rotation_matrix(double degrees, Size size);

}  // namespace pyfastdl
