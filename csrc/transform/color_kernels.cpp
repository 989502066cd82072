#include "transform/color_kernels.h"

#include <algorithm>

#include "transform/blend.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/color_kernels.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for each target
#include "hwy/highway.h"
#include "transform/byte_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyfastdl {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

// The luma's weights as pairs (red, half of green) and (half of green, blue), which fit int16.
constexpr std::int32_t kRedGreen = 19595 | 19235 << 16;
constexpr std::int32_t kGreenBlue = 19235 | 7471 << 16;

// Four pixels a block, from bytes (r g r g …) and (g b g b …) that zeros have widened to 16 bits.
HWY_INLINE V32 gray_of_pairs(V8 red_green, V8 green_blue) {
  const D16 d16;
  const D32 d32;
  const V32 zero = hn::Zero(d32);
  V32 rest = zero;
  V32 sum = hn::ReorderWidenMulAccumulate(d32, hn::BitCast(d16, red_green),
                                          hn::BitCast(d16, hn::Set(d32, kRedGreen)), zero, rest);
  sum = hn::ReorderWidenMulAccumulate(d32, hn::BitCast(d16, green_blue),
                                      hn::BitCast(d16, hn::Set(d32, kGreenBlue)), sum, rest);
  return hn::ShiftRight<16>(hn::Add(hn::RearrangeToOddPlusEven(sum, rest), hn::Set(d32, 0x8000)));
}

HWY_INLINE V8 gray(V8 r, V8 g, V8 b) {
  const D8 d8;
  const V8 zero = hn::Zero(d8);
  const V8 rg0 = hn::InterleaveLower(d8, r, g), rg1 = hn::InterleaveUpper(d8, r, g);
  const V8 gb0 = hn::InterleaveLower(d8, g, b), gb1 = hn::InterleaveUpper(d8, g, b);
  return to_bytes({
      gray_of_pairs(hn::InterleaveLower(d8, rg0, zero), hn::InterleaveLower(d8, gb0, zero)),
      gray_of_pairs(hn::InterleaveUpper(d8, rg0, zero), hn::InterleaveUpper(d8, gb0, zero)),
      gray_of_pairs(hn::InterleaveLower(d8, rg1, zero), hn::InterleaveLower(d8, gb1, zero)),
      gray_of_pairs(hn::InterleaveUpper(d8, rg1, zero), hn::InterleaveUpper(d8, gb1, zero)),
  });
}

#endif  // HWY_TARGET

HWY_ATTR void blend_with_level_target(std::uint8_t* bytes, std::size_t count, std::uint8_t level,
                                      float factor) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const D8 d8;
  const VF by = hn::Set(DF(), factor);
  const Floats from = to_floats(hn::Set(d8, level));
  for (; i + kVectorBytes <= count; i += kVectorBytes) {
    hn::StoreU(blend(from, to_floats(hn::LoadU(d8, bytes + i)), by), d8, bytes + i);
  }
#endif
  for (; i < count; ++i) bytes[i] = blend_byte(level, bytes[i], factor);
}

HWY_ATTR void blend_with_gray_target(std::uint8_t* rgb, std::size_t pixels, float factor) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const D8 d8;
  const VF by = hn::Set(DF(), factor);
  for (; i + kVectorBytes <= pixels; i += kVectorBytes) {
    V8 r, g, b;
    hn::LoadInterleaved3(d8, rgb + i * 3, r, g, b);
    const Floats from = to_floats(gray(r, g, b));
    r = blend(from, to_floats(r), by);
    g = blend(from, to_floats(g), by);
    b = blend(from, to_floats(b), by);
    hn::StoreInterleaved3(r, g, b, d8, rgb + i * 3);
  }
#endif
  for (; i < pixels; ++i) {
    const int from = gray_of(rgb + i * 3);
    for (std::size_t c = 0; c < 3; ++c) rgb[i * 3 + c] = blend_byte(from, rgb[i * 3 + c], factor);
  }
}

HWY_ATTR void to_gray_target(std::uint8_t* rgb, std::size_t pixels) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const D8 d8;
  for (; i + kVectorBytes <= pixels; i += kVectorBytes) {
    V8 r, g, b;
    hn::LoadInterleaved3(d8, rgb + i * 3, r, g, b);
    const V8 y = gray(r, g, b);
    hn::StoreInterleaved3(y, y, y, d8, rgb + i * 3);
  }
