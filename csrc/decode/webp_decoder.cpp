#include "decode/webp_decoder.h"

#include <webp/decode.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "decode/exif.h"
#include "decode/limits.h"
#include "decode/sniff.h"

namespace pyfastdl {
namespace {

constexpr std::size_t kKeptPixels = 1u << 20;

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
  lossless_ = features.format != 1;  // 0: undefined or mixed
  alpha_ = features.has_alpha != 0;
  return check_pixels(size_, limits);
}

void WebpDecoder::close() { pixels_.trim(kKeptPixels); }

// The region, and what libwebp holds of the whole image: every pixel of a lossless one; of a lossy one's transparency,
// which is coded without loss, two planes.
std::uint64_t WebpDecoder::start_bytes(const Region& region) const {
  const auto pixels = [](Size size) {
    return static_cast<std::uint64_t>(size.height) * static_cast<std::uint64_t>(size.width);
  };
  const std::uint64_t held = lossless_ ? kPixelBytes : alpha_ ? 2 : 0;
  return pixels(with_margin(region, size_).size()) * kPixelBytes + pixels(size_) * held;
}

// Only the extended format has metadata (RFC 9649, 2.7): its flags say which chunks count, and the first of a kind does.
std::optional<int> WebpDecoder::orientation() const {
  constexpr std::size_t kFirstChunk = 12;
  constexpr std::uint8_t kExifFlag = 0x08, kXmpFlag = 0x04;
  const auto named = [this](std::size_t at, const char* name) {
    return std::memcmp(bytes_.data() + at, name, 4) == 0;
  };
  if (bytes_.size() < kFirstChunk + 18 || !named(kFirstChunk, "VP8X")) return 1;
  const std::uint8_t flags = bytes_[kFirstChunk + 8];
  std::span<const std::uint8_t> exif, xmp;
  bool has_exif = (flags & kExifFlag) == 0, has_xmp = (flags & kXmpFlag) == 0;
  for (std::size_t at = kFirstChunk; bytes_.size() - at >= 8;) {
    const std::size_t size = little_endian(bytes_.data() + at + 4);
    if (size > bytes_.size() - at - 8) return std::nullopt;
    const std::span<const std::uint8_t> data = bytes_.subspan(at + 8, size);
    if (!has_exif && named(at, "EXIF")) {
      exif = data;
      has_exif = true;
    } else if (!has_xmp && named(at, "XMP ")) {
      xmp = data;
      has_xmp = true;
    }
    at += std::min(8 + size + size % 2, bytes_.size() - at);
  }
  return orientation_of(exif, xmp);
}

Status WebpDecoder::start(const Region& region) {
  region_ = region;
  decoded_ = with_margin(region, size_);
  next_row_ = 0;
  const std::size_t stride = static_cast<std::size_t>(decoded_.width) * kPixelBytes;
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
