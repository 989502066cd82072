#include "base/pixels_source.h"

#include <bit>
#include <cstring>

namespace pyfastdl {

void PixelsSource::reset(const std::uint8_t* pixels, Size size, int channels, std::ptrdiff_t stride) {
  pixels_ = pixels;
  size_ = size;
  channels_ = channels;
  stride_ = stride;
  region_ = {};
  next_row_ = 0;
}

Status PixelsSource::start(const Region& region) {
  region_ = region;
  next_row_ = region.top;
  return {};
}

std::size_t PixelsSource::row_bytes() const { return static_cast<std::size_t>(region_.width) * kPixelBytes; }

Status PixelsSource::read_rows(std::uint8_t* const* rows, int count) {
  for (int i = 0; i < count; ++i, ++next_row_) {
    const std::uint8_t* from = pixels_ + next_row_ * stride_ + std::ptrdiff_t{region_.left} * channels_;
    if (channels_ == 3) {
      rgb_to_rgbx(from, rows[i], region_.width);
    } else {
      std::memcpy(rows[i], from, row_bytes());
    }
  }
  return {};
}

void rgb_to_rgbx(const std::uint8_t* rgb, std::uint8_t* rgbx, int count) {
  if constexpr (std::endian::native == std::endian::little) {
    // A load of 4 bytes for each pixel of 3: the last pixel would read one byte too many.
    for (; count > 1; --count, rgb += 3, rgbx += 4) {
      std::uint32_t pixel;
      std::memcpy(&pixel, rgb, 4);
      pixel |= 0xFF000000u;
      std::memcpy(rgbx, &pixel, 4);
    }
  }
  for (; count > 0; --count, rgb += 3, rgbx += 4) {
    rgbx[0] = rgb[0];
    rgbx[1] = rgb[1];
    rgbx[2] = rgb[2];
    rgbx[3] = 255;
  }
}

}  // namespace pyfastdl
