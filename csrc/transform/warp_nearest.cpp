#include "transform/warp_nearest.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace pyfastdl {
namespace {

using Matrix = std::array<double, 6>;

// A conversion to int as x86 has it: what doesn't fit becomes the lowest number.
int to_int(double x) { return x > -2147483649.0 && x < 2147483648.0 ? static_cast<int>(x) : INT_MIN; }

// Pixel of a place; -1 or less outside.
int pixel_of(double place) { return place < 0.0 ? -1 : to_int(place); }

int to_fixed(double x) { return to_int(std::floor(x * 65536.0 + 0.5)); }

std::size_t row_bytes(const WarpImages& images) { return static_cast<std::size_t>(images.size.width) * 3; }

void fill_pixels(const WarpImages& images, std::uint8_t* out, int count) {
  for (int i = 0; i < count; ++i, out += 3) std::copy_n(images.fill.data(), 3, out);
}

// Positions of a row, added up in double.
void warp_scaled(const Matrix& m, const WarpImages& images, int* columns) {
  const int width = images.size.width, height = images.size.height;
  // The columns that come from inside lie side by side.
  int begin = width, end = 0;
  double place_x = m[2] + m[0] * 0.5;
  for (int x = 0; x < width; ++x, place_x += m[0]) {
    columns[x] = pixel_of(place_x);
    if (columns[x] >= 0 && columns[x] < width) {
      begin = std::min(begin, x);
      end = x + 1;
    }
  }
  begin = std::min(begin, end);
  const bool run = begin < end && columns[end - 1] - columns[begin] == end - 1 - begin && m[0] > 0;
  double place_y = m[5] + m[4] * 0.5;
  for (int y = 0; y < height; ++y, place_y += m[4]) {
    std::uint8_t* out = images.to + static_cast<std::size_t>(y) * row_bytes(images);
    const int from_y = pixel_of(place_y);
    if (from_y < 0 || from_y >= height) {
      fill_pixels(images, out, width);
      continue;
    }
    const std::uint8_t* row = images.from + static_cast<std::size_t>(from_y) * row_bytes(images);
    fill_pixels(images, out, begin);
    if (run) {
      std::memcpy(out + begin * 3, row + columns[begin] * 3, static_cast<std::size_t>(end - begin) * 3);
    } else {
      for (int x = begin; x < end; ++x) std::copy_n(row + columns[x] * 3, 3, out + x * 3);
    }
    fill_pixels(images, out + end * 3, width - end);
  }
}

struct Span {
  std::int64_t begin, end;
};

// The i of 0 to `count` for which 0 <= start + i * step < limit.
Span inside(std::int64_t start, std::int64_t step, std::int64_t limit, int count) {
  const auto up = [](std::int64_t a, std::int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); };
  Span span{0, count};
  if (step == 0) {
    if (start < 0 || start >= limit) span.end = 0;
  } else if (step > 0) {
    span.begin = up(-start, step);
    span.end = up(limit - start, step);
  } else {
    span.begin = up(start - limit + 1, -step);
    span.end = up(start + 1, -step);
  }
  span.begin = std::clamp<std::int64_t>(span.begin, 0, count);
  span.end = std::clamp<std::int64_t>(span.end, span.begin, count);
  return span;
}

// Fixed-point numbers wrap as Pillow's ints do on every machine.
int add(int a, int b) { return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)); }

void copy_checked(const WarpImages& images, int x, int y, std::uint8_t* out) {
  const bool in = x >= 0 && x < images.size.width && y >= 0 && y < images.size.height;
  const std::uint8_t* from = images.from + (static_cast<std::ptrdiff_t>(y) * images.size.width + x) * 3;
  std::copy_n(in ? from : images.fill.data(), 3, out);
}

void warp_fixed(const Matrix& m, const WarpImages& images) {
  const int width = images.size.width, height = images.size.height;
  const int step_x = to_fixed(m[0]), step_y = to_fixed(m[3]);
  const int next_x = to_fixed(m[1]), next_y = to_fixed(m[4]);
  int start_x = to_fixed(m[2] + m[0] * 0.5 + m[1] * 0.5);
  int start_y = to_fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
  const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(width) * 3;
  for (int row = 0; row < height; ++row, start_x = add(start_x, next_x), start_y = add(start_y, next_y)) {
    std::uint8_t* out = images.to + row * stride;
    const auto fits = [&](std::int64_t start, std::int64_t step) {
      const std::int64_t last = start + step * width;
      return last >= INT_MIN && last <= INT_MAX;
    };
    int at_x = start_x, at_y = start_y;
    if (!fits(start_x, step_x) || !fits(start_y, step_y)) {
      for (int i = 0; i < width; ++i, at_x = add(at_x, step_x), at_y = add(at_y, step_y)) {
        copy_checked(images, at_x >> 16, at_y >> 16, out + i * 3);
      }
      continue;
    }
    const Span x_span = inside(start_x, step_x, std::int64_t{width} << 16, width);
    const Span y_span = inside(start_y, step_y, std::int64_t{height} << 16, width);
    const int begin = static_cast<int>(std::max(x_span.begin, y_span.begin));
    const int end = std::max(begin, static_cast<int>(std::min(x_span.end, y_span.end)));
    fill_pixels(images, out, begin);
    at_x += begin * step_x;
    at_y += begin * step_y;
    // Four bytes at once: the fourth is written over by what follows, so the row's last pixel goes by three.
    const int by_four = std::min(end, width - 1);
    int i = begin;
    for (; i < by_four; ++i, at_x += step_x, at_y += step_y) {
      std::memcpy(out + i * 3, images.from + (at_y >> 16) * stride + (at_x >> 16) * 3, 4);
    }
    if (i < end) std::memcpy(out + i * 3, images.from + (at_y >> 16) * stride + (at_x >> 16) * 3, 3);
    fill_pixels(images, out + end * 3, width - end);
  }
}

void warp_floating(const Matrix& m, const WarpImages& images) {
  double start_x = m[2] + m[1] * 0.5 + m[0] * 0.5, start_y = m[5] + m[4] * 0.5 + m[3] * 0.5;
  std::uint8_t* out = images.to;
  for (int row = 0; row < images.size.height; ++row, start_x += m[1], start_y += m[4]) {
    double x = start_x, y = start_y;
    for (int i = 0; i < images.size.width; ++i, out += 3, x += m[0], y += m[3]) {
      copy_checked(images, pixel_of(x), pixel_of(y), out);
    }
  }
}

bool fits_fixed(const Matrix& m, Size size) {
  const auto fits = [&m](int x, int y) {
    return std::fabs(x * m[0] + y * m[1] + m[2]) < 32768.0 && std::fabs(x * m[3] + y * m[4] + m[5]) < 32768.0;
  };
  return fits(0, 0) && fits(size.width, size.height) && fits(0, size.height) && fits(size.width, 0);
}

}  // namespace

void warp_nearest(const std::array<double, 6>& matrix, const WarpImages& images, int* columns) {
  if (matrix[1] == 0 && matrix[3] == 0) return warp_scaled(matrix, images, columns);
  if (fits_fixed(matrix, images.size)) return warp_fixed(matrix, images);
  warp_floating(matrix, images);
}

}  // namespace pyfastdl
