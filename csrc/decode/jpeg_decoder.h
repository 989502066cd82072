// JpegDecoder: JPEG by libjpeg-turbo, equal to Pillow bit by bit, decoding little more than the region asked
// for.
//
// One thread. Owns the libjpeg object and at most one row of scratch; borrows the encoded bytes. Nothing
// blocks. Rows stream: memory grows with the width, but for files of several scans, whose coefficients libjpeg
// holds whole: start_bytes() says how many bytes those are.
//
// shrink() makes it faster and inexact: the inverse DCT gives fewer pixels, and chroma is spread out by repetition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/byte_buffer.h"
#include "decode/decoder.h"
#include "decode/jpeg_markers.h"
#include "decode/jpeg_session.h"

namespace pyfastdl {

// When to decode only a part: where it is known to be exact (the default), always (for tests), never (for
// measurements, or under suspicion).
enum class JpegRegions { where_exact, always, never };

class JpegDecoder final : public Decoder {
 public:
  Status open(std::span<const std::uint8_t> bytes, const DecodeLimits& limits) override;
  void close() override { session_.close(); }
  std::optional<int> orientation() const override;
  Size size() const override { return size_; }
  bool shrink(int eighths) override;
  std::uint64_t start_bytes(const Region& region) const override;
  Status start(const Region& region) override;
  std::size_t row_bytes() const override { return row_bytes_; }
  std::size_t row_offset() const override { return row_offset_; }
  Status read_rows(std::uint8_t* const* rows, int count) override;
  Status finish() override;

  void set_regions(JpegRegions regions) { regions_ = regions; }

  bool last_was_region() const override { return partial_; }

  // Why the last region smaller than its image was decoded in full; nullptr if it was not.
  const char* full_decode_reason() const { return full_reason_; }

 private:
  const char* distrust() const;
  bool lacks_coefficients() const;
  Status skip_rows(int count);
  Status drop_rows(int count);
  Status cut_off() const;

  JpegSession session_;
  std::span<const std::uint8_t> bytes_;
  Size size_;
  Region region_;
  std::size_t row_bytes_ = 0;
  std::size_t row_offset_ = 0;
  JpegMarkers markers_;
  bool cmyk_ = false;
  bool several_scans_ = false;
  bool shrunk_ = false;
  JpegRegions regions_ = JpegRegions::where_exact;
  bool partial_ = false;
  const char* full_reason_ = nullptr;
  ByteBuffer dropped_row_;
};

}  // namespace pyfastdl
