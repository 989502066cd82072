#include "decode/jpeg_color.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decode/jpeg_color.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for each target
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace pyfastdl {
namespace HWY_NAMESPACE {
namespace {

// Where the compiler's baseline has no byte shuffles; idct_has_vectors() says so.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

void gray_to_rgbx_target(const std::uint8_t*, int, std::uint8_t*) {}
void ycc_to_rgbx_target(const std::uint8_t*, const std::uint8_t*, const std::uint8_t*, int, std::uint8_t*) {}
void upsample_across_target(const std::uint8_t*, int, std::uint8_t*) {}
void upsample_down_target(const std::uint8_t*, const std::uint8_t*, int, int, std::uint8_t*) {}
void upsample_both_target(const std::uint8_t*, const std::uint8_t*, int, std::uint8_t*) {}

#else

namespace hn = hwy::HWY_NAMESPACE;

// Two blocks of 128 bits on x86 from AVX2 on, else one.
#undef PYFASTDL_COLOR_BYTES
#if HWY_ARCH_X86 && HWY_MAX_BYTES >= 32
#define PYFASTDL_COLOR_BYTES 32
#else
#define PYFASTDL_COLOR_BYTES 16
#endif
constexpr int kBytes = PYFASTDL_COLOR_BYTES;

using D8 = hn::FixedTag<std::uint8_t, kBytes>;
using D16 = hn::FixedTag<std::int16_t, kBytes / 2>;
using DU16 = hn::FixedTag<std::uint16_t, kBytes / 2>;
using D32 = hn::FixedTag<std::int32_t, kBytes / 4>;
using V8 = hn::VFromD<D8>;
using V16 = hn::VFromD<D16>;
using VU16 = hn::VFromD<DU16>;
using V32 = hn::VFromD<D32>;

// In each block the lanes of a, then of b.
HWY_INLINE V16 narrow(V32 a, V32 b) {
#if HWY_ARCH_X86
  return hn::ReorderDemote2To(D16(), a, b);
#else
  const hn::Half<D16> half;
  return hn::Combine(D16(), hn::DemoteTo(half, b), hn::DemoteTo(half, a));
#endif
}

// Even and odd lanes, clipped to bytes, in turn.
HWY_INLINE V8 zip(V16 even, V16 odd) {
  const D16 d;
  const V16 zero = hn::Zero(d), most = hn::Set(d, 255);
  const auto clip = [&](V16 v) HWY_ATTR { return hn::Min(hn::Max(v, zero), most); };
  return hn::BitCast(D8(), hn::Or(clip(even), hn::ShiftLeft<8>(clip(odd))));
}

// kBytes pixels: bytes to r g b x.
HWY_INLINE void store_pixels(V8 r, V8 g, V8 b, std::uint8_t* HWY_RESTRICT out) {
  const D8 d;
  const D16 d16;
  const V8 x = hn::Set(d, 255);
  const auto as16 = [](V8 v) HWY_ATTR { return hn::BitCast(D16(), v); };
  const V16 rg_low = as16(hn::InterleaveLower(d, r, g)), rg_high = as16(hn::InterleaveUpper(d, r, g));
  const V16 bx_low = as16(hn::InterleaveLower(d, b, x)), bx_high = as16(hn::InterleaveUpper(d, b, x));
  // Pixels 0 to 3, 4 to 7 ... of each block.
  const V8 p[4] = {hn::BitCast(d, hn::InterleaveLower(d16, rg_low, bx_low)),
                   hn::BitCast(d, hn::InterleaveUpper(d16, rg_low, bx_low)),
                   hn::BitCast(d, hn::InterleaveLower(d16, rg_high, bx_high)),
                   hn::BitCast(d, hn::InterleaveUpper(d16, rg_high, bx_high))};
#if PYFASTDL_COLOR_BYTES == 32
  for (int i = 0; i < 2; ++i) {
    hn::StoreU(hn::ConcatLowerLower(d, p[2 * i + 1], p[2 * i]), d, out + 32 * i);
    hn::StoreU(hn::ConcatUpperUpper(d, p[2 * i + 1], p[2 * i]), d, out + 32 * i + 64);
  }
#else
  for (int i = 0; i < 4; ++i) hn::StoreU(p[i], d, out + 16 * i);
#endif
}

HWY_ATTR void gray_to_rgbx_target(const std::uint8_t* gray, int pixels, std::uint8_t* out) {
  const D8 d;
  for (int i = 0; i < pixels; i += kBytes) {
    const V8 v = hn::LoadU(d, gray + i);
    store_pixels(v, v, v, out + i * 4);
  }
}

struct Rgb {
  V16 r, g, b;
};

// x * c / 2^15, rounded, is libjpeg's x * c / 2^16 for the constants of blue and green, which are even; for red's, 26345
// for the part of 1.402 above 1, half of it rounded down gives the same for all 256 values.
HWY_INLINE Rgb to_rgb(V16 y, V16 cb, V16 cr) {
  const D16 d;
  const D32 d32;
  const V16 middle = hn::Set(d, 128);
  cb = hn::Sub(cb, middle);
  cr = hn::Sub(cr, middle);
  const V16 r = hn::Add(hn::Add(y, cr), hn::MulFixedPoint15(cr, hn::Set(d, 13172)));
  const V16 b = hn::Add(hn::Add(y, hn::Add(cb, cb)), hn::MulFixedPoint15(cb, hn::Set(d, -7471)));
  // -0.34414 cb - 0.71414 cr = -cr + (-11277 cb + 9367 cr) / 2^15
  const V16 weights = hn::BitCast(d, hn::Set(d32, static_cast<std::int32_t>(0xFFFF & -11277) | 9367 * 65536));
  const auto green = [&](V16 pairs) HWY_ATTR {
    V32 other = hn::Zero(d32);
    const V32 sum = hn::ReorderWidenMulAccumulate(d32, pairs, weights, hn::Set(d32, 1 << 14), other);
    return hn::ShiftRight<15>(hn::RearrangeToOddPlusEven(sum, other));
  };
  const V16 part = narrow(green(hn::InterleaveLower(d, cb, cr)), green(hn::InterleaveUpper(d, cb, cr)));
  return {r, hn::Add(hn::Sub(y, cr), part), b};
}

HWY_ATTR void ycc_to_rgbx_target(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                                 int pixels, std::uint8_t* out) {
  const D8 d;
  const D16 d16;
  const DU16 du16;
  const V16 mask = hn::Set(d16, 255);
  for (int i = 0; i < pixels; i += kBytes) {
    const VU16 ys = hn::BitCast(du16, hn::LoadU(d, y + i));
    const VU16 cbs = hn::BitCast(du16, hn::LoadU(d, cb + i));
    const VU16 crs = hn::BitCast(du16, hn::LoadU(d, cr + i));
    const auto even = [&](VU16 v) HWY_ATTR { return hn::And(hn::BitCast(d16, v), mask); };
    const auto odd = [&](VU16 v) HWY_ATTR { return hn::BitCast(d16, hn::ShiftRight<8>(v)); };
    const Rgb evens = to_rgb(even(ys), even(cbs), even(crs));
    const Rgb odds = to_rgb(odd(ys), odd(cbs), odd(crs));
    store_pixels(zip(evens.r, odds.r), zip(evens.g, odds.g), zip(evens.b, odds.b), out + i * 4);
  }
}

// Eight bits, of kBytes / 2 samples.
HWY_INLINE V16 load(const std::uint8_t* in) {
  const hn::Half<D8> half;
  return hn::PromoteTo(D16(), hn::LoadU(half, in));
}

HWY_INLINE V16 three(V16 v) { return hn::Add(v, hn::Add(v, v)); }

// Lanes below 256: the even pixels and the odd ones.
HWY_INLINE void store_zipped(V16 even, V16 odd, std::uint8_t* out) {
  const D8 d;
  hn::StoreU(hn::BitCast(d, hn::Or(even, hn::ShiftLeft<8>(odd))), d, out);
}

HWY_ATTR void upsample_across_target(const std::uint8_t* in, int pixels, std::uint8_t* out) {
  const D16 d;
  const V16 one = hn::Set(d, 1), two = hn::Set(d, 2);
  for (int i = 0; i < pixels; i += kBytes, in += kBytes / 2) {
    const V16 here = three(load(in));
    store_zipped(hn::ShiftRight<2>(hn::Add(here, hn::Add(load(in - 1), one))),
                 hn::ShiftRight<2>(hn::Add(here, hn::Add(load(in + 1), two))), out + i);
  }
}

HWY_ATTR void upsample_down_target(const std::uint8_t* near, const std::uint8_t* far, int bias, int pixels,
                                   std::uint8_t* out) {
  const D16 d;
  const hn::Half<D8> half;
  const V16 rounding = hn::Set(d, static_cast<std::int16_t>(bias));
  for (int i = 0; i < pixels; i += kBytes / 2) {
    const V16 sum = hn::Add(three(load(near + i)), hn::Add(load(far + i), rounding));
    hn::StoreU(hn::DemoteTo(half, hn::ShiftRight<2>(sum)), half, out + i);
  }
}

HWY_ATTR void upsample_both_target(const std::uint8_t* near, const std::uint8_t* far, int pixels,
                                   std::uint8_t* out) {
  const D16 d;
  const V16 eight = hn::Set(d, 8), seven = hn::Set(d, 7);
  for (int i = 0; i < pixels; i += kBytes, near += kBytes / 2, far += kBytes / 2) {
    const auto sum = [&](int offset)
                         HWY_ATTR { return hn::Add(three(load(near + offset)), load(far + offset)); };
    const V16 here = three(sum(0));
    store_zipped(hn::ShiftRight<4>(hn::Add(here, hn::Add(sum(-1), eight))),
                 hn::ShiftRight<4>(hn::Add(here, hn::Add(sum(1), seven))), out + i);
  }
}

#endif  // HWY_TARGET

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pyfastdl
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyfastdl {

HWY_EXPORT(gray_to_rgbx_target);
HWY_EXPORT(ycc_to_rgbx_target);
HWY_EXPORT(upsample_across_target);
HWY_EXPORT(upsample_down_target);
HWY_EXPORT(upsample_both_target);

void gray_to_rgbx(const std::uint8_t* gray, int pixels, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(gray_to_rgbx_target)(gray, pixels, out);
}

void ycc_to_rgbx(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, int pixels,
                 std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(ycc_to_rgbx_target)(y, cb, cr, pixels, out);
}

void upsample_across(const std::uint8_t* in, int pixels, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(upsample_across_target)(in, pixels, out);
}

void upsample_down(const std::uint8_t* near, const std::uint8_t* far, int bias, int pixels,
                   std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(upsample_down_target)(near, far, bias, pixels, out);
}

void upsample_both(const std::uint8_t* near, const std::uint8_t* far, int pixels, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(upsample_both_target)(near, far, pixels, out);
}

}  // namespace pyfastdl
#endif  // HWY_ONCE
