// Pillow's resampling weights: which source positions make an output position, and by how much.
//
// Pure functions of their arguments: any thread, no state. compute_taps() keeps the memory of the Taps it is given,
// so a warm one allocates nothing. Bit-equal to Pillow's: see "Pillow's resize" in the semantics document.
#pragma once

#include <cstdint>
#include <vector>

#include "base/geometry.h"

namespace pyfastdl {

enum class Filter { box, bilinear, bicubic, lanczos };

// Which pass Pillow runs first; each pass rounds to bytes, so the order shows in the result.
enum class PassOrder {
  horizontal_first,     // up to 12.1: always horizontal first
  tall_vertical_first,  // 12.2 and 12.3: vertical first for in.height > 100 in.width, when the height shrinks
  shrink_vertical_first,  // from 13.0: vertical first when the height shrinks by more than twice what the width does
};

bool vertical_first(PassOrder order, Size in, Size out);

// Fixed point of the weights: 1.0 is 1 << kWeightBits.
inline constexpr int kWeightBits = 22;

// The weights of a stretch of one axis. Output i of the stretch is the sum over k < count[i] of
// weight(i, k) * source[first[i] + k].
struct Taps {
  int begin = 0;  // the source positions that matter are [begin, end)
  int end = 0;
  int stride = 0;   // room for one output's weights; unused ones are zero
  int longest = 0;  // the largest count
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> count;
  std::vector<std::int32_t> weights;

  int size() const { return static_cast<int>(first.size()); }
  std::int32_t weight(int i, int k) const { return weights[static_cast<std::size_t>(i) * stride + k]; }

  std::vector<double> scratch;
};

// A part of an axis, from edge to edge: it may begin and end within positions. Without a length: all of the axis.
struct Extent {
  double begin = 0;
  double length = 0;
  friend bool operator==(const Extent&, const Extent&) = default;
};

// The outputs [window_begin, window_begin + window_size) of an axis of `in` positions that becomes `out`.
// REQUIRES: in, out and window_size positive, the window inside [0, out).
// With an extent, only that part of the axis becomes the outputs, as with a `box` in Pillow's Image.resize().
void compute_taps(Filter filter, int in, int out, int window_begin, int window_size, Taps& taps,
                  const Extent& extent = {});

}  // namespace pyfastdl
