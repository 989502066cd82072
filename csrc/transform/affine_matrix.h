// Stub.
#pragma once
#include <array>
namespace pyfastdl {
using Pair = std::array<double, 2>;
using AffineMatrix = std::array<double, 6>;
AffineMatrix inverse_affine_matrix(Pair center, double angle, Pair translate, double scale, Pair shear);
}  // namespace pyfastdl
