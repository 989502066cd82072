#include "transform/affine_matrix.h"
namespace pyfastdl {
AffineMatrix inverse_affine_matrix(Pair, double, Pair, double, Pair) { return {1, 0, 0, 0, 1, 0}; }
}  // namespace pyfastdl
