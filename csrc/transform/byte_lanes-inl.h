// Bytes as vectors of wider numbers and back, for the kernels that work on packed pixels: included by each of them once
// for every vector target (Highway's custom, hence the toggling guard). Nothing here for the target without vectors.
#if defined(PYFASTDL_TRANSFORM_BYTE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PYFASTDL_TRANSFORM_BYTE_LANES_INL_H_
#undef PYFASTDL_TRANSFORM_BYTE_LANES_INL_H_
#else
#define PYFASTDL_TRANSFORM_BYTE_LANES_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace pyfastdl {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

// Two blocks of 128 bits on x86 from AVX2 on, else one.
#if HWY_ARCH_X86 && HWY_MAX_BYTES >= 32
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif

using D8 = hn::FixedTag<std::uint8_t, kVectorBytes>;
using D16 = hn::FixedTag<std::int16_t, kVectorBytes / 2>;
using DU16 = hn::FixedTag<std::uint16_t, kVectorBytes / 2>;
using D32 = hn::FixedTag<std::int32_t, kVectorBytes / 4>;
using DF = hn::FixedTag<float, kVectorBytes / 4>;
using V8 = hn::VFromD<D8>;
using V16 = hn::VFromD<D16>;
using VU16 = hn::VFromD<DU16>;
using V32 = hn::VFromD<D32>;
using VF = hn::VFromD<DF>;

// The bytes of a vector as four vectors of numbers: block by block the first four, the next four, and so on.
struct Ints {
  V32 a, b, c, d;
};
struct Floats {
  VF a, b, c, d;
};

// 0x80 gives zero. The last table turns (a0 b0 c0 d0 a1 b1 …) into (a0 a1 a2 a3 b0 b1 …).
alignas(16) constexpr std::uint8_t kWiden[4][16] = {
    {0, 0x80, 0x80, 0x80, 1, 0x80, 0x80, 0x80, 2, 0x80, 0x80, 0x80, 3, 0x80, 0x80, 0x80},
    {4, 0x80, 0x80, 0x80, 5, 0x80, 0x80, 0x80, 6, 0x80, 0x80, 0x80, 7, 0x80, 0x80, 0x80},
    {8, 0x80, 0x80, 0x80, 9, 0x80, 0x80, 0x80, 10, 0x80, 0x80, 0x80, 11, 0x80, 0x80, 0x80},
    {12, 0x80, 0x80, 0x80, 13, 0x80, 0x80, 0x80, 14, 0x80, 0x80, 0x80, 15, 0x80, 0x80, 0x80}};
alignas(16) constexpr std::uint8_t kTranspose[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};

HWY_INLINE V32 widen(V8 bytes, int quarter) {
  const D8 d8;
  return hn::BitCast(D32(), hn::TableLookupBytesOr0(bytes, hn::LoadDup128(d8, kWiden[quarter])));
}

HWY_INLINE Floats to_floats(V8 bytes) {
  const DF d;
  return {hn::ConvertTo(d, widen(bytes, 0)), hn::ConvertTo(d, widen(bytes, 1)),
          hn::ConvertTo(d, widen(bytes, 2)), hn::ConvertTo(d, widen(bytes, 3))};
}

// REQUIRES: numbers of 0 to 255.
HWY_INLINE V8 to_bytes(const Ints& n) {
  const D8 d8;
  const V32 ab = hn::Or(n.a, hn::ShiftLeft<8>(n.b));
  const V32 cd = hn::Or(n.c, hn::ShiftLeft<8>(n.d));
  const V8 zipped = hn::BitCast(d8, hn::Or(ab, hn::ShiftLeft<16>(cd)));
  return hn::TableLookupBytes(zipped, hn::LoadDup128(d8, kTranspose));
}

// Clipped to 0 and 255, then cut off; what is no number gives 0.
HWY_INLINE V32 clip_cut(VF x) {
  const DF d;
  // The order of Max's operands matters on x86: it gives the second where one is no number.
  return hn::ConvertTo(D32(), hn::Min(hn::Max(x, hn::Zero(d)), hn::Set(d, 255.0f)));
}

// Image.blend of bytes: from + (to - from) * factor in float, in that order, clipped and cut off.
HWY_INLINE V8 blend(const Floats& from, const Floats& to, VF factor) {
  const auto one = [factor](VF x, VF y)
                       HWY_ATTR { return clip_cut(hn::Add(x, hn::Mul(factor, hn::Sub(y, x)))); };
  return to_bytes({one(from.a, to.a), one(from.b, to.b), one(from.c, to.c), one(from.d, to.d)});
}

#endif  // HWY_TARGET

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pyfastdl
HWY_AFTER_NAMESPACE();

#endif  // the guard
