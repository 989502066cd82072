// PackedTaps: the weights of a stretch as the resizer's kernels read them.
//
// Plain values, no thread affinity; packing keeps the memory of what it fills, so a warm one allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transform/filter.h"

namespace pyfastdl {

// A weight is split as high * 2^15 + low, low in [0, 2^15). Two taps go together: the pair of their low halves in one
// word, the pair of high halves in the next. A missing second tap has weight zero.
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

}  // namespace pyfastdl
