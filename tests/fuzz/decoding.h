// What the decoders' fuzzers share: decoding a region to packed RGB, and comparing it with the whole image.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decode/decoder.h"
#include "target.h"

namespace pyfastdl::fuzzing {

// Small, so that time goes into inputs and not into pixels.
inline constexpr DecodeLimits kLimits{.max_pixels = 1u << 18, .max_scans = 50};

inline bool decode(Decoder& decoder, std::span<const std::uint8_t> bytes, const Region& region,
                   std::vector<std::uint8_t>& rgb) {
  rgb.clear();
  if (!decoder.open(bytes, kLimits).ok() || !decoder.start(region).ok()) return false;
  std::vector<std::uint8_t> row(decoder.row_bytes() + kRowPadding);
  for (int y = 0; y < region.height; ++y) {
    std::uint8_t* rows[] = {row.data()};
    if (!decoder.read_rows(rows, 1).ok()) return false;
    for (int x = 0; x < region.width; ++x) {
      const std::uint8_t* pixel =
          row.data() + decoder.row_offset() + static_cast<std::size_t>(x) * kPixelBytes;
      rgb.insert(rgb.end(), pixel, pixel + 3);
    }
  }
  return decoder.finish().ok();
}

// Pixels of `size`, packed RGB, hold `part` at `region`.
inline void expect_crop(const std::vector<std::uint8_t>& all, Size size, const Region& region,
                        const std::vector<std::uint8_t>& part) {
  const std::size_t row_bytes = static_cast<std::size_t>(region.width) * 3;
  for (int y = 0; y < region.height; ++y) {
    const std::size_t first =
        static_cast<std::size_t>(region.top + y) * static_cast<std::size_t>(size.width) +
        static_cast<std::size_t>(region.left);
    const std::uint8_t* from = all.data() + first * 3;
    expect(std::equal(from, from + row_bytes, part.data() + static_cast<std::size_t>(y) * row_bytes));
  }
}

// Four numbers of 16 bits to a region inside the image.
inline Region region_of(Size size, const std::uint16_t (&numbers)[4]) {
  const auto below = [](int n, std::uint16_t number) {
    return static_cast<int>(std::int64_t{n} * number >> 16);
  };
  Region r;
  r.top = below(size.height, numbers[0]);
  r.left = below(size.width, numbers[1]);
  r.height = 1 + below(size.height - r.top, numbers[2]);
  r.width = 1 + below(size.width - r.left, numbers[3]);
  return r;
}

}  // namespace pyfastdl::fuzzing
