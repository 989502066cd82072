// Pillow's way from RGB to HSV and back for one pixel, with the hue turned between: what the vector kernel must equal, and
// what it uses for the last few pixels. Pure functions; any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pyfastdl {

// What torchvision adds to the hue's byte: factor * 255 cut off, around the circle.
// REQUIRES: a factor of -0.5 to 0.5.
inline std::uint8_t hue_shift(double factor) {
  return static_cast<std::uint8_t>(static_cast<int>(factor * 255));
}

// The precisions are Pillow's: single where it keeps a float, double in between.
inline void turn_hue(std::uint8_t* rgb, std::uint8_t shift) {
  const int r = rgb[0], g = rgb[1], b = rgb[2];
  const int high = std::max({r, g, b}), low = std::min({r, g, b});
  if (high == low) return;  // no saturation: the value alone comes back
  const auto range = static_cast<float>(high - low);
  const auto share = [&](int channel) { return static_cast<float>(high - channel) / range; };
  const float red = share(r), green = share(g), blue = share(b);
  // In sixths of the circle.
  const float sixths = r == high   ? blue - green
                       : g == high ? static_cast<float>(2.0 + red - blue)
                                   : static_cast<float>(4.0 + green - red);
  const auto turns = static_cast<float>(std::fmod(sixths / 6.0 + 1.0, 1.0));
  const auto hue = static_cast<std::uint8_t>(static_cast<int>(turns * 255.0) + shift);
  const int saturation = static_cast<int>(static_cast<double>(range / static_cast<float>(high)) * 255.0);

  // Back. Nothing leaves 0 to 255, and no product is halfway between two integers.
  const int sector = hue * 6 / 255;
  const auto within = static_cast<float>(hue * 6.0 / 255.0 - sector);
  const auto s = static_cast<float>(saturation / 255.0);
  const auto byte = [&](double share_of_value) {
    return static_cast<std::uint8_t>(std::round(high * share_of_value));
  };
  const auto v = static_cast<std::uint8_t>(high);
  const std::uint8_t p = byte(1.0 - s);
  const std::uint8_t w = sector % 2 != 0 ? byte(1.0 - s * within) : byte(1.0 - s * (1.0 - within));
  const auto put = [rgb](std::uint8_t red_byte, std::uint8_t green_byte, std::uint8_t blue_byte) {
    rgb[0] = red_byte;
    rgb[1] = green_byte;
    rgb[2] = blue_byte;
  };
  switch (sector % 6) {
    case 0:
      return put(v, w, p);
    case 1:
      return put(w, v, p);
    case 2:
      return put(p, v, w);
    case 3:
      return put(p, w, v);
    case 4:
      return put(w, p, v);
    default:
      return put(v, p, w);
  }
}

}  // namespace pyfastdl
