// The inner loops of the resizer: vector code, chosen at run time for the CPU at hand (Highway).
//
// Exactness: Pillow sums byte * weight in int32 with 22-bit weights. A weight is split as high * 2^15 + low
// (low in [0, 2^15)), so that each half fits an int16 and pairs of taps go through one multiply-add; the low sum's
// upper bits are carried over before it could overflow. Nothing is lost, however many taps there are.
//
// Pure functions of what they are given; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "transform/filter.h"

namespace pyfastdl {

// Weights as the kernels read them: two taps at a time, the pair of low halves in one word, the pair of high halves in
// the next. A missing second tap has weight zero.
struct PackedTaps {
  int size = 0;                     // outputs
  int pairs = 0;                    // of taps, the same for each output
  std::vector<std::int32_t> first;  // where each output's taps begin, counted from Taps::begin
  std::vector<std::int32_t> words;  // size * pairs * 2

  const std::int32_t* output(int i) const { return words.data() + static_cast<std::size_t>(i) * pairs * 2; }
};

// For resample_rows. Taps are moved to the left (behind weights of zero) where they would pass the end of the row, and
// `size` is rounded up to whole groups of outputs.
void pack_horizontal(const Taps& taps, PackedTaps& packed);
inline constexpr int kOutputGroup = 4;

// For blend_rows: words only for each output's own taps, so that output i has (count + 1) / 2 pairs.
void pack_vertical(const Taps& taps, PackedTaps& packed);

// Horizontal pass over a group of rows (some may be the same) of RGBX: taps.size pixels each, as RGB.
// Reads up to 16 bytes past the last pixel of a row, and writes up to 4 past the last one of the result.
inline constexpr int kRowGroup = 4;
void resample_rows(const std::uint8_t* const rows[kRowGroup], const PackedTaps& taps,
                   std::uint8_t* const out[kRowGroup]);

// Vertical pass: one output row of `bytes` bytes, whatever they mean, from 2 * pairs rows.
// Reads and writes whole vectors: less than kRowPadding bytes past the end.
void blend_rows(const std::uint8_t* const* rows, const std::int32_t* words, int pairs, int bytes,
                std::uint8_t* out);

// RGBX to RGB. Reads and writes less than 16 bytes past the last pixel.
void drop_x(const std::uint8_t* rgbx, int width, std::uint8_t* rgb);

}  // namespace pyfastdl
