// What every decoder's fuzzer does with its input: decode it whole, then a region, and compare.
//
// The sanitizers find the crashes; this finds regions that differ from the whole, and a decoder that an input
// breaks for the next one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "decode/decoder.h"
#include "decode/sniff.h"

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

// A region that depends on the input alone, so that a finding can be repeated.
inline Region pick_region(std::span<const std::uint8_t> bytes, Size size) {
  std::uint32_t hash = 2166136261u;
  for (const std::uint8_t b : bytes) hash = (hash ^ b) * 16777619u;
  const auto below = [&hash](int n) {
    hash = hash * 1664525u + 1013904223u;
    return static_cast<int>((hash >> 8) % static_cast<std::uint32_t>(n));
  };
  Region r;
  r.top = below(size.height);
  r.left = below(size.width);
  r.height = 1 + below(size.height - r.top);
  r.width = 1 + below(size.width - r.left);
  return r;
}

template <class DecoderType>
int run(const std::uint8_t* data, std::size_t n) {
  static DecoderType decoder;
  const std::span<const std::uint8_t> bytes(data, n);
  if (describe(bytes).empty()) std::abort();
  const Status opened = decoder.open(bytes, kLimits);
  if (!opened.ok()) {
    if (opened.message().empty()) std::abort();
    return 0;
  }
  if (const std::optional<int> turn = decoder.orientation(); turn && (*turn < 1 || *turn > 8)) std::abort();
  const Size size = decoder.size();
  const Region region = pick_region(bytes, size);
  std::vector<std::uint8_t> all, part;
  if (!decode(decoder, bytes, whole(size), all)) {
    decode(decoder, bytes, region, part);  // may succeed: damage far from a region isn't looked for
    return 0;
  }
  if (!decode(decoder, bytes, region, part)) std::abort();
  for (int y = 0; y < region.height; ++y) {
    const std::size_t row_bytes = static_cast<std::size_t>(region.width) * 3;
    const std::uint8_t* from =
        all.data() + (static_cast<std::size_t>(region.top + y) * static_cast<std::size_t>(size.width) +
                      static_cast<std::size_t>(region.left)) *
                         3;
    if (!std::equal(from, from + row_bytes, part.data() + static_cast<std::size_t>(y) * row_bytes))
      std::abort();
  }
  return 0;
}

}  // namespace pyfastdl::fuzzing
