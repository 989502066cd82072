#include "transform/warp_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/warp_kernels.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for each target
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace pyfastdl {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Channels of a pixel that one vector of doubles holds. A pixel is four of them: the fourth byte is what follows.
#undef PYFASTDL_CHANNELS
#if HWY_TARGET == HWY_SCALAR
#define PYFASTDL_CHANNELS 1
#elif HWY_ARCH_X86 && HWY_MAX_BYTES >= 32
#define PYFASTDL_CHANNELS 4
#else
#define PYFASTDL_CHANNELS 2
#endif
constexpr std::size_t kChannels = PYFASTDL_CHANNELS;

using D8 = hn::FixedTag<std::uint8_t, kChannels>;
using D32 = hn::FixedTag<std::int32_t, kChannels>;
using D64 = hn::FixedTag<double, kChannels>;
using V32 = hn::VFromD<D32>;
using V64 = hn::VFromD<D64>;

HWY_INLINE V32 load(const std::uint8_t* p) { return hn::PromoteTo(D32(), hn::LoadU(D8(), p)); }
HWY_INLINE V64 real(V32 v) { return hn::PromoteTo(D64(), v); }
HWY_INLINE void store(V64 v, std::uint8_t* p) {
  hn::StoreU(hn::DemoteTo(D8(), hn::DemoteTo(D32(), v)), D8(), p);  // cut off
}

// Where a pixel comes from: the first of its neighbours (which may lie outside), and how far behind it.
struct Place {
  int x, y;
  double dx, dy;
};

struct Bilinear {
  static constexpr int kSide = 2;

  static HWY_INLINE V64 across(const std::uint8_t* row, const int* offsets, V64 d) {
    const V32 a = load(row + offsets[0]), b = load(row + offsets[1]);
    return hn::Add(real(a), hn::Mul(real(hn::Sub(b, a)), d));
  }
  static HWY_INLINE V64 down(const V64* v, V64 d) { return hn::Add(v[0], hn::Mul(hn::Sub(v[1], v[0]), d)); }
};

struct Bicubic {
  static constexpr int kSide = 4;

  static HWY_INLINE V64 polynomial(V64 p1, V64 p2, V64 p3, V64 p4, V64 d) {
    const V64 inner = hn::Add(p2, hn::Mul(d, hn::Add(p3, hn::Mul(d, p4))));
    return hn::Add(p1, hn::Mul(d, inner));
  }
  static HWY_INLINE V64 across(const std::uint8_t* row, const int* offsets, V64 d) {
    const V32 v1 = load(row + offsets[0]), v2 = load(row + offsets[1]);
    const V32 v3 = load(row + offsets[2]), v4 = load(row + offsets[3]);
    // Integers, hence exact in any order.
    const V32 rise = hn::Sub(v3, v1), fall = hn::Sub(v1, v2), end = hn::Sub(v4, v3);
    const V32 p3 = hn::Sub(hn::Add(fall, fall), end), p4 = hn::Sub(end, fall);
    return polynomial(real(v2), real(rise), real(p3), real(p4), d);
  }
  static HWY_INLINE V64 down(const V64* v, V64 d) {
    const V64 fall = hn::Sub(v[0], v[1]);
    const V64 p2 = hn::Sub(v[2], v[0]);
    const V64 p3 = hn::Sub(hn::Add(hn::Add(fall, fall), v[2]), v[3]);
    const V64 p4 = hn::Add(hn::Sub(hn::Sub(v[1], v[0]), v[2]), v[3]);
    const V64 sum = polynomial(v[1], p2, p3, p4, d);
    const D64 d64;
    return hn::Min(hn::Max(sum, hn::Zero(d64)), hn::Set(d64, 255.0));
  }
};

template <class Filter>
HWY_INLINE void sample(const WarpImages& images, const Place& place, std::uint8_t out[4]) {
  constexpr int kSide = Filter::kSide;
  const int width = images.size.width, height = images.size.height;
  const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(width) * 3;
  int offsets[kSide];
  const std::uint8_t* rows[kSide];
  if (HWY_LIKELY(place.x >= 0 && place.y >= 0 && place.x + kSide <= width && place.y + kSide <= height)) {
    const std::uint8_t* const first = images.from + place.y * stride + place.x * std::ptrdiff_t{3};
    for (int k = 0; k < kSide; ++k) {
      offsets[k] = k * 3;
      rows[k] = first + k * stride;
    }
  } else {
    for (int k = 0; k < kSide; ++k) {
      offsets[k] = std::clamp(place.x + k, 0, width - 1) * 3;
      rows[k] = images.from + std::clamp(place.y + k, 0, height - 1) * stride;
    }
  }
  const D64 d;
  const V64 dx = hn::Set(d, place.dx), dy = hn::Set(d, place.dy);
  for (std::size_t c = 0; c < 4; c += kChannels) {
    V64 v[Filter::kSide];
    for (int k = 0; k < Filter::kSide; ++k) v[k] = Filter::across(rows[k] + c, offsets, dx);
    store(Filter::down(v, dy), out + c);
  }
}

// floor of a number that is at least -0.5 and fits.
HWY_INLINE int floor_of(double x) { return x < 0.0 ? -1 : static_cast<int>(x); }

template <class Filter>
HWY_INLINE void warp_by(const double* m, const WarpImages& images) {
  const int width = images.size.width, height = images.size.height;
  std::uint8_t* out = images.to;
  for (int y = 0; y < height; ++y) {
    const double part_x = m[1] * (y + 0.5), part_y = m[4] * (y + 0.5);
    for (int x = 0; x < width; ++x, out += 3) {
      const double from_x = m[0] * (x + 0.5) + part_x + m[2];
      const double from_y = m[3] * (x + 0.5) + part_y + m[5];
      if (!(from_x >= 0.0 && from_x < width && from_y >= 0.0 && from_y < height)) {
        std::memcpy(out, images.fill.data(), 3);
        continue;
      }
      const double at_x = from_x - 0.5, at_y = from_y - 0.5;
      const int low_x = floor_of(at_x), low_y = floor_of(at_y);
      constexpr int kBefore = Filter::kSide / 2 - 1;
      const Place place{low_x - kBefore, low_y - kBefore, at_x - low_x, at_y - low_y};
      // The fourth byte is written over by the next pixel, if there is one.
      if (x + 1 < width) {
        sample<Filter>(images, place, out);
      } else {
        std::uint8_t last[4];
        sample<Filter>(images, place, last);
        std::memcpy(out, last, 3);
      }
    }
  }
}

HWY_ATTR void warp_bilinear_target(const double* matrix, const WarpImages& images) {
  warp_by<Bilinear>(matrix, images);
}
HWY_ATTR void warp_bicubic_target(const double* matrix, const WarpImages& images) {
  warp_by<Bicubic>(matrix, images);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pyfastdl
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyfastdl {

HWY_EXPORT(warp_bilinear_target);
HWY_EXPORT(warp_bicubic_target);

void warp_bilinear(const std::array<double, 6>& matrix, const WarpImages& images) {
  HWY_DYNAMIC_DISPATCH(warp_bilinear_target)(matrix.data(), images);
}

void warp_bicubic(const std::array<double, 6>& matrix, const WarpImages& images) {
  HWY_DYNAMIC_DISPATCH(warp_bicubic_target)(matrix.data(), images);
}

}  // namespace pyfastdl
#endif  // HWY_ONCE
