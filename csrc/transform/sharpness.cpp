#include "transform/sharpness.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#include "transform/blend.h"
#include "transform/color_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/sharpness.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for each target
#include "hwy/highway.h"
#include "transform/byte_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyfastdl {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

// The byte's neighbours in a row are three bytes away.
HWY_INLINE VU16 sum_of_three(V8 left, V8 middle, V8 right, bool upper) {
  const D8 d8;
  const V8 zero = hn::Zero(d8);
  const auto wide = [&](V8 v) HWY_ATTR {
    return hn::BitCast(DU16(), upper ? hn::InterleaveUpper(d8, v, zero) : hn::InterleaveLower(d8, v, zero));
  };
  return hn::Add(hn::Add(wide(left), wide(middle)), wide(right));
}

// (n + 6) / 13 for n of 0 to 13 * 255: 5042 / 2^16 is as good as 1 / 13 up to there.
HWY_INLINE VU16 thirteenth(VU16 n) {
  const DU16 d;
  return hn::MulHigh(hn::Add(n, hn::Set(d, 6)), hn::Set(d, 5042));
}

HWY_INLINE V8 smooth(const std::uint8_t* above, const std::uint8_t* row, const std::uint8_t* below) {
  const D8 d8;
  const auto load = [d8](const std::uint8_t* p) HWY_ATTR { return hn::LoadU(d8, p); };
  const V8 middle = load(row), zero = hn::Zero(d8);
  const auto half = [&](bool upper) HWY_ATTR {
    const VU16 sum = hn::Add(sum_of_three(load(above - 3), load(above), load(above + 3), upper),
                             sum_of_three(load(below - 3), load(below), load(below + 3), upper));
    const VU16 around = hn::Add(sum, sum_of_three(load(row - 3), middle, load(row + 3), upper));
    const VU16 wide = hn::BitCast(
        DU16(), upper ? hn::InterleaveUpper(d8, middle, zero) : hn::InterleaveLower(d8, middle, zero));
    return thirteenth(hn::Add(around, hn::ShiftLeft<2>(wide)));
  };
  // Even bytes are the lower half's.
  alignas(16) static constexpr std::uint8_t kUnzip[16] = {0, 2, 4, 6, 8, 10, 12, 14,
                                                          1, 3, 5, 7, 9, 11, 13, 15};
  const V8 zipped = hn::BitCast(d8, hn::Or(half(false), hn::ShiftLeft<8>(half(true))));
  return hn::TableLookupBytes(zipped, hn::LoadDup128(d8, kUnzip));
}

#endif  // HWY_TARGET

std::uint8_t smooth_byte(const std::uint8_t* above, const std::uint8_t* row, const std::uint8_t* below) {
  const int n =
      above[-3] + above[0] + above[3] + row[-3] + 5 * row[0] + row[3] + below[-3] + below[0] + below[3];
  return static_cast<std::uint8_t>((n + 6) / 13);
}

// `count` bytes of a row. `out` is none of the others.
HWY_ATTR void sharpen_bytes_target(const std::uint8_t* above, const std::uint8_t* row,
                                   const std::uint8_t* below, std::size_t count, float factor,
                                   std::uint8_t* out) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const D8 d8;
  const VF by = hn::Set(DF(), factor);
  const auto at = [&](std::size_t k) HWY_ATTR {
    const Floats from = to_floats(smooth(above + k, row + k, below + k));
    hn::StoreU(blend(from, to_floats(hn::LoadU(d8, row + k)), by), d8, out + k);
  };
  if (count >= kVectorBytes) {
    for (; i + kVectorBytes <= count; i += kVectorBytes) at(i);
    if (i < count) at(count - kVectorBytes);  // some of them twice, to the same result
    return;
  }
#endif
  for (; i < count; ++i) {
    out[i] = blend_byte(smooth_byte(above + i, row + i, below + i), row[i], factor);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pyfastdl
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyfastdl {

HWY_EXPORT(sharpen_bytes_target);

namespace {

// Where the smoothed image is this one, x + factor * 0 is x, unless the factor is infinite or no number.
bool keeps_what_is_equal(float factor) { return std::isfinite(factor); }

}  // namespace

void adjust_sharpness(std::uint8_t* rgb, Size size, float factor, ByteBuffer& scratch) {
  const auto row_bytes = static_cast<std::size_t>(size.width) * 3;
  const auto height = static_cast<std::size_t>(size.height);
  const bool inner = size.width >= 3 && size.height >= 3;
  if (inner) {
    scratch.resize(2 * row_bytes);
    std::uint8_t* above = scratch.data();
    std::uint8_t* row = above + row_bytes;
    std::memcpy(above, rgb, row_bytes);
    for (std::size_t y = 1; y + 1 < height; ++y) {
      std::uint8_t* out = rgb + y * row_bytes;
      std::memcpy(row, out, row_bytes);
      HWY_DYNAMIC_DISPATCH(sharpen_bytes_target)
      (above + 3, row + 3, out + row_bytes + 3, row_bytes - 6, factor, out + 3);
      std::swap(above, row);
    }
  }
  if (keeps_what_is_equal(factor)) return;
  for (std::size_t y = 0; y < height; ++y) {
    std::uint8_t* row = rgb + y * row_bytes;
    const bool border = !inner || y == 0 || y + 1 == height;
    for (std::size_t i = 0; i < row_bytes; ++i) {
      if (border || i < 3 || i + 3 >= row_bytes) row[i] = blend_byte(row[i], row[i], factor);
    }
  }
}

}  // namespace pyfastdl
#endif  // HWY_ONCE
