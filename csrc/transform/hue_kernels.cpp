#include "transform/hue_kernels.h"

#include "transform/hue.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/hue_kernels.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for each target
#include "hwy/highway.h"
#include "transform/byte_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyfastdl {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

using D64 = hn::FixedTag<double, kVectorBytes / 8>;
using DHalfF = hn::FixedTag<float, kVectorBytes / 8>;
using DHalf32 = hn::FixedTag<std::int32_t, kVectorBytes / 8>;
using V64 = hn::VFromD<D64>;

// Floats as doubles.
struct Doubles {
  V64 lower, upper;
};

HWY_INLINE Doubles promote(VF x) {
  const D64 d;
  const DHalfF half;
  return {hn::PromoteTo(d, hn::LowerHalf(half, x)), hn::PromoteTo(d, hn::UpperHalf(half, x))};
}
HWY_INLINE VF demote(const Doubles& x) {
  const DHalfF half;
  return hn::Combine(DF(), hn::DemoteTo(half, x.upper), hn::DemoteTo(half, x.lower));
}
HWY_INLINE V32 cut(const Doubles& x) {
  const DHalf32 half;
  return hn::Combine(D32(), hn::DemoteTo(half, x.upper), hn::DemoteTo(half, x.lower));
}
template <class Function>
HWY_INLINE Doubles each(const Doubles& x, Function f) {
  return {f(x.lower), f(x.upper)};
}

// The hue's byte before it is turned. `base` (+ 1) and `sign` (0 plus, 1 minus) say how many sixths `share` is counted from.
HWY_INLINE V32 hue_byte(VF share, VF base_and_one, VF sign) {
  const DF d;
  const VF one = hn::Set(d, 1.0f);
  const VF signed_share = hn::Mul(share, hn::Sub(one, hn::Add(sign, sign)));
  const VF sixths = hn::Add(hn::Sub(base_and_one, one), signed_share);  // rounds once, as Pillow's does
  const VF turns = demote(each(promote(sixths), [](V64 x) HWY_ATTR {
    const D64 d64;
    const V64 whole = hn::Set(d64, 1.0);
    const V64 turned = hn::Add(hn::Div(x, hn::Set(d64, 6.0)), whole);
    return hn::IfThenElse(hn::Ge(turned, whole), hn::Sub(turned, whole), turned);
  }));
  return cut(each(promote(turns), [](V64 x) HWY_ATTR { return hn::Mul(x, hn::Set(D64(), 255.0)); }));
}

HWY_INLINE V32 saturation_byte(VF range, VF high) {
  const VF share = hn::Div(range, hn::Max(high, hn::Set(DF(), 1.0f)));
  return cut(each(promote(share), [](V64 x) HWY_ATTR { return hn::Mul(x, hn::Set(D64(), 255.0)); }));
}

// round(value * share), where no product is halfway between two integers.
HWY_INLINE V32 share_of_value(const Doubles& value, const Doubles& taken) {
  const auto one = [](V64 v, V64 t) HWY_ATTR {
    const D64 d;
    return hn::Add(hn::Mul(v, hn::Sub(hn::Set(d, 1.0), t)), hn::Set(d, 0.5));
  };
  return cut({one(value.lower, taken.lower), one(value.upper, taken.upper)});
}

// What the third number of the pixel is: the value less a share that depends on where in its sector the hue is.
HWY_INLINE V32 ramp_byte(VF value, VF s, VF within, VF odd) {
  const Doubles falling = promote(hn::Mul(s, within)), s2 = promote(s), w2 = promote(within),
                o2 = promote(odd);
  const auto taken = [](V64 fall, V64 s1, V64 w, V64 o) HWY_ATTR {
    const D64 d;
    const V64 rising = hn::Mul(s1, hn::Sub(hn::Set(d, 1.0), w));
    return hn::IfThenElse(hn::Gt(o, hn::Zero(d)), fall, rising);
  };
  return share_of_value(promote(value), {taken(falling.lower, s2.lower, w2.lower, o2.lower),
                                         taken(falling.upper, s2.upper, w2.upper, o2.upper)});
}

template <class Function>
HWY_INLINE V8 by_quarters(Function f) {
  return to_bytes({f(0), f(1), f(2), f(3)});
}

HWY_INLINE VF floats(V8 bytes, int quarter) { return hn::ConvertTo(DF(), widen(bytes, quarter)); }

// Which of value, ramp and rest a channel gets in the sectors 0 to 6 (6 is 0 again): masks.
struct Choice {
  std::uint8_t value[16], ramp[16];
};
alignas(16) constexpr Choice kRed = {{255, 0, 0, 0, 0, 255, 255}, {0, 255, 0, 0, 255, 0, 0}};
alignas(16) constexpr Choice kGreen = {{0, 255, 255, 0, 0, 0, 0}, {255, 0, 0, 255, 0, 0, 255}};
alignas(16) constexpr Choice kBlue = {{0, 0, 0, 255, 255, 0, 0}, {0, 0, 255, 0, 0, 255, 0}};

