#include "transform/point_ops.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "transform/color_kernels.h"

namespace pyfastdl {
namespace {

using Table = std::array<std::uint8_t, 256>;
using Tables = std::array<Table, 3>;
using Histogram = std::array<std::uint32_t, 256>;

Table identity() {
  Table table;
  for (int i = 0; i < 256; ++i) table[i] = static_cast<std::uint8_t>(i);
  return table;
}

void map_channels(std::uint8_t* rgb, std::size_t pixels, const Tables& tables) {
  for (std::size_t i = 0; i < pixels; ++i, rgb += 3) {
    for (int c = 0; c < 3; ++c) rgb[c] = tables[c][rgb[c]];
  }
}

// In double, in Pillow's order, cut off and clipped.
Table stretch(int low, int high) {
  if (high <= low) return identity();
  Table table;
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  for (int i = 0; i < 256; ++i) {
    table[i] = static_cast<std::uint8_t>(std::clamp(static_cast<int>(i * scale + offset), 0, 255));
  }
  return table;
}

std::array<Histogram, 3> histograms(const std::uint8_t* rgb, std::size_t pixels) {
  // Two of each, so that neighbours of one colour don't wait for each other.
  std::array<std::array<Histogram, 3>, 2> counts{};
  std::size_t i = 0;
  for (; i + 2 <= pixels; i += 2, rgb += 6) {
    for (int k = 0; k < 2; ++k) {
      for (int c = 0; c < 3; ++c) ++counts[k][c][rgb[3 * k + c]];
    }
  }
  if (i < pixels) {
    for (int c = 0; c < 3; ++c) ++counts[0][c][rgb[c]];
  }
  for (int c = 0; c < 3; ++c) {
    for (int value = 0; value < 256; ++value) counts[0][c][value] += counts[1][c][value];
  }
  return counts[0];
}

// Steps of equal numbers of pixels; the brightest value that occurs is left out of the count.
Table even_steps(const Histogram& counts) {
  std::uint64_t total = 0, last = 0;
  int used = 0;
  for (const std::uint32_t count : counts) {
    if (count == 0) continue;
    total += count;
    last = count;
    ++used;
  }
  const std::uint64_t step = (total - last) / 255;
  if (used <= 1 || step == 0) return identity();
  Table table;
  std::uint64_t n = step / 2;
  for (int i = 0; i < 256; ++i) {
    table[i] = static_cast<std::uint8_t>(std::min<std::uint64_t>(n / step, 255));
    n += counts[i];
  }
  return table;
}

}  // namespace

void invert(std::uint8_t* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(~bytes[i]);
}

void posterize(std::uint8_t* bytes, std::size_t count, int bits) {
  const auto mask = static_cast<std::uint8_t>(~((1 << (8 - bits)) - 1));
  for (std::size_t i = 0; i < count; ++i) bytes[i] &= mask;
}

void solarize(std::uint8_t* bytes, std::size_t count, double threshold) {
  // The lowest byte that is inverted; of what is no number nothing is below.
  const double lowest = threshold > 0 ? std::ceil(threshold) : 0;
  if (lowest > 255) return;
  const auto from = static_cast<std::uint8_t>(lowest);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::uint8_t>(bytes[i] ^ (bytes[i] >= from ? 255 : 0));
  }
}

void autocontrast(std::uint8_t* rgb, std::size_t pixels) {
  const ChannelExtrema extrema = channel_extrema(rgb, pixels);
  Tables tables;
  bool nothing = true;
  for (int c = 0; c < 3; ++c) {
    const int low = extrema.low[c], high = extrema.high[c];
    tables[c] = stretch(low, high);
    nothing = nothing && (high <= low || (low == 0 && high == 255));
  }
  if (!nothing) map_channels(rgb, pixels, tables);
}

void equalize(std::uint8_t* rgb, std::size_t pixels) {
  const std::array<Histogram, 3> counts = histograms(rgb, pixels);
  Tables tables;
  for (int c = 0; c < 3; ++c) tables[c] = even_steps(counts[c]);
  map_channels(rgb, pixels, tables);
}

}  // namespace pyfastdl
