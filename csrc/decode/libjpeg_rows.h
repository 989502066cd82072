// LibjpegRows: rows of a region of a JPEG by libjpeg-turbo. It decodes every file that there is, and what it says is
// the reference for the decoder of our own.
//
// One thread. Owns the libjpeg object and at most one row of scratch; borrows the encoded bytes. Nothing
// blocks. Rows stream: memory grows with the width, but for files of several scans, whose coefficients libjpeg
// holds whole: start_bytes() says how many bytes those are. After an error: open() again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/byte_buffer.h"
#include "decode/decoder.h"
#include "decode/jpeg_session.h"

namespace pyfastdl {

// When libjpeg decodes only a part: where it is known to be exact (the default), always (for tests), never (for
// measurements, or under suspicion).
enum class JpegRegions { where_exact, always, never };

// An end marker as the last bytes proves that nothing is cut off.
inline bool ends_in_eoi(std::span<const std::uint8_t> bytes) {
  const std::size_t n = bytes.size();
  return n >= 2 && bytes[n - 2] == 0xFF && bytes[n - 1] == JPEG_EOI;
}

class LibjpegRows {
 public:
  // Reads the header, up to the first scan's data.
  Status open(std::span<const std::uint8_t> bytes, const DecodeLimits& limits);

  // The header, as libjpeg understands it. REQUIRES: open() succeeded.
  const jpeg_decompress_struct& header() const { return session_.info; }
  Size size() const { return size_; }

  // Gives back what the image took.
  void close() { session_.close(); }

  // As in RowSource, before start().
  bool shrink(int eighths);
  bool shrunk() const { return shrunk_; }
  std::uint64_t start_bytes() const;

  // As in RowSource; once after each open().
  Status start(const Region& region, JpegRegions regions);
  std::size_t row_bytes() const { return row_bytes_; }
  std::size_t row_offset() const { return row_offset_; }
  Status read_rows(std::uint8_t* const* rows, int count);
  Status finish();

  // Reads the next rows and drops them.
  Status drop_rows(int count);

  // Whether the last start() could leave out pixels around its region.
  bool partial() const { return partial_; }

  // Why the last region smaller than its image was decoded in full; nullptr if it was not.
  const char* full_decode_reason() const { return full_reason_; }

 private:
  bool lacks_coefficients() const;
  Status skip_rows(int count);
  Status cut_off() const;

  JpegSession session_;
  std::span<const std::uint8_t> bytes_;
  Size size_;
  Region region_;
  std::size_t row_bytes_ = 0;
  std::size_t row_offset_ = 0;
  bool cmyk_ = false;
  bool several_scans_ = false;
  bool shrunk_ = false;
  bool partial_ = false;
  const char* full_reason_ = nullptr;
  ByteBuffer dropped_row_;
};

}  // namespace pyfastdl
