// PixelsSource: pixels in memory as a RowSource. RGB (3 bytes a pixel) or RGBX (4), rows `stride` bytes apart.
//
// The pixels are borrowed: they must stay alive and unchanged while rows are read. One thread; nothing blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/row_source.h"

namespace pyfastdl {

class PixelsSource : public RowSource {
 public:
  PixelsSource() = default;
  // REQUIRES: channels is 3 or 4.
  PixelsSource(const std::uint8_t* pixels, Size size, int channels, std::ptrdiff_t stride) {
    reset(pixels, size, channels, stride);
  }

  void reset(const std::uint8_t* pixels, Size size, int channels, std::ptrdiff_t stride);

  Size size() const override { return size_; }
  bool in_memory() const override { return true; }
  Status start(const Region& region) override;
  std::size_t row_bytes() const override;
  std::size_t row_offset() const override { return 0; }
  Status read_rows(std::uint8_t* const* rows, int count) override;
  Status finish() override { return {}; }

 private:
  const std::uint8_t* pixels_ = nullptr;
  Size size_;
  int channels_ = 4;
  std::ptrdiff_t stride_ = 0;
  Region region_;
  int next_row_ = 0;
};

// Widens `count` pixels of 3 bytes to 4; the fourth byte is 255. The buffers don't overlap, and nothing outside
// either is touched.
void rgb_to_rgbx(const std::uint8_t* rgb, std::uint8_t* rgbx, int count);

}  // namespace pyfastdl
