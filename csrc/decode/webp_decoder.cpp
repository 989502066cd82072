#include "decode/webp_decoder.h"

#include <webp/decode.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "decode/limits.h"
#include "decode/sniff.h"

namespace pyfastdl {
namespace {

constexpr std::size_t kKeptPixels = 16u << 20;

// Lossy files have half as many chroma samples, and upsampling looks one of them further.
constexpr int kMargin = 2;

Region with_margin(const Region& region, Size size) {
  const int top = std::max(region.top - kMargin, 0) & ~1;
  const int left = std::max(region.left - kMargin, 0) & ~1;
  const int bottom = std::min(region.bottom() + kMargin, size.height);
  const int right = std::min(region.right() + kMargin, size.width);
  return {top, left, bottom - top, right - left};
}

std::size_t little_endian(const std::uint8_t* p) {
  return static_cast<std::size_t>(p[0]) | static_cast<std::size_t>(p[1]) << 8 |
         static_cast<std::size_t>(p[2]) << 16 | static_cast<std::size_t>(p[3]) << 24;
}

Status failure(VP8StatusCode code, Size size) {
  switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return out_of_memory("libwebp", size);
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return {Errc::bad_data, "the WebP file is cut off"};
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return {Errc::bad_data, "broken WebP: it asks for a feature that does not exist"};
    default:
      return {Errc::bad_data, "broken WebP: its data do not decode"};
  }
}

}  // namespace

Status WebpDecoder::open(std::span<const std::uint8_t> bytes, const DecodeLimits& limits) {
  size_ = {};
  region_ = {};
  if (sniff(bytes) != Codec::webp) return {Errc::bad_data, "wanted a WebP image, got " + describe(bytes)};
  // The container says how long the file is. Bytes behind it don't count.
  const std::size_t claimed = little_endian(bytes.data() + 4) + 8;
  if (claimed > bytes.size()) {
    return {Errc::bad_data, "the WebP file is cut off: it has " + std::to_string(bytes.size()) +
                                " bytes of " + std::to_string(claimed)};
  }
  WebPBitstreamFeatures features;
  const VP8StatusCode code = WebPGetFeatures(bytes.data(), bytes.size(), &features);
  if (code != VP8_STATUS_OK) return failure(code, size_);
  if (features.has_animation != 0) return {Errc::unsupported, "an animated WebP is left to Pillow"};
  bytes_ = bytes.first(claimed);
  size_ = {features.height, features.width};
  return check_pixels(size_, limits);
}

Status WebpDecoder::start(const Region& region) {
  region_ = region;
  decoded_ = with_margin(region, size_);
  next_row_ = 0;
  const std::size_t stride = static_cast<std::size_t>(decoded_.width) * kPixelBytes;
  pixels_.trim(kKeptPixels);
  try {
    pixels_.resize(stride * static_cast<std::size_t>(decoded_.height));
  } catch (const std::bad_alloc&) {
    return out_of_memory("the pixels", size_);
  }
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) {
    return {Errc::unsupported, "the libwebp in this process is not the one that pyfastdl was built with"};
  }
  if (decoded_ != whole(size_)) {
    config.options.use_cropping = 1;
    config.options.crop_left = decoded_.left;
    config.options.crop_top = decoded_.top;
    config.options.crop_width = decoded_.width;
    config.options.crop_height = decoded_.height;
  }
  // Alpha is decoded, though nobody reads it: a file whose alpha is broken is an error for Pillow.
  config.output.colorspace = MODE_RGBA;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = pixels_.data();
  config.output.u.RGBA.stride = static_cast<int>(stride);
  config.output.u.RGBA.size = pixels_.size();
  const VP8StatusCode code = WebPDecode(bytes_.data(), bytes_.size(), &config);
  WebPFreeDecBuffer(&config.output);
  return code == VP8_STATUS_OK ? Status() : failure(code, size_);
}

Status WebpDecoder::read_rows(std::uint8_t* const* rows, int count) {
  const std::size_t stride = static_cast<std::size_t>(decoded_.width) * kPixelBytes;
  const std::uint8_t* from = pixels_.data() +
                             static_cast<std::size_t>(region_.top - decoded_.top + next_row_) * stride +
                             static_cast<std::size_t>(region_.left - decoded_.left) * kPixelBytes;
  for (int i = 0; i < count; ++i)
    std::memcpy(rows[i], from + static_cast<std::size_t>(i) * stride, row_bytes());
  next_row_ += count;
  return {};
}

}  // namespace pyfastdl
