// The fuzzer of one decoder: an input is a file. It is decoded whole, then a region of it, by a decoder that earlier
// inputs may have broken.
#pragma once

#include <optional>

#include "decode/sniff.h"
#include "decoding.h"

namespace pyfastdl::fuzzing {

// A region that depends on the file alone.
inline Region pick_region(std::span<const std::uint8_t> bytes, Size size) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const std::uint8_t b : bytes) hash = (hash ^ b) * 16777619u;
  std::uint16_t numbers[4];
  for (std::uint16_t& number : numbers) {
    hash = hash * 1664525u + 1013904223u;
    number = static_cast<std::uint16_t>(hash >> 16);
  }
  return region_of(size, numbers);
}

template <class DecoderType>
void decode_file(std::span<const std::uint8_t> bytes) {
  static DecoderType decoder;
  expect(!describe(bytes).empty());
  const Status opened = decoder.open(bytes, kLimits);
  if (!opened.ok()) return expect(!opened.message().empty());
  const std::optional<int> turn = decoder.orientation();
  expect(!turn || (*turn >= 1 && *turn <= 8));
  const Size size = decoder.size();
  const Region region = pick_region(bytes, size);
  std::vector<std::uint8_t> all, part;
  const bool is_sound = decode(decoder, bytes, whole(size), all);
  const bool has_region = decode(decoder, bytes, region, part);
  if (!is_sound) return;  // the region may succeed: damage far from it isn't looked for
  expect(has_region);
  expect_crop(all, size, region, part);
}

}  // namespace pyfastdl::fuzzing