HWY_INLINE V8 choose(const Choice& choice, V8 sector, V8 value, V8 ramp, V8 rest) {
  const D8 d8;
  const V8 is_value = hn::TableLookupBytes(hn::LoadDup128(d8, choice.value), sector);
  const V8 is_ramp = hn::TableLookupBytes(hn::LoadDup128(d8, choice.ramp), sector);
  return hn::Or(hn::Or(hn::And(is_value, value), hn::And(is_ramp, ramp)),
                hn::AndNot(hn::Or(is_value, is_ramp), rest));
}

HWY_INLINE void turn(V8& r, V8& g, V8& b, V8 shift) {
  const D8 d8;
  const auto set = [d8](int x) HWY_ATTR { return hn::Set(d8, static_cast<std::uint8_t>(x)); };
  const V8 high = hn::Max(r, hn::Max(g, b)), low = hn::Min(r, hn::Min(g, b));
  const V8 middle = hn::Xor(hn::Xor(r, hn::Xor(g, b)), hn::Xor(high, low));
  const V8 range = hn::Sub(high, low), distance = hn::Sub(high, middle);
  // One of the two shares that Pillow subtracts is 1 (the lowest channel's), the other is distance / range.
  const auto red = hn::Eq(r, high), green = hn::Eq(g, high);
  const auto blue_low = hn::Eq(b, low), red_low = hn::Eq(r, low);
  const auto pick = [](auto mask, V8 yes, V8 no) HWY_ATTR { return hn::IfThenElse(mask, yes, no); };
  const V8 base_and_one = pick(red, pick(blue_low, set(2), set(0)),
                               pick(green, pick(blue_low, set(2), set(4)), pick(red_low, set(4), set(6))));
  const V8 sign = pick(red, pick(blue_low, set(1), set(0)),
                       pick(green, pick(blue_low, set(0), set(1)), pick(red_low, set(0), set(1))));
  const V8 divisor = hn::Max(range, set(1));
  const V8 unturned = by_quarters([&](int k) HWY_ATTR {
    return hue_byte(hn::Div(floats(distance, k), floats(divisor, k)), floats(base_and_one, k),
                    floats(sign, k));
  });
  const V8 hue = hn::Add(unturned, shift);
  const V8 saturation =
      by_quarters([&](int k) HWY_ATTR { return saturation_byte(floats(range, k), floats(high, k)); });

  // hue * 6 / 255 in integers, by counting its steps.
  V8 sector = hn::Zero(d8);
  for (const int step : {43, 85, 128, 170, 213, 255}) {
    sector = hn::Sub(sector, hn::VecFromMask(d8, hn::Eq(hn::Max(hue, set(step)), hue)));
  }
  const V8 odd = hn::And(sector, set(1));
  const auto share = [](VF x) HWY_ATTR { return hn::Div(x, hn::Set(DF(), 255.0f)); };
  const V8 ramp = by_quarters([&](int k) HWY_ATTR {
    const DF d;
    const VF from_start =
        hn::Sub(hn::Mul(floats(hue, k), hn::Set(d, 6.0f)), hn::Mul(floats(sector, k), hn::Set(d, 255.0f)));
    return ramp_byte(floats(high, k), share(floats(saturation, k)), share(from_start), floats(odd, k));
  });
  const V8 rest = by_quarters([&](int k) HWY_ATTR {
    const DF d;
    // At least 1/510 away from halfway: single precision is enough.
    const VF left = hn::Sub(hn::Set(d, 1.0f), share(floats(saturation, k)));
    return hn::ConvertTo(D32(), hn::Add(hn::Mul(floats(high, k), left), hn::Set(d, 0.5f)));
  });
  r = choose(kRed, sector, high, ramp, rest);
  g = choose(kGreen, sector, high, ramp, rest);
  b = choose(kBlue, sector, high, ramp, rest);
}

#endif  // HWY_TARGET

HWY_ATTR void turn_hues_target(std::uint8_t* rgb, std::size_t pixels, std::uint8_t shift) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const D8 d8;
  for (; i + kVectorBytes <= pixels; i += kVectorBytes) {
    V8 r, g, b;
    hn::LoadInterleaved3(d8, rgb + i * 3, r, g, b);
    turn(r, g, b, hn::Set(d8, shift));
    hn::StoreInterleaved3(r, g, b, d8, rgb + i * 3);
  }
#endif
  for (; i < pixels; ++i) turn_hue(rgb + i * 3, shift);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pyfastdl
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyfastdl {

HWY_EXPORT(turn_hues_target);

void turn_hues(std::uint8_t* rgb, std::size_t pixels, std::uint8_t shift) {
  HWY_DYNAMIC_DISPATCH(turn_hues_target)(rgb, pixels, shift);
}

}  // namespace pyfastdl
#endif  // HWY_ONCE
