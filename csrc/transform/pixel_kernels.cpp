#include "transform/pixel_kernels.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/pixel_kernels.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for each target
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace pyfastdl {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR  // one lane at a time is what the caller's tables do better

bool write_pixels_target(const PixelConstants&, const std::uint8_t*, int, bool, std::byte*, std::size_t) {
  return false;
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// As many lanes as pixels come from one or two blocks of 16 bytes, four pixels from each.
#undef PYFASTDL_TWO_BLOCKS
#if HWY_ARCH_X86 && HWY_MAX_BYTES >= 32
#define PYFASTDL_TWO_BLOCKS 1
#else
#define PYFASTDL_TWO_BLOCKS 0
#endif
constexpr int kLanes = PYFASTDL_TWO_BLOCKS ? 8 : 4;

using DF = hn::FixedTag<float, kLanes>;
using DU = hn::Rebind<std::uint32_t, DF>;
using DI = hn::Rebind<std::int32_t, DF>;
using D8 = hn::Repartition<std::uint8_t, DF>;
using D8Block = hn::FixedTag<std::uint8_t, 16>;
using VF = hn::VFromD<DF>;
using VU = hn::VFromD<DU>;
using V8 = hn::VFromD<D8>;

// One channel of four pixels as 32-bit lanes, in order and mirrored; 0x80 gives zero.
struct alignas(16) ChannelTables {
  std::uint8_t forward[3][16];
  std::uint8_t mirrored[3][16];
};
constexpr ChannelTables channel_tables() {
  ChannelTables tables{};
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < 16; ++i) {
      tables.forward[c][i] = static_cast<std::uint8_t>(i % 4 == 0 ? i / 4 * 3 + c : 0x80);
      tables.mirrored[c][i] = static_cast<std::uint8_t>(i % 4 == 0 ? (3 - i / 4) * 3 + c : 0x80);
    }
  }
  return tables;
}
constexpr ChannelTables kTables = channel_tables();

// kLanes pixels; mirrored, the blocks change places too.
template <bool kFlip>
HWY_INLINE V8 load_pixels(const std::uint8_t* HWY_RESTRICT rgb) {
  const D8Block d;
#if PYFASTDL_TWO_BLOCKS
  return hn::Combine(D8(), hn::LoadU(d, rgb + (kFlip ? 0 : 12)), hn::LoadU(d, rgb + (kFlip ? 12 : 0)));
#else
  return hn::LoadU(d, rgb);
#endif
}

HWY_INLINE VF divide(VF x, const Reciprocal& by) {
  const DF d;
#if HWY_NATIVE_FMA
  return hn::MulAdd(x, hn::Set(d, by.hi), hn::Mul(x, hn::Set(d, by.lo)));
#else
  return hn::Div(x, hn::Set(d, by.divisor));
#endif
}

HWY_INLINE VF scaled(const PixelConstants& constants, VF x) {
#if !HWY_NATIVE_FMA
  if (constants.multiply) return hn::Mul(x, hn::Set(DF(), constants.scale.hi));
#endif
  return divide(x, constants.scale);  // with fused multiply-add, lo = 0 makes a product of it
}

// What becomes of a channel's bytes (one in each 32-bit lane), and how numbers are stored.
struct ToFloat32 {
  using Out = float;
  static HWY_INLINE VF convert(VF value) { return value; }
};

struct ToFloat16 {
  using Out = std::uint16_t;
  static HWY_INLINE auto convert(VF value) {
    return hn::BitCast(hn::Rebind<std::uint16_t, DF>(),
                       hn::DemoteTo(hn::Rebind<hwy::float16_t, DF>(), value));
  }
};

struct ToBfloat16 {
  using Out = std::uint16_t;
  // To nearest even; the numbers are finite.
  static HWY_INLINE auto convert(VF value) {
    const DU d;
    const VU bits = hn::BitCast(d, value);
    const VU odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
    const VU rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7FFF))));
    return hn::DemoteTo(hn::Rebind<std::uint16_t, DF>(), hn::BitCast(DI(), rounded));
  }
};

struct ToUint8 {
  using Out = std::uint8_t;
};

