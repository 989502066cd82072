// The inner loops of the resizer: vector code, chosen at run time for the CPU at hand (Highway).
//
// Exactness: Pillow sums byte * weight in int32 with 22-bit weights. A weight is split as high * 2^15 + low
// (low in [0, 2^15)), so that each half fits an int16 and pairs of taps go through one multiply-add; the low sum's
// upper bits are carried over before it could overflow. Nothing is lost, however many taps there are.
//
// Pure functions of what they are given; any thread.
#pragma once

#include <cstdint>

#include "transform/packed_taps.h"

namespace pyfastdl {

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
