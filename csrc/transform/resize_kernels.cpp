#include "transform/resize_kernels.h"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/resize_kernels.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for each target
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace pyfastdl {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR  // compiled where the compiler's baseline has no byte shuffles

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

std::int32_t weight(const std::int32_t* words, int tap) {
  const std::int32_t* pair = words + tap / 2 * 2;
  const auto half = [&](std::int32_t word) { return tap % 2 == 0 ? word & 0xFFFF : (word >> 16) & 0xFFFF; };
  return half(pair[0]) + static_cast<std::int16_t>(half(pair[1])) * (1 << 15);
}

void resample_row(const std::uint8_t* row, const PackedTaps& taps, std::uint8_t* out) {
  for (int i = 0; i < taps.size; ++i) {
    for (int c = 0; c < 3; ++c) {
      std::int32_t sum = 1 << (kWeightBits - 1);
      for (int k = 0; k < 2 * taps.pairs; ++k) {
        const std::int32_t w = weight(taps.output(i), k);
        if (w != 0) sum += row[(taps.first[i] + k) * 4 + c] * w;
      }
      out[i * 3 + c] = to_byte(sum);
    }
  }
}

void resample_rows_target(const std::uint8_t* const* rows, const PackedTaps& taps, std::uint8_t* const* out) {
  for (int r = 0; r < kRowGroup; ++r) resample_row(rows[r], taps, out[r]);
}

void blend_rows_target(const std::uint8_t* const* rows, const std::int32_t* words, int pairs, int bytes,
                       std::uint8_t* out) {
  for (int x = 0; x < bytes; ++x) {
    std::int32_t sum = 1 << (kWeightBits - 1);
    for (int k = 0; k < 2 * pairs; ++k) sum += rows[k][x] * weight(words, k);
    out[x] = to_byte(sum);
  }
}

void drop_x_target(const std::uint8_t* rgbx, int width, std::uint8_t* rgb) {
  for (int x = 0; x < width; ++x, rgbx += 4, rgb += 3) std::copy_n(rgbx, 3, rgb);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// Two blocks of 128 bits on x86 from AVX2 on, else one. What happens in a block never depends on the other.
#undef PYFASTDL_TWO_BLOCKS
#if HWY_ARCH_X86 && HWY_MAX_BYTES >= 32
#define PYFASTDL_TWO_BLOCKS 1
#else
#define PYFASTDL_TWO_BLOCKS 0
#endif
constexpr std::size_t kVectorBytes = PYFASTDL_TWO_BLOCKS ? 32 : 16;

using D8 = hn::FixedTag<std::uint8_t, kVectorBytes>;
using D16 = hn::FixedTag<std::int16_t, kVectorBytes / 2>;
using D32 = hn::FixedTag<std::int32_t, kVectorBytes / 4>;
using V8 = hn::VFromD<D8>;
using V16 = hn::VFromD<D16>;
using V32 = hn::VFromD<D32>;
using D8Block = hn::FixedTag<std::uint8_t, 16>;

// Pairs after which the low sums, each at most 2 * 255 * 32767 a pair, must be carried over.
constexpr int kCarryPairs = 120;

// What reads bytes r g b x of two neighbouring pixels as int16 pairs (r r) (g g) (b b) (x x); 0x80 gives zero.
alignas(16) constexpr std::uint8_t kPixels01[16] = {0, 0x80, 4, 0x80, 1, 0x80, 5, 0x80,
                                                    2, 0x80, 6, 0x80, 3, 0x80, 7, 0x80};
alignas(16) constexpr std::uint8_t kPixels23[16] = {8,  0x80, 12, 0x80, 9,  0x80, 13, 0x80,
                                                    10, 0x80, 14, 0x80, 11, 0x80, 15, 0x80};
// Even bytes, then odd bytes.
alignas(16) constexpr std::uint8_t kUnzip[16] = {0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15};
// The same without every fourth byte: 12 bytes that count.
alignas(16) constexpr std::uint8_t kUnzipRgb[16] = {0, 2, 4, 8, 10, 12, 1, 3, 5, 9, 11, 13, 0, 0, 0, 0};
alignas(16) constexpr std::uint8_t kDropX[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0};

// Sums of byte * weight, one a lane, in halves. The second member of each half is used by targets whose multiply-add
// leaves the two products of a pair in different places (not by x86: there the compiler drops it).
struct Sums {
  V32 low, low2, high, high2;
};

HWY_INLINE Sums new_sums() {
  const V32 zero = hn::Zero(D32());
  return {zero, zero, zero, zero};
}

HWY_INLINE void add(V16 pixels, const std::int32_t* HWY_RESTRICT words, Sums& sums) {
  const D32 d;
  const D16 d16;
  const V16 low = hn::BitCast(d16, hn::Set(d, words[0]));
  const V16 high = hn::BitCast(d16, hn::Set(d, words[1]));
  sums.low = hn::ReorderWidenMulAccumulate(d, pixels, low, sums.low, sums.low2);
  sums.high = hn::ReorderWidenMulAccumulate(d, pixels, high, sums.high, sums.high2);
}

HWY_INLINE void carry(Sums& sums) {
  const D32 d;
  const V32 mask = hn::Set(d, 0x7FFF);
  sums.high = hn::Add(sums.high, hn::ShiftRight<15>(sums.low));
  sums.high2 = hn::Add(sums.high2, hn::ShiftRight<15>(sums.low2));
  sums.low = hn::And(sums.low, mask);
  sums.low2 = hn::And(sums.low2, mask);
}

// The whole sum, with 7 bits below the point.
HWY_INLINE V32 total(const Sums& sums) {
  const V32 low = hn::RearrangeToOddPlusEven(sums.low, sums.low2);
  const V32 high = hn::RearrangeToOddPlusEven(sums.high, sums.high2);
  return hn::Add(high, hn::ShiftRight<15>(low));
}

// Two totals as int16, in each block the lanes of a, then of b, with the rounding's half added. Narrowing clips at the
// upper end only, for 32767 is the largest number below 256 with 7 bits below the point.
HWY_INLINE V16 narrow(V32 a, V32 b) {
  const D16 d;
#if HWY_ARCH_X86
  const V16 ab = hn::ReorderDemote2To(d, a, b);  // packs block by block, in order
#else
  const hn::Half<D16> half;
  const V16 ab = hn::Combine(d, hn::DemoteTo(half, b), hn::DemoteTo(half, a));
#endif
  return hn::Max(hn::SaturatedAdd(ab, hn::Set(d, 1 << 6)), hn::Zero(d));
}

// In each block the lanes of ab, then of cd, as bytes that `unzip` puts in order.
HWY_INLINE V8 to_bytes(V16 ab, V16 cd, const std::uint8_t* HWY_RESTRICT unzip) {
  const D8 d8;
  const D16 d16;
  const V16 upper = hn::And(hn::ShiftLeft<1>(cd), hn::Set(d16, static_cast<std::int16_t>(0xFF00)));
  const V8 zipped = hn::BitCast(d8, hn::Or(hn::ShiftRight<7>(ab), upper));
  return hn::TableLookupBytes(zipped, hn::LoadDup128(d8, unzip));
}

// Four pixels of each of kRows rows, a block a row.
constexpr int kRows = PYFASTDL_TWO_BLOCKS ? 2 : 1;

HWY_INLINE V8 load_pixels(const std::uint8_t* const HWY_RESTRICT* rows, std::ptrdiff_t offset) {
  const D8Block d;
#if PYFASTDL_TWO_BLOCKS
  return hn::Combine(D8(), hn::LoadU(d, rows[1] + offset), hn::LoadU(d, rows[0] + offset));
#else
  return hn::LoadU(d, rows[0] + offset);
#endif
}

HWY_INLINE void store_pixels(V8 pixels, std::uint8_t* const HWY_RESTRICT* out, std::ptrdiff_t offset) {
  const D8Block d;
#if PYFASTDL_TWO_BLOCKS
  hn::StoreU(hn::LowerHalf(d, pixels), d, out[0] + offset);
  hn::StoreU(hn::UpperHalf(d, pixels), d, out[1] + offset);
#else
  hn::StoreU(pixels, d, out[0] + offset);
#endif
}

// The totals of one output for 2 * kRows rows.
struct Totals {
  V32 a, b;
};

// kPairs says how many pairs of taps there are, 0 that `pairs` does.
template <int kPairs>
HWY_INLINE Totals resample(const std::uint8_t* const HWY_RESTRICT* rows, std::ptrdiff_t offset,
                           const std::int32_t* HWY_RESTRICT words, int pairs) {
  const D8 d8;
  const D16 d16;
  const V8 pixels01 = hn::LoadDup128(d8, kPixels01);
  const V8 pixels23 = hn::LoadDup128(d8, kPixels23);
  const int count = kPairs > 0 ? kPairs : pairs;
  Sums a = new_sums(), b = new_sums();
  int until_carry = kCarryPairs;
  for (int p = 0; p < count; p += 2, offset += 16) {
    const V8 from_a = load_pixels(rows, offset);
    const V8 from_b = load_pixels(rows + kRows, offset);
    add(hn::BitCast(d16, hn::TableLookupBytesOr0(from_a, pixels01)), words + p * 2, a);
    add(hn::BitCast(d16, hn::TableLookupBytesOr0(from_b, pixels01)), words + p * 2, b);
    if (p + 1 < count) {
      add(hn::BitCast(d16, hn::TableLookupBytesOr0(from_a, pixels23)), words + p * 2 + 2, a);
      add(hn::BitCast(d16, hn::TableLookupBytesOr0(from_b, pixels23)), words + p * 2 + 2, b);
    }
    if (kPairs == 0 && (until_carry -= 2) == 0) {
      carry(a);
      carry(b);
      until_carry = kCarryPairs;
    }
  }
  return {total(a), total(b)};
}

template <int kPairs>
HWY_INLINE void resample_groups(const std::uint8_t* const* rows_in, const PackedTaps& taps,
                                std::uint8_t* const* out_in) {
  // Copies, so that the compiler need not read the pointers again after each store.
  const std::uint8_t* rows[2 * kRows];
  std::uint8_t* out[2 * kRows];
  for (int r = 0; r < 2 * kRows; ++r) {
    rows[r] = rows_in[r];
    out[r] = out_in[r];
  }
  const int pairs = kPairs > 0 ? kPairs : taps.pairs;
  const int size = taps.size;
  const std::int32_t* HWY_RESTRICT words = taps.words.data();
  const std::int32_t* HWY_RESTRICT first = taps.first.data();
  for (int i = 0; i < size; i += kOutputGroup, words += kOutputGroup * pairs * 2) {
    const auto one = [&](int k) HWY_ATTR {
      return resample<kPairs>(rows, std::ptrdiff_t{first[i + k]} * 4, words + k * pairs * 2, pairs);
    };
    const Totals t0 = one(0), t1 = one(1);
    const V16 a01 = narrow(t0.a, t1.a), b01 = narrow(t0.b, t1.b);
    const Totals t2 = one(2), t3 = one(3);
    const V16 a23 = narrow(t2.a, t3.a), b23 = narrow(t2.b, t3.b);
    store_pixels(to_bytes(a01, a23, kUnzipRgb), out, i * 3);
    store_pixels(to_bytes(b01, b23, kUnzipRgb), out + kRows, i * 3);
  }
}

HWY_ATTR void resample_rows_target(const std::uint8_t* const* rows, const PackedTaps& taps,
                                   std::uint8_t* const* out) {
  for (int r = 0; r < kRowGroup; r += 2 * kRows) {
    switch (taps.pairs) {
      case 1:
        resample_groups<1>(rows + r, taps, out + r);
        break;
      case 2:
        resample_groups<2>(rows + r, taps, out + r);
        break;
      case 3:
        resample_groups<3>(rows + r, taps, out + r);
        break;
      case 4:
        resample_groups<4>(rows + r, taps, out + r);
        break;
      default:
        resample_groups<0>(rows + r, taps, out + r);
    }
  }
}

template <int kPairs>
HWY_INLINE void blend(const std::uint8_t* const* HWY_RESTRICT rows, const std::int32_t* HWY_RESTRICT words,
                      int pairs, int bytes, std::uint8_t* HWY_RESTRICT out) {
  const D8 d8;
  const D16 d16;
  const V8 zero = hn::Zero(d8);
  const int count = kPairs > 0 ? kPairs : pairs;
  for (int x = 0; x < bytes; x += static_cast<int>(kVectorBytes)) {
    Sums s0 = new_sums(), s1 = new_sums(), s2 = new_sums(), s3 = new_sums();
    int until_carry = kCarryPairs;
    for (int p = 0; p < count; ++p) {
      const V8 a = hn::LoadU(d8, rows[2 * p] + x);
      const V8 b = hn::LoadU(d8, rows[2 * p + 1] + x);
      const V8 lower = hn::InterleaveLower(d8, a, b);
      const V8 upper = hn::InterleaveUpper(d8, a, b);
      add(hn::BitCast(d16, hn::InterleaveLower(d8, lower, zero)), words + 2 * p, s0);
      add(hn::BitCast(d16, hn::InterleaveUpper(d8, lower, zero)), words + 2 * p, s1);
      add(hn::BitCast(d16, hn::InterleaveLower(d8, upper, zero)), words + 2 * p, s2);
      add(hn::BitCast(d16, hn::InterleaveUpper(d8, upper, zero)), words + 2 * p, s3);
      if (kPairs == 0 && --until_carry == 0) {
        carry(s0);
        carry(s1);
        carry(s2);
        carry(s3);
        until_carry = kCarryPairs;
      }
    }
    const V16 s01 = narrow(total(s0), total(s1));
    hn::StoreU(to_bytes(s01, narrow(total(s2), total(s3)), kUnzip), d8, out + x);
  }
}

HWY_ATTR void blend_rows_target(const std::uint8_t* const* rows, const std::int32_t* words, int pairs,
                                int bytes, std::uint8_t* out) {
  switch (pairs) {
    case 1:
      return blend<1>(rows, words, pairs, bytes, out);
    case 2:
      return blend<2>(rows, words, pairs, bytes, out);
    case 3:
      return blend<3>(rows, words, pairs, bytes, out);
    default:
      return blend<0>(rows, words, pairs, bytes, out);
  }
}

HWY_ATTR void drop_x_target(const std::uint8_t* rgbx, int width, std::uint8_t* rgb) {
  const D8Block d;
  const auto table = hn::Load(d, kDropX);
  for (int x = 0; x < width; x += 4) {
    hn::StoreU(hn::TableLookupBytes(hn::LoadU(d, rgbx + x * 4), table), d, rgb + x * 3);
  }
}

#endif  // HWY_TARGET

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pyfastdl
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyfastdl {

HWY_EXPORT(resample_rows_target);
HWY_EXPORT(blend_rows_target);
HWY_EXPORT(drop_x_target);

void resample_rows(const std::uint8_t* const rows[kRowGroup], const PackedTaps& taps,
                   std::uint8_t* const out[kRowGroup]) {
  HWY_DYNAMIC_DISPATCH(resample_rows_target)(rows, taps, out);
}

void blend_rows(const std::uint8_t* const* rows, const std::int32_t* words, int pairs, int bytes,
                std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(blend_rows_target)(rows, words, pairs, bytes, out);
}

void drop_x(const std::uint8_t* rgbx, int width, std::uint8_t* rgb) {
  HWY_DYNAMIC_DISPATCH(drop_x_target)(rgbx, width, rgb);
}

}  // namespace pyfastdl
#endif  // HWY_ONCE
