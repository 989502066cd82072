#include "transform/border.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace pyfastdl {
namespace {
constexpr int kRgb = 3;
}

int mirrored(PadMode mode, int at, int size) {
  if (mode == PadMode::edge) return std::clamp(at, 0, size - 1);
  if (size == 1) return 0;
  // The image and its mirror image, over and over; `reflect` has the pixels at the edges once.
  const int period = mode == PadMode::symmetric ? 2 * size : 2 * size - 2;
  at = (at % period + period) % period;
  if (at < size) return at;
  return mode == PadMode::symmetric ? period - 1 - at : period - at;
}

void write_border(PadMode mode, const Padding& padding, Size image, std::uint8_t* rgb) {
  const int width = padding.left + image.width + padding.right;
  const int height = padding.top + image.height + padding.bottom;
  const auto row = [&](int y) {
    return rgb + static_cast<std::size_t>(y) * static_cast<std::size_t>(width) * kRgb;
  };
  for (int y = padding.top; y < padding.top + image.height; ++y) {
    std::uint8_t* pixels = row(y);
    const auto show = [&](int x) {
      const int from = padding.left + mirrored(mode, x - padding.left, image.width);
      std::memcpy(pixels + static_cast<std::ptrdiff_t>(x) * kRgb,
                  pixels + static_cast<std::ptrdiff_t>(from) * kRgb, kRgb);
    };
    for (int x = 0; x < padding.left; ++x) show(x);
    for (int x = padding.left + image.width; x < width; ++x) show(x);
  }
  const auto copy = [&](int y) {
    std::memcpy(row(y), row(padding.top + mirrored(mode, y - padding.top, image.height)),
                static_cast<std::size_t>(width) * kRgb);
  };
  for (int y = 0; y < padding.top; ++y) copy(y);
  for (int y = padding.top + image.height; y < height; ++y) copy(y);
}

}  // namespace pyfastdl
