// Brightness, contrast, saturation, gray and channels' extrema on packed RGB in place: vector code, chosen at run time for the CPU at hand
// (Highway). Bit-equal to Pillow's ImageEnhance and convert("L"); see blend.h. Pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pyfastdl {

// Image.blend of an image of one level with this one.
void blend_with_level(std::uint8_t* bytes, std::size_t count, std::uint8_t level, float factor);

// Image.blend of the gray image with this one.
void blend_with_gray(std::uint8_t* rgb, std::size_t pixels, float factor);

// Every pixel becomes three times its gray.
void to_gray(std::uint8_t* rgb, std::size_t pixels);

// The sum of all grays.
std::uint64_t gray_sum(const std::uint8_t* rgb, std::size_t pixels);

struct ChannelExtrema {
  std::array<std::uint8_t, 3> low{255, 255, 255}, high{0, 0, 0};
};

// The lowest and the highest byte of each channel.
ChannelExtrema channel_extrema(const std::uint8_t* rgb, std::size_t pixels);

}  // namespace pyfastdl
