#include "transform/affine_matrix.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>

namespace pyfastdl {
namespace {

double radians(double degrees) { return degrees * (3.14159265358979323846 / 180.0); }

// Python's round(x, 15): to the nearest decimal number of so many digits, and that to the nearest double.
// REQUIRES: an x of -1 to 1.
double round_to_15_decimals(double x) {
  char digits[32];
  const auto written = std::to_chars(std::begin(digits), std::end(digits), x, std::chars_format::fixed, 15);
  double rounded = 0;
  std::from_chars(digits, written.ptr, rounded);
  return rounded;
}

}  // namespace

AffineMatrix inverse_affine_matrix(Pair center, double angle, Pair translate, double scale, Pair shear) {
  const double turn = radians(angle), shear_x = radians(shear[0]), shear_y = radians(shear[1]);
  // Turn and shear, without the scale: its determinant is 1.
  const double a = std::cos(turn - shear_y) / std::cos(shear_y);
  const double b = -std::cos(turn - shear_y) * std::tan(shear_x) / std::cos(shear_y) - std::sin(turn);
  const double c = std::sin(turn - shear_y) / std::cos(shear_y);
  const double d = -std::sin(turn - shear_y) * std::tan(shear_x) / std::cos(shear_y) + std::cos(turn);

  AffineMatrix m{d / scale, -b / scale, 0.0 / scale, -c / scale, a / scale, 0.0 / scale};
  const double back_x = -center[0] - translate[0], back_y = -center[1] - translate[1];
  m[2] += m[0] * back_x + m[1] * back_y;
  m[5] += m[3] * back_x + m[4] * back_y;
  m[2] += center[0];
  m[5] += center[1];
  return m;
}

AffineMatrix rotation_matrix(double degrees, Size size) {
  const double turn = -radians(degrees);
  const double cosine = round_to_15_decimals(std::cos(turn));
  const double center_x = size.width / 2.0, center_y = size.height / 2.0;
  AffineMatrix m{
      cosine, round_to_15_decimals(std::sin(turn)), 0.0, round_to_15_decimals(-std::sin(turn)), cosine, 0.0};
  m[2] = m[0] * -center_x + m[1] * -center_y + 0.0;
  m[5] = m[3] * -center_x + m[4] * -center_y + 0.0;
  m[2] += center_x;
  m[5] += center_y;
  return m;
}

}  // namespace pyfastdl
