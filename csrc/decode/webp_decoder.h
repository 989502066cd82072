// WebpDecoder: still WebP by libwebp, equal to Pillow's convert("RGB"): transparency dropped, not composited.
//
// One thread. Owns the pixels of the region (libwebp gives no rows); borrows the encoded bytes. Nothing
// blocks. Animations are left to Pillow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/byte_buffer.h"
#include "decode/decoder.h"

namespace pyfastdl {

class WebpDecoder final : public Decoder {
 public:
  Status open(std::span<const std::uint8_t> bytes, const DecodeLimits& limits) override;
  void close() override;
  std::optional<int> orientation() const override;
  Size size() const override { return size_; }
  std::uint64_t start_bytes(const Region& region) const override;
  Status start(const Region& region) override;
  std::size_t row_bytes() const override { return static_cast<std::size_t>(region_.width) * kPixelBytes; }
  std::size_t row_offset() const override { return 0; }
  Status read_rows(std::uint8_t* const* rows, int count) override;
  Status finish() override { return {}; }
  bool last_was_region() const override { return region_ != whole(size_); }

 private:
  std::span<const std::uint8_t> bytes_;
  Size size_;
  bool lossless_ = false;
  bool alpha_ = false;
  Region region_;
  Region decoded_;  // what pixels_ holds: the region and a margin
  int next_row_ = 0;
  ByteBuffer pixels_;
};

}  // namespace pyfastdl