#endif
  for (; i < pixels; ++i) {
    rgb[i * 3] = rgb[i * 3 + 1] = rgb[i * 3 + 2] = static_cast<std::uint8_t>(gray_of(rgb + i * 3));
  }
}

HWY_ATTR std::uint64_t gray_sum_target(const std::uint8_t* rgb, std::size_t pixels) {
  std::uint64_t sum = 0;
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const D8 d8;
  const hn::Repartition<std::uint64_t, D8> d64;
  auto sums = hn::Zero(d64);
  for (; i + kVectorBytes <= pixels; i += kVectorBytes) {
    V8 r, g, b;
    hn::LoadInterleaved3(d8, rgb + i * 3, r, g, b);
    sums = hn::Add(sums, hn::SumsOf8(gray(r, g, b)));
  }
  sum = hn::GetLane(hn::SumOfLanes(d64, sums));
#endif
  for (; i < pixels; ++i) sum += static_cast<std::uint64_t>(gray_of(rgb + i * 3));
  return sum;
}

HWY_ATTR ChannelExtrema channel_extrema_target(const std::uint8_t* rgb, std::size_t pixels) {
  ChannelExtrema extrema;
  const std::size_t count = pixels * 3;
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  // Three vectors side by side are whole pixels: each of their bytes belongs to one channel.
  constexpr std::size_t kSide = 3 * kVectorBytes;
  const D8 d8;
  V8 low0 = hn::Set(d8, 255), low1 = low0, low2 = low0;
  V8 high0 = hn::Zero(d8), high1 = high0, high2 = high0;
  for (; i + kSide <= count; i += kSide) {
    const V8 a = hn::LoadU(d8, rgb + i);
    const V8 b = hn::LoadU(d8, rgb + i + kVectorBytes);
    const V8 c = hn::LoadU(d8, rgb + i + 2 * kVectorBytes);
    low0 = hn::Min(low0, a);
    low1 = hn::Min(low1, b);
    low2 = hn::Min(low2, c);
    high0 = hn::Max(high0, a);
    high1 = hn::Max(high1, b);
    high2 = hn::Max(high2, c);
  }
  std::uint8_t low[kSide], high[kSide];
  hn::StoreU(low0, d8, low);
  hn::StoreU(low1, d8, low + kVectorBytes);
  hn::StoreU(low2, d8, low + 2 * kVectorBytes);
  hn::StoreU(high0, d8, high);
  hn::StoreU(high1, d8, high + kVectorBytes);
  hn::StoreU(high2, d8, high + 2 * kVectorBytes);
  for (std::size_t k = 0; k < kSide; ++k) {
    extrema.low[k % 3] = std::min(extrema.low[k % 3], low[k]);
    extrema.high[k % 3] = std::max(extrema.high[k % 3], high[k]);
  }
#endif
  for (; i < count; ++i) {
    extrema.low[i % 3] = std::min(extrema.low[i % 3], rgb[i]);
    extrema.high[i % 3] = std::max(extrema.high[i % 3], rgb[i]);
  }
  return extrema;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pyfastdl
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyfastdl {

HWY_EXPORT(blend_with_level_target);
HWY_EXPORT(blend_with_gray_target);
HWY_EXPORT(to_gray_target);
HWY_EXPORT(gray_sum_target);
HWY_EXPORT(channel_extrema_target);

void blend_with_level(std::uint8_t* bytes, std::size_t count, std::uint8_t level, float factor) {
  HWY_DYNAMIC_DISPATCH(blend_with_level_target)(bytes, count, level, factor);
}

void blend_with_gray(std::uint8_t* rgb, std::size_t pixels, float factor) {
  HWY_DYNAMIC_DISPATCH(blend_with_gray_target)(rgb, pixels, factor);
}

void to_gray(std::uint8_t* rgb, std::size_t pixels) { HWY_DYNAMIC_DISPATCH(to_gray_target)(rgb, pixels); }

std::uint64_t gray_sum(const std::uint8_t* rgb, std::size_t pixels) {
  return HWY_DYNAMIC_DISPATCH(gray_sum_target)(rgb, pixels);
}

ChannelExtrema channel_extrema(const std::uint8_t* rgb, std::size_t pixels) {
  return HWY_DYNAMIC_DISPATCH(channel_extrema_target)(rgb, pixels);
}

}  // namespace pyfastdl
#endif  // HWY_ONCE
