#include "transform/warp.h"

#include <cmath>
#include <cstddef>
#include <cstring>

#include "transform/affine_matrix.h"
#include "transform/warp_kernels.h"
#include "transform/warp_nearest.h"

namespace pyfastdl {
namespace {

// `count` pixels that lie `step` bytes apart. Four bytes at once: the fourth is written over by what follows, so that the
// last pixel goes by three.
void copy_pixels(const std::uint8_t* from, std::ptrdiff_t step, int count, std::uint8_t* out) {
  for (int i = 0; i + 1 < count; ++i, from += step, out += 3) std::memcpy(out, from, 4);
  std::memcpy(out, from, 3);
}

enum class Quarters { one, two, three };

// Counter-clockwise. REQUIRES: a square for one and three.
void turn(Quarters quarters, std::uint8_t* rgb, Size size, ByteBuffer& scratch) {
  const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(size.width) * 3;
  const std::ptrdiff_t last_row = (size.height - 1) * stride, last_pixel = stride - 3;
  const auto bytes = static_cast<std::size_t>(last_row + stride);
  scratch.resize(bytes);
  std::memcpy(scratch.data(), rgb, bytes);
  const std::uint8_t* const from = scratch.data();
  for (int y = 0; y < size.height; ++y) {
    std::uint8_t* const out = rgb + y * stride;
    switch (quarters) {
      case Quarters::one:
        copy_pixels(from + last_pixel - y * 3, stride, size.width, out);
        break;
      case Quarters::two:
        copy_pixels(from + last_row - y * stride + last_pixel, -3, size.width, out);
        break;
      case Quarters::three:
        copy_pixels(from + last_row + y * 3, -stride, size.width, out);
        break;
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
  if (degrees == 180) return turn(Quarters::two, rgb, size, scratch);
  if ((degrees == 90 || degrees == 270) && size.width == size.height) {
    return turn(degrees == 90 ? Quarters::one : Quarters::three, rgb, size, scratch);
  }
  warp({rotation_matrix(degrees, size), rotation.sampling, rotation.fill}, rgb, size, scratch);
}

}  // namespace pyfastdl
