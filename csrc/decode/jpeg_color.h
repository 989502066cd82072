// From samples to RGBX rows: libjpeg's "fancy" upsampling and its YCbCr conversion, bit by bit.
//
// Upsampling: the nearer of two samples counts three times the farther one, in each direction; roundings alternate
// from pixel to pixel so that they don't add up (libjpeg's jdsample.c says which way). Colours: ITU T.871 with
// 16-bit fractions, rounded: R = Y + 1.402 Cr, B = Y + 1.772 Cb, G = Y - 0.344136 Cb - 0.714136 Cr (libjpeg's
// constants: 0.34414, 0.71414).
//
// Pure functions; any thread. They work on groups of kColorGroup pixels and read and write whole groups, so every row
// has room for that. Upsampling across reads one sample more on each side: at the image's edges, the sample at the edge
// again.
#pragma once

#include <cstdint>

namespace pyfastdl {

inline constexpr int kColorGroup = 32;

void gray_to_rgbx(const std::uint8_t* gray, int pixels, std::uint8_t* out);

void ycc_to_rgbx(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, int pixels,
                 std::uint8_t* out);

// Twice as wide: `pixels` of them.
void upsample_across(const std::uint8_t* in, int pixels, std::uint8_t* out);

// Between two rows: `near` counts three times. bias: 1 where `far` is above, 2 where it is below.
void upsample_down(const std::uint8_t* near, const std::uint8_t* far, int bias, int pixels,
                   std::uint8_t* out);

// Both, rounded once.
void upsample_both(const std::uint8_t* near, const std::uint8_t* far, int pixels, std::uint8_t* out);

}  // namespace pyfastdl
