// JpegDecoder: JPEG, equal to Pillow bit by bit, decoding little more than the region asked for.
//
// Two engines. Our own (BaselineJpeg) decodes the common kind of file, and only as long as everything is as it
// should be; libjpeg-turbo (LibjpegRows) has all other files. At the first anomaly libjpeg takes over in the middle of
// the file: it decodes what was handed out already once more, and goes on from there. So each failure, each
// repaired file and each limit is libjpeg's, whichever engine began.
//
// shrink() makes it faster and inexact: libjpeg's inverse DCT gives fewer pixels, and chroma is spread out by
// repetition.
//
// One thread. Owns both engines and a row of scratch; borrows the encoded bytes. Nothing blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/byte_buffer.h"
#include "decode/decoder.h"
#include "decode/jpeg_baseline.h"
#include "decode/jpeg_markers.h"
#include "decode/libjpeg_rows.h"

namespace pyfastdl {

// Which engine decodes: our own where it is exact (the default), or always libjpeg (for tests and measurements).
enum class JpegEngine { own_where_exact, libjpeg };

class JpegDecoder final : public Decoder {
 public:
  Status open(std::span<const std::uint8_t> bytes, const DecodeLimits& limits) override;
  void close() override { library_.close(); }
  std::optional<int> orientation() const override;
  Size size() const override { return size_; }
  bool shrink(int eighths) override;
  std::uint64_t start_bytes(const Region&) const override { return library_.start_bytes(); }
  Status start(const Region& region) override;
  std::size_t row_bytes() const override { return row_bytes_; }
  std::size_t row_offset() const override { return row_offset_; }
  Status read_rows(std::uint8_t* const* rows, int count) override;
  Status finish() override;

  // From the next start() on.
  void set_regions(JpegRegions regions) { regions_ = regions; }
  void set_engine(JpegEngine engine) { wanted_ = engine; }

  bool last_was_region() const override;

  const char* full_decode_reason() const override;

  // Of the last image that was started; it may change hands in the middle.
  bool used_libjpeg() const override { return started_ && !own_; }

 private:
  Status hand_over();
  Status copy_rows(std::uint8_t* const* rows, int count);

  LibjpegRows library_;
  BaselineJpeg baseline_;
  std::span<const std::uint8_t> bytes_;
  Size size_;
  Region region_;
  std::size_t row_bytes_ = 0;
  std::size_t row_offset_ = 0;
  JpegMarkers markers_;
  JpegEngine wanted_ = JpegEngine::own_where_exact;
  JpegRegions regions_ = JpegRegions::where_exact;
  bool started_ = false;
  bool own_ = false;
  bool handed_over_ = false;
  ByteBuffer row_;
};

}  // namespace pyfastdl
