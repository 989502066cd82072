#include "decode/jpeg_idct.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decode/jpeg_idct.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for each target
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace pyfastdl {
namespace HWY_NAMESPACE {
namespace {

// Where the compiler's baseline has no byte shuffles.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

bool has_vectors_target() { return false; }
bool transform_target(const std::int16_t (*)[64], const IdctJob*, const std::uint8_t*, int, bool) {
  return false;
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// Blocks at once: two of 128 bits on x86 from AVX2 on, else one. What happens in one never depends on the other.
#undef PYFASTDL_IDCT_BLOCKS
#if HWY_ARCH_X86 && HWY_MAX_BYTES >= 32
#define PYFASTDL_IDCT_BLOCKS 2
#else
#define PYFASTDL_IDCT_BLOCKS 1
#endif
constexpr int kAtOnce = PYFASTDL_IDCT_BLOCKS;

using D8 = hn::FixedTag<std::uint8_t, 16 * kAtOnce>;
using DU16 = hn::FixedTag<std::uint16_t, 8 * kAtOnce>;
using D16 = hn::FixedTag<std::int16_t, 8 * kAtOnce>;
using D32 = hn::FixedTag<std::int32_t, 4 * kAtOnce>;
using V8 = hn::VFromD<D8>;
using V16 = hn::VFromD<D16>;
using V32 = hn::VFromD<D32>;

constexpr int kConstBits = 13;
constexpr int kPass1Bits = 2;
constexpr int kPass1Shift = kConstBits - kPass1Bits;
constexpr int kPass2Shift = kConstBits + kPass1Bits + 3;
// How far the second pass really shifts: the sample is then the upper byte, clipped when 32 bits become 16.
constexpr int kStoreShift = kPass2Shift - 8;

// After the first pass; beyond it a sum of two would not fit 16 bits.
constexpr std::int16_t kMostBetween = 16383;

// Two int16 constants as the pairs of ReorderWidenMulAccumulate want them.
HWY_INLINE V16 pair(int even, int odd) {
  const std::uint32_t bits = (static_cast<std::uint32_t>(even) & 0xFFFF) | static_cast<std::uint32_t>(odd)
                                                                               << 16;
  return hn::BitCast(D16(), hn::Set(D32(), static_cast<std::int32_t>(bits)));
}

// sum + even * even constant + odd * odd constant, lane by lane.
HWY_INLINE V32 multiply_add(V16 pairs, V16 constants, V32 sum) {
  V32 other = hn::Zero(D32());
  sum = hn::ReorderWidenMulAccumulate(D32(), pairs, constants, sum, other);
  return hn::RearrangeToOddPlusEven(sum, other);
}
HWY_INLINE V32 multiply(V16 pairs, V16 constants) { return multiply_add(pairs, constants, hn::Zero(D32())); }

// In each block the lanes of a, then of b, saturated.
HWY_INLINE V16 narrow(V32 a, V32 b) {
#if HWY_ARCH_X86
  return hn::ReorderDemote2To(D16(), a, b);
#else
  const hn::Half<D16> half;
  return hn::Combine(D16(), hn::DemoteTo(half, b), hn::DemoteTo(half, a));
#endif
}

struct Eight32 {
  V32 v[8];
};

// The even and the odd part of one dimension, put together and shifted.
template <int kShift>
HWY_INLINE Eight32 combine(V32 e0, V32 e1, V32 e2, V32 e3, V32 o0, V32 o1, V32 o2, V32 o3) {
  return {{hn::ShiftRight<kShift>(hn::Add(e0, o0)), hn::ShiftRight<kShift>(hn::Add(e1, o1)),
           hn::ShiftRight<kShift>(hn::Add(e2, o2)), hn::ShiftRight<kShift>(hn::Add(e3, o3)),
           hn::ShiftRight<kShift>(hn::Sub(e3, o3)), hn::ShiftRight<kShift>(hn::Sub(e2, o2)),
           hn::ShiftRight<kShift>(hn::Sub(e1, o1)), hn::ShiftRight<kShift>(hn::Sub(e0, o0))}};
}

// Eight inputs, in pairs (0, 4) (2, 6) (1, 7) (3, 5). Rounded to kRound bits below, shifted by kShift.
template <int kRound, int kShift>
HWY_INLINE Eight32 transform8(V16 p04, V16 p26, V16 p17, V16 p35) {
  const V32 half = hn::Set(D32(), 1 << (kRound - 1));
  const V32 sum = multiply_add(p04, pair(8192, 8192), half);
  const V32 difference = multiply_add(p04, pair(8192, -8192), half);
  const V32 z3 = multiply(p26, pair(10703, 4433));
  const V32 z2 = multiply(p26, pair(4433, -10704));
  const V32 o0 = multiply_add(p35, pair(9633, 6437), multiply(p17, pair(11363, 2260)));
  const V32 o1 = multiply_add(p35, pair(-2259, -11362), multiply(p17, pair(9633, -6436)));
  const V32 o2 = multiply_add(p35, pair(-11362, 2261), multiply(p17, pair(6437, 9633)));
  const V32 o3 = multiply_add(p35, pair(-6436, 9633), multiply(p17, pair(2260, -11363)));
  return combine<kShift>(hn::Add(sum, z3), hn::Add(difference, z2), hn::Sub(difference, z2), hn::Sub(sum, z3),
                         o0, o1, o2, o3);
}

// The same with inputs 4 to 7 zero, in pairs (0, 2) (1, 3).
template <int kRound, int kShift>
HWY_INLINE Eight32 transform4(V16 p02, V16 p13) {
  const V32 half = hn::Set(D32(), 1 << (kRound - 1));
  return combine<kShift>(
      multiply_add(p02, pair(8192, 10703), half), multiply_add(p02, pair(8192, 4433), half),
      multiply_add(p02, pair(8192, -4433), half), multiply_add(p02, pair(8192, -10703), half),
      multiply(p13, pair(11363, 9633)), multiply(p13, pair(9633, -2259)), multiply(p13, pair(6437, -11362)),
      multiply(p13, pair(2260, -6436)));
}

HWY_INLINE V16 lower(V16 a, V16 b) { return hn::InterleaveLower(D16(), a, b); }
HWY_INLINE V16 upper(V16 a, V16 b) { return hn::InterleaveUpper(D16(), a, b); }
HWY_INLINE V16 lower32(V16 a, V16 b) {
  const D32 d;
  return hn::BitCast(D16(), hn::InterleaveLower(d, hn::BitCast(d, a), hn::BitCast(d, b)));
}
HWY_INLINE V16 upper32(V16 a, V16 b) {
  const D32 d;
  return hn::BitCast(D16(), hn::InterleaveUpper(d, hn::BitCast(d, a), hn::BitCast(d, b)));
}
HWY_INLINE V16 lower64(V16 a, V16 b) {
  const hn::Repartition<std::int64_t, D16> d;
  return hn::BitCast(D16(), hn::InterleaveLower(d, hn::BitCast(d, a), hn::BitCast(d, b)));
}
HWY_INLINE V16 upper64(V16 a, V16 b) {
  const hn::Repartition<std::int64_t, D16> d;
  return hn::BitCast(D16(), hn::InterleaveUpper(d, hn::BitCast(d, a), hn::BitCast(d, b)));
}

// Row `row` of one block, or of two, dequantised.
HWY_INLINE V16 load_row(const std::int16_t* const* blocks, const IdctJob* const* jobs, int row) {
  const hn::FixedTag<std::int16_t, 8> d;
  const hn::FixedTag<std::uint16_t, 8> du;
  const auto quant = [&](int i) HWY_ATTR { return hn::BitCast(d, hn::LoadU(du, jobs[i]->quant + row * 8)); };
#if PYFASTDL_IDCT_BLOCKS == 2
  return hn::Mul(hn::Combine(D16(), hn::Load(d, blocks[1] + row * 8), hn::Load(d, blocks[0] + row * 8)),
                 hn::Combine(D16(), quant(1), quant(0)));
#else
  return hn::Mul(hn::Load(d, blocks[0] + row * 8), quant(0));
#endif
}

// Rows 2i and 2i + 1 of eight bytes, in each block.
HWY_INLINE void store_rows(V8 rows, const IdctJob* const* jobs, int first) {
  const hn::FixedTag<std::uint8_t, 16> block;
  const hn::FixedTag<std::uint8_t, 8> row;
  const auto store = [&](auto two, const IdctJob& job) HWY_ATTR {
    hn::StoreU(hn::LowerHalf(row, two), row, job.samples + first * job.stride);
    hn::StoreU(hn::UpperHalf(row, two), row, job.samples + (first + 1) * job.stride);
  };
#if PYFASTDL_IDCT_BLOCKS == 2
  store(hn::LowerHalf(block, rows), *jobs[0]);
  store(hn::UpperHalf(block, rows), *jobs[1]);
#else
  store(rows, *jobs[0]);
  (void)block;
#endif
}

// The upper bytes of both, in turn.
HWY_INLINE V16 zip_upper(V16 even, V16 odd) {
  const V16 upper_byte = hn::Set(D16(), static_cast<std::int16_t>(0xFF00));
  return hn::Or(hn::BitCast(D16(), hn::ShiftRight<8>(hn::BitCast(DU16(), even))), hn::And(odd, upper_byte));
}

// Columns of the result, as their upper four rows and their lower four, to samples.
HWY_INLINE void store_columns(const Eight32& high, const Eight32& low, const IdctJob* const* jobs) {
  V16 c[8];
  for (int i = 0; i < 8; ++i) c[i] = narrow(high.v[i], low.v[i]);
  const V16 c01 = zip_upper(c[0], c[1]), c23 = zip_upper(c[2], c[3]);
  const V16 c45 = zip_upper(c[4], c[5]), c67 = zip_upper(c[6], c[7]);
  const V16 left_high = lower(c01, c23), left_low = upper(c01, c23);
  const V16 right_high = lower(c45, c67), right_low = upper(c45, c67);
  const D8 d;
  const V8 middle = hn::Set(d, 128);
  const auto as_samples = [&](V16 v) HWY_ATTR { return hn::Xor(hn::BitCast(d, v), middle); };
  store_rows(as_samples(lower32(left_high, right_high)), jobs, 0);
  store_rows(as_samples(upper32(left_high, right_high)), jobs, 2);
  store_rows(as_samples(lower32(left_low, right_low)), jobs, 4);
  store_rows(as_samples(upper32(left_low, right_low)), jobs, 6);
}

HWY_INLINE bool fits(const V16* rows, int count) {
  V16 most = hn::Max(rows[0], rows[1]), least = hn::Min(rows[0], rows[1]);
  for (int i = 2; i < count; ++i) {
    most = hn::Max(most, rows[i]);
    least = hn::Min(least, rows[i]);
  }
  const auto beyond = hn::Or(hn::Gt(most, hn::Set(D16(), kMostBetween)),
                             hn::Lt(least, hn::Set(D16(), static_cast<std::int16_t>(-kMostBetween))));
  return hn::AllFalse(D16(), beyond);
}

HWY_INLINE bool transform_blocks(const std::int16_t* const* blocks, const IdctJob* const* jobs) {
  V16 r[8];
  for (int i = 0; i < 8; ++i) r[i] = load_row(blocks, jobs, i);
  const Eight32 left = transform8<kPass1Shift, kPass1Shift>(lower(r[0], r[4]), lower(r[2], r[6]),
                                                            lower(r[1], r[7]), lower(r[3], r[5]));
  const Eight32 right = transform8<kPass1Shift, kPass1Shift>(upper(r[0], r[4]), upper(r[2], r[6]),
                                                             upper(r[1], r[7]), upper(r[3], r[5]));
  for (int i = 0; i < 8; ++i) r[i] = narrow(left.v[i], right.v[i]);
  if (!fits(r, 8)) return false;
  // To columns.
  const V16 a0 = lower(r[0], r[1]), a1 = lower(r[2], r[3]), a2 = lower(r[4], r[5]), a3 = lower(r[6], r[7]);
  const V16 b0 = upper(r[0], r[1]), b1 = upper(r[2], r[3]), b2 = upper(r[4], r[5]), b3 = upper(r[6], r[7]);
  const V16 a01 = lower32(a0, a1), a23 = lower32(a2, a3), a01u = upper32(a0, a1), a23u = upper32(a2, a3);
  const V16 b01 = lower32(b0, b1), b23 = lower32(b2, b3), b01u = upper32(b0, b1), b23u = upper32(b2, b3);
  const V16 c0 = lower64(a01, a23), c1 = upper64(a01, a23), c2 = lower64(a01u, a23u),
            c3 = upper64(a01u, a23u);
  const V16 c4 = lower64(b01, b23), c5 = upper64(b01, b23), c6 = lower64(b01u, b23u),
            c7 = upper64(b01u, b23u);
  store_columns(
      transform8<kPass2Shift, kStoreShift>(lower(c0, c4), lower(c2, c6), lower(c1, c7), lower(c3, c5)),
      transform8<kPass2Shift, kStoreShift>(upper(c0, c4), upper(c2, c6), upper(c1, c7), upper(c3, c5)), jobs);
  return true;
}

HWY_INLINE bool transform_corners(const std::int16_t* const* blocks, const IdctJob* const* jobs) {
  V16 r[4];
  for (int i = 0; i < 4; ++i) r[i] = load_row(blocks, jobs, i);
  const Eight32 left = transform4<kPass1Shift, kPass1Shift>(lower(r[0], r[2]), lower(r[1], r[3]));
  // Rows i and i + 4, the left halves of both.
  for (int i = 0; i < 4; ++i) r[i] = narrow(left.v[i], left.v[i + 4]);
  if (!fits(r, 4)) return false;
  const V16 r01 = lower(r[0], r[1]), r45 = upper(r[0], r[1]), r23 = lower(r[2], r[3]),
            r67 = upper(r[2], r[3]);
  const V16 high01 = lower32(r01, r23), high23 = upper32(r01, r23);
  const V16 low01 = lower32(r45, r67), low23 = upper32(r45, r67);
  const V16 c0 = lower64(high01, low01), c1 = upper64(high01, low01);
  const V16 c2 = lower64(high23, low23), c3 = upper64(high23, low23);
  store_columns(transform4<kPass2Shift, kStoreShift>(lower(c0, c2), lower(c1, c3)),
                transform4<kPass2Shift, kStoreShift>(upper(c0, c2), upper(c1, c3)), jobs);
  return true;
}

bool has_vectors_target() { return true; }

// The jobs whose numbers are in `chosen`.
bool transform_target(const std::int16_t (*blocks)[64], const IdctJob* jobs, const std::uint8_t* chosen,
                      int count, bool corners) {
  bool ok = true;
  for (int i = 0; ok && i < count; i += kAtOnce) {
    const std::int16_t* some_blocks[kAtOnce];
    const IdctJob* some_jobs[kAtOnce];
    for (int j = 0; j < kAtOnce; ++j) {
      const int n = chosen[std::min(i + j, count - 1)];
      some_blocks[j] = blocks[n];
      some_jobs[j] = jobs + n;
    }
    ok = corners ? transform_corners(some_blocks, some_jobs) : transform_blocks(some_blocks, some_jobs);
  }
  return ok;
}

#endif  // HWY_TARGET

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pyfastdl
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyfastdl {
namespace {

// Coefficients up to this place in the order of the file lie in the upper left 4 x 4.
constexpr int kLastOfCorner = 9;

HWY_EXPORT(has_vectors_target);
HWY_EXPORT(transform_target);

constexpr int kMostDc = 16383 / 4;

// One number for the whole block; both passes' rounding in one.
void fill(const IdctJob& job, int dc) {
  const int sample = std::clamp(((dc * 4 + 16) >> 5) + 128, 0, 255);
  for (int y = 0; y < 8; ++y) std::memset(job.samples + y * job.stride, sample, 8);
}

}  // namespace

bool idct_has_vectors() { return HWY_DYNAMIC_DISPATCH(has_vectors_target)(); }

bool IdctQueue::flush() {
  std::uint8_t full[kBlocks], corners[kBlocks];
  int fulls = 0, some = 0;
  bool ok = true;
  for (int i = 0; i < count_; ++i) {
    const int last = jobs_[i].last;
    if (last > kLastOfCorner) {
      full[fulls++] = static_cast<std::uint8_t>(i);
    } else if (last > 0) {
      corners[some++] = static_cast<std::uint8_t>(i);
    } else {
      const int dc = blocks_[i][0] * jobs_[i].quant[0];
      // As in the first pass of the others.
      ok = ok && dc <= kMostDc && dc >= -kMostDc;
      fill(jobs_[i], dc);
    }
  }
  ok = ok && HWY_DYNAMIC_DISPATCH(transform_target)(blocks_, jobs_, full, fulls, false) &&
       HWY_DYNAMIC_DISPATCH(transform_target)(blocks_, jobs_, corners, some, true);
  clear();
  return ok;
}

void IdctQueue::clear() {
  // The block that push() would have added may be half filled.
  std::memset(blocks_, 0,
              static_cast<std::size_t>(count_ < kBlocks ? count_ + 1 : kBlocks) * sizeof(blocks_[0]));
  count_ = 0;
}

}  // namespace pyfastdl
#endif  // HWY_ONCE
