#include "decode/jpeg_decoder.h"

#include <algorithm>
#include <new>
#include <string>

#include "decode/exif.h"
#include "decode/jpeg_trust.h"
#include "decode/limits.h"
#include "decode/sniff.h"

namespace pyfastdl {
namespace {

int lossless_block_size(const jpeg_component_info& component) {
#if JPEG_LIB_VERSION >= 70
  return component.DCT_h_scaled_size;
#else
  return component.DCT_scaled_size;
#endif
}

// Why Pillow should have this file, or nullptr. REQUIRES: the header was read.
const char* foreign_kind(const jpeg_decompress_struct& info) {
  if (info.data_precision != 8) return "more than 8 bits a sample";
  if (info.arith_code) return "arithmetic coding";
  // Lossless files have no blocks: libjpeg-turbo 3 then works in units of one sample.
  if (lossless_block_size(info.comp_info[0]) != DCTSIZE) return "lossless coding";
  if (info.num_components != 1 && info.num_components != 3 && info.num_components != 4) {
    return "a number of components other than 1, 3 or 4";
  }
  return nullptr;
}

// What Pillow does to four components: it takes them for Adobe's inverted CMYK, marked or not.
void cmyk_to_rgbx(std::uint8_t* row, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kPixelBytes) {
    const unsigned k = row[i + 3];
    for (std::size_t c = 0; c < 3; ++c) {
      const unsigned product = (255u - row[i + c]) * k + 128u;
      row[i + c] = static_cast<std::uint8_t>(k - ((product + (product >> 8)) >> 8));
    }
  }
}

}  // namespace

Status JpegDecoder::open(std::span<const std::uint8_t> bytes, const DecodeLimits& limits) {
  size_ = {};
  partial_ = shrunk_ = false;
  full_reason_ = nullptr;
  if (sniff(bytes) != Codec::jpeg) return {Errc::bad_data, "wanted a JPEG image, got " + describe(bytes)};
  bytes_ = bytes;
  markers_ = find_markers(bytes);
  if (markers_.foreign >= 0) {
    return {Errc::bad_data, "broken JPEG: a marker of unknown code " + std::to_string(markers_.foreign) +
                                " stands before the image data"};
  }
  if (Status s = session_.open(bytes, limits.max_scans); !s.ok()) return s;

  jpeg_decompress_struct& info = session_.info;
  int header = JPEG_SUSPENDED;
  const bool ok = session_.run([&] {
    do {
      header = jpeg_read_header(&info, FALSE);
    } while (header == JPEG_HEADER_TABLES_ONLY);
    several_scans_ = header == JPEG_HEADER_OK && jpeg_has_multiple_scans(&info) != FALSE;
  });
  if (!ok) return session_.failure();
  if (header != JPEG_HEADER_OK) {
    return {Errc::bad_data,
            "the JPEG file is cut off in its header (" + std::to_string(bytes.size()) + " bytes)"};
  }
  if (const char* kind = foreign_kind(info)) {
    return {Errc::unsupported, std::string("a JPEG with ") + kind + " is left to Pillow"};
  }
  size_ = {static_cast<int>(info.image_height), static_cast<int>(info.image_width)};
  return check_pixels(size_, limits);
}

std::optional<int> JpegDecoder::orientation() const {
  if (markers_.exif_segments > 1) return std::nullopt;
  return orientation_of(markers_.exif, markers_.xmp);
}

bool JpegDecoder::shrink(int eighths) {
  jpeg_decompress_struct& info = session_.info;
  const bool ok = session_.run([&] {
    info.scale_num = static_cast<unsigned>(eighths);
    info.scale_denom = 8;
    jpeg_calc_output_dimensions(&info);
  });
  if (!ok) return false;
  shrunk_ = true;
  size_ = {static_cast<int>(info.output_height), static_cast<int>(info.output_width)};
  return true;
}

// The coefficients of all components, in whole iMCUs, as libjpeg allocates them before it decodes the first of several
// scans.
std::uint64_t JpegDecoder::start_bytes(const Region&) const {
  if (!several_scans_) return 0;
  const jpeg_decompress_struct& info = session_.info;
  const auto blocks = [](std::uint64_t side, int most, int factor) {
    const std::uint64_t mcu = static_cast<std::uint64_t>(most) * DCTSIZE;
    return (side + mcu - 1) / mcu * static_cast<std::uint64_t>(factor);
  };
  std::uint64_t bytes = 0;
  for (int c = 0; c < info.num_components; ++c) {
    const jpeg_component_info& component = info.comp_info[c];
    bytes += blocks(info.image_height, info.max_v_samp_factor, component.v_samp_factor) *
             blocks(info.image_width, info.max_h_samp_factor, component.h_samp_factor) * sizeof(JBLOCK);
  }
  return bytes;
}

// Why a part of this image would not equal the whole decoded and cropped, or nullptr.
const char* JpegDecoder::distrust() const {
  if (regions_ == JpegRegions::always) return nullptr;
  if (regions_ == JpegRegions::never) return "a full decode was asked for";
  return jpeg_regions_untrusted();
}

