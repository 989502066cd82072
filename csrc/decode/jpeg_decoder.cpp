#include "decode/jpeg_decoder.h"

#include <cstring>
#include <new>
#include <string>

#include "decode/exif.h"
#include "decode/limits.h"
#include "decode/sniff.h"

namespace pyfastdl {

Status JpegDecoder::open(std::span<const std::uint8_t> bytes, const DecodeLimits& limits) {
  size_ = {};
  started_ = own_ = handed_over_ = false;
  if (sniff(bytes) != Codec::jpeg) return {Errc::bad_data, "wanted a JPEG image, got " + describe(bytes)};
  bytes_ = bytes;
  markers_ = find_markers(bytes);
  if (markers_.foreign >= 0) {
    return {Errc::bad_data, "broken JPEG: a marker of unknown code " + std::to_string(markers_.foreign) +
                                " stands before the image data"};
  }
  if (Status s = library_.open(bytes, limits); !s.ok()) return s;
  size_ = library_.size();
  return {};
}

std::optional<int> JpegDecoder::orientation() const {
  if (markers_.exif_segments > 1) return std::nullopt;
  return orientation_of(markers_.exif, markers_.xmp);
}

bool JpegDecoder::shrink(int eighths) {
  if (!library_.shrink(eighths)) return false;
  size_ = library_.size();
  return true;
}

// JpegRegions::never is about libjpeg: a file whose regions are not to be decoded as such is not for our engine either.
Status JpegDecoder::start(const Region& region) {
  region_ = region;
  started_ = true;
  handed_over_ = false;
  const bool may = wanted_ == JpegEngine::own_where_exact && !library_.shrunk() &&
                   (regions_ != JpegRegions::never || region == whole(size_));
  own_ = may && baseline_.start(library_.header(), region);
  if (own_) {
    row_bytes_ = baseline_.row_bytes();
    row_offset_ = baseline_.row_offset();
    return {};
  }
  if (Status s = library_.start(region, regions_); !s.ok()) return s;
  row_bytes_ = library_.row_bytes();
  row_offset_ = library_.row_offset();
  return {};
}

Status JpegDecoder::read_rows(std::uint8_t* const* rows, int count) {
  if (own_) {
    const int done = baseline_.read_rows(rows, count);
    if (done == count) return {};
    if (Status s = hand_over(); !s.ok()) return s;
    rows += done;
    count -= done;
  }
  return handed_over_ ? copy_rows(rows, count) : library_.read_rows(rows, count);
}

Status JpegDecoder::finish() {
  if (own_) {
    // Pillow reads every row, so a file that is cut off below the region is an error.
    if (region_.bottom() == size_.height || ends_in_eoi(bytes_) || baseline_.read_to_end()) return {};
    if (Status s = hand_over(); !s.ok()) return s;
  }
  return library_.finish();
}

bool JpegDecoder::last_was_region() const {
  if (!started_) return false;
  return own_ ? region_ != whole(size_) : library_.partial();
}

const char* JpegDecoder::full_decode_reason() const {
  return started_ && !own_ ? library_.full_decode_reason() : nullptr;
}

// Brings libjpeg to the row where our engine stopped, the same way as if it had begun.
Status JpegDecoder::hand_over() {
  own_ = false;
  handed_over_ = true;
  if (Status s = library_.start(region_, regions_); !s.ok()) return s;
  return library_.drop_rows(baseline_.rows_read());
}

// libjpeg's rows, in the layout that our engine promised.
Status JpegDecoder::copy_rows(std::uint8_t* const* rows, int count) {
  try {
    row_.resize(library_.row_bytes());
  } catch (const std::bad_alloc&) {
    return out_of_memory("one row", size_);
  }
  std::uint8_t* row = row_.data();
  for (int i = 0; i < count; ++i) {
    if (Status s = library_.read_rows(&row, 1); !s.ok()) return s;
    std::memcpy(rows[i] + row_offset_, row + library_.row_offset(),
                static_cast<std::size_t>(region_.width) * kPixelBytes);
  }
  return {};
}

}  // namespace pyfastdl
