#include "transform/warp.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#include "transform/affine_matrix.h"
#include "transform/warp_kernels.h"
#include "transform/warp_nearest.h"

namespace pyfastdl {
namespace {

void swap_pixels(std::uint8_t* a, std::uint8_t* b) { std::swap_ranges(a, a + 3, b); }

void turn_half(std::uint8_t* rgb, Size size) {
  const auto pixels = static_cast<std::ptrdiff_t>(size.height) * size.width;
  for (std::ptrdiff_t i = 0, k = pixels - 1; i < k; ++i, --k) swap_pixels(rgb + i * 3, rgb + k * 3);
}

// Squares, in place, by cycles of four pixels.
void turn_quarter(std::uint8_t* rgb, int side, bool counter_clockwise) {
  const auto at = [&](int y, int x) { return rgb + (static_cast<std::ptrdiff_t>(y) * side + x) * 3; };
  for (int y = 0; y < side / 2; ++y) {
    for (int x = 0; x < side - side / 2; ++x) {
      std::uint8_t* const top = at(y, x);
      std::uint8_t* const right = at(x, side - 1 - y);
      std::uint8_t* const bottom = at(side - 1 - y, side - 1 - x);
      std::uint8_t* const left = at(side - 1 - x, y);
      if (counter_clockwise) {
        swap_pixels(top, right);
        swap_pixels(right, bottom);
        swap_pixels(bottom, left);
      } else {
        swap_pixels(top, left);
        swap_pixels(left, bottom);
        swap_pixels(bottom, right);
      }
    }
  }
}

// Python's x % 360.0.
double turned_once(double degrees) {
  const double rest = std::fmod(degrees, 360.0);
  return rest < 0 ? rest + 360.0 : rest;
}

}  // namespace

void warp(const Affine& affine, std::uint8_t* rgb, Size size, ByteBuffer& scratch) {
  const std::size_t bytes = static_cast<std::size_t>(size.height) * size.width * 3;
  const std::size_t table_at = (bytes + kRowPadding + 63) / 64 * 64;
  scratch.resize(table_at + static_cast<std::size_t>(size.width) * sizeof(int));
  std::memcpy(scratch.data(), rgb, bytes);
  const WarpImages images{scratch.data(), rgb, size, affine.fill};
  switch (affine.sampling) {
    case Sampling::nearest:
      return warp_nearest(affine.matrix, images, reinterpret_cast<int*>(scratch.data() + table_at));
    case Sampling::bilinear:
      return warp_bilinear(affine.matrix, images);
    case Sampling::bicubic:
      return warp_bicubic(affine.matrix, images);
  }
}

void rotate(const Rotate& rotation, std::uint8_t* rgb, Size size, ByteBuffer& scratch) {
  const double degrees = turned_once(rotation.degrees);
  if (degrees == 0) return;
  if (degrees == 180) return turn_half(rgb, size);
  if ((degrees == 90 || degrees == 270) && size.width == size.height) {
    return turn_quarter(rgb, size.width, degrees == 90);
  }
  warp({rotation_matrix(degrees, size), rotation.sampling, rotation.fill}, rgb, size, scratch);
}

}  // namespace pyfastdl