// Whether a progressive file ended before all its coefficients were there in full. Bits still to come are > 0, unknown
// ones < 0. REQUIRES: decompression started.
bool JpegDecoder::lacks_coefficients() const {
  const jpeg_decompress_struct& info = session_.info;
  if (!info.progressive_mode || info.coef_bits == nullptr) return false;
  for (int c = 0; c < info.num_components; ++c) {
    const int* bits = info.coef_bits[c];
    if (std::any_of(bits, bits + DCTSIZE2, [](int left) { return left != 0; })) return true;
  }
  return false;
}

Status JpegDecoder::start(const Region& region) {
  jpeg_decompress_struct& info = session_.info;
  region_ = region;
  partial_ = false;
  full_reason_ = nullptr;
  cmyk_ = info.num_components == 4;

  boolean started = FALSE;
  bool ok = session_.run([&] {
    info.out_color_space = cmyk_ ? JCS_CMYK : JCS_EXT_RGBX;
    info.dct_method = JDCT_ISLOW;
    info.do_fancy_upsampling = shrunk_ ? FALSE : TRUE;
    started = jpeg_start_decompress(&info);
  });
  if (!ok) return session_.failure();
  if (!started) return cut_off();
  // libjpeg then smooths over block edges, and its versions do that differently.
  if (lacks_coefficients()) {
    return {Errc::unsupported, "a progressive JPEG that lacks scans is left to Pillow"};
  }

  if (region != whole(size_)) full_reason_ = distrust();
  partial_ = region != whole(size_) && full_reason_ == nullptr;

  int first_column = 0;
  if (partial_ && region.width < size_.width) {
    // One iMCU column more on each side: upsampling looks at its neighbours.
    const int margin = info.max_h_samp_factor * DCTSIZE;
    JDIMENSION x = static_cast<JDIMENSION>(std::max(region.left - margin, 0));
    JDIMENSION width = static_cast<JDIMENSION>(std::min(region.right() + margin, size_.width)) - x;
    ok = session_.run([&] { jpeg_crop_scanline(&info, &x, &width); });
    if (!ok) return session_.failure();
    first_column = static_cast<int>(x);
  }
  row_bytes_ = static_cast<std::size_t>(info.output_width) * kPixelBytes;
  row_offset_ = static_cast<std::size_t>(region.left - first_column) * kPixelBytes;
  return skip_rows(region.top);
}

Status JpegDecoder::skip_rows(int count) {
  if (count == 0) return {};
  if (!partial_) return drop_rows(count);
  jpeg_decompress_struct& info = session_.info;
  if (!session_.run([&] { jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(count)); }))
    return session_.failure();
  // Skipping does not say when it runs out of data, so ask the source.
  return session_.starved() ? cut_off() : Status();
}

Status JpegDecoder::drop_rows(int count) {
  try {
    dropped_row_.resize(row_bytes_);
  } catch (const std::bad_alloc&) {
    return out_of_memory("one row", size_);
  }
  jpeg_decompress_struct& info = session_.info;
  JSAMPROW row = dropped_row_.data();
  int left = count;
  const bool ok = session_.run([&] {
    while (left > 0 && jpeg_read_scanlines(&info, &row, 1) == 1) --left;
  });
  if (!ok) return session_.failure();
  return left > 0 ? cut_off() : Status();
}

Status JpegDecoder::read_rows(std::uint8_t* const* rows, int count) {
  jpeg_decompress_struct& info = session_.info;
  int done = 0;
  const bool ok = session_.run([&] {
    while (done < count) {
      const JDIMENSION got = jpeg_read_scanlines(&info, const_cast<JSAMPARRAY>(rows + done),
                                                 static_cast<JDIMENSION>(count - done));
      if (got == 0) break;
      done += static_cast<int>(got);
    }
  });
  if (!ok) return session_.failure();
  if (done < count) return cut_off();
  if (cmyk_) {
    for (int i = 0; i < count; ++i) cmyk_to_rgbx(rows[i], row_bytes_);
  }
  return {};
}

// Pillow reads every row, so a file that is cut off below the region is an error. An end marker as the last
// bytes proves that nothing is cut off; without it (trailing junk, the marker itself missing) the decoder
// must tell.
Status JpegDecoder::finish() {
  jpeg_decompress_struct& info = session_.info;
  const int below = size_.height - region_.bottom();
  if (below > 0) {
    const std::size_t n = bytes_.size();
    if (n >= 2 && bytes_[n - 2] == 0xFF && bytes_[n - 1] == JPEG_EOI) return {};
    // Skipping up to the end would read nothing at all: the last row must be asked for.
    if (Status s = skip_rows(below - 1); !s.ok()) return s;
    if (Status s = drop_rows(1); !s.ok()) return s;
  }
  // Behind the last row only errors count: Pillow does not mind a missing end marker.
  return session_.run([&] { (void)jpeg_finish_decompress(&info); }) ? Status() : session_.failure();
}

Status JpegDecoder::cut_off() const {
  return {Errc::bad_data, "the JPEG file is cut off: its " + std::to_string(bytes_.size()) +
                              " bytes end in row " + std::to_string(session_.info.output_scanline) + " of " +
                              std::to_string(size_.height)};
}

}  // namespace pyfastdl