template <class To>
HWY_INLINE auto channel(const PixelConstants& constants, int c, VU bytes) {
  if constexpr (std::is_same_v<To, ToUint8>) {
    return hn::DemoteTo(hn::Rebind<std::uint8_t, DF>(), hn::BitCast(DI(), bytes));
  } else {
    VF value = scaled(constants, hn::ConvertTo(DF(), hn::BitCast(DI(), bytes)));
    if (constants.normalize)
      value = divide(hn::Sub(value, hn::Set(DF(), constants.mean[c])), constants.by_std[c]);
    return To::convert(value);
  }
}

template <class To, bool kFlip, bool kPlanes>
HWY_INLINE void write_row(const PixelConstants& constants, const std::uint8_t* HWY_RESTRICT rgb, int width,
                          std::byte* HWY_RESTRICT out, std::size_t plane_bytes) {
  using Out = typename To::Out;
  const D8 d8;
  const DU d;
  const hn::Rebind<Out, DF> d_out;
  Out* const out0 = reinterpret_cast<Out*>(out);
  Out* const out1 = reinterpret_cast<Out*>(out + plane_bytes);
  Out* const out2 = reinterpret_cast<Out*>(out + 2 * plane_bytes);
  const auto& tables = kFlip ? kTables.mirrored : kTables.forward;
  const V8 red = hn::LoadDup128(d8, tables[0]);
  const V8 green = hn::LoadDup128(d8, tables[1]);
  const V8 blue = hn::LoadDup128(d8, tables[2]);
  for (int x = 0; x < width; x += kLanes) {
    x = std::min(x, width - kLanes);  // the last vector overlaps the one before
    const V8 pixels = load_pixels<kFlip>(rgb + std::ptrdiff_t{kFlip ? width - kLanes - x : x} * 3);
    const auto r = channel<To>(constants, 0, hn::BitCast(d, hn::TableLookupBytesOr0(pixels, red)));
    const auto g = channel<To>(constants, 1, hn::BitCast(d, hn::TableLookupBytesOr0(pixels, green)));
    const auto b = channel<To>(constants, 2, hn::BitCast(d, hn::TableLookupBytesOr0(pixels, blue)));
    if (kPlanes) {
      hn::StoreU(r, d_out, out0 + x);
      hn::StoreU(g, d_out, out1 + x);
      hn::StoreU(b, d_out, out2 + x);
    } else {
      hn::StoreInterleaved3(r, g, b, d_out, out0 + std::ptrdiff_t{x} * 3);
    }
  }
}

template <class To>
HWY_INLINE void write_as(const PixelConstants& constants, const std::uint8_t* rgb, int width, bool flip,
                         std::byte* out, std::size_t plane_bytes) {
  if (constants.layout == Layout::chw) {
    if (flip) return write_row<To, true, true>(constants, rgb, width, out, plane_bytes);
    return write_row<To, false, true>(constants, rgb, width, out, plane_bytes);
  }
  if (flip) return write_row<To, true, false>(constants, rgb, width, out, plane_bytes);
  return write_row<To, false, false>(constants, rgb, width, out, plane_bytes);
}

HWY_ATTR bool write_pixels_target(const PixelConstants& constants, const std::uint8_t* rgb, int width,
                                  bool flip, std::byte* out, std::size_t plane_bytes) {
  if (width < kLanes) return false;
  switch (constants.dtype) {
    case DType::uint8:
      write_as<ToUint8>(constants, rgb, width, flip, out, plane_bytes);
      break;
    case DType::float16:
      write_as<ToFloat16>(constants, rgb, width, flip, out, plane_bytes);
      break;
    case DType::bfloat16:
      write_as<ToBfloat16>(constants, rgb, width, flip, out, plane_bytes);
      break;
    case DType::float32:
      write_as<ToFloat32>(constants, rgb, width, flip, out, plane_bytes);
      break;
  }
  return true;
}

#endif  // HWY_TARGET

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pyfastdl
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyfastdl {

HWY_EXPORT(write_pixels_target);

bool write_pixels(const PixelConstants& constants, const std::uint8_t* rgb, int width, bool flip,
                  std::byte* out, std::size_t plane_bytes) {
  return HWY_DYNAMIC_DISPATCH(write_pixels_target)(constants, rgb, width, flip, out, plane_bytes);
}

}  // namespace pyfastdl
#endif  // HWY_ONCE
