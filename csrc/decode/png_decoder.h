// PngDecoder: PNG by libpng, equal to Pillow's convert("RGB"): palettes looked up, transparency dropped.
//
// One thread. Owns the libpng object and one row of scratch, or the whole image if it is interlaced; borrows
// the encoded bytes. Nothing blocks. Rows above a region must be decoded, those below are not.
//
// One difference from Pillow is deliberate: where the deflated data end, properly, before the image is
// complete, Pillow leaves the rest black and says nothing. Here that is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/byte_buffer.h"
#include "decode/decoder.h"
#include "decode/png_file.h"

namespace pyfastdl {

class PngDecoder final : public Decoder {
 public:
  PngDecoder();
  ~PngDecoder() override;

  Status open(std::span<const std::uint8_t> bytes, const DecodeLimits& limits) override;
  void close() override;
  std::optional<int> orientation() const override { return file_.orientation(); }
  Size size() const override { return size_; }
  std::uint64_t start_bytes(const Region& region) const override;
  Status start(const Region& region) override;
  std::size_t row_bytes() const override;
  std::size_t row_offset() const override;
  Status read_rows(std::uint8_t* const* rows, int count) override;
  Status finish() override;

 private:
  struct Library;  // hides png.h

  // How a row of libpng's becomes RGBX.
  enum class Expand { none, lookup, clip16 };

  void choose_expansion();
  Status decode_interlaced();
  Status decode_rows(std::uint8_t* const* rows, int count);
  void expand(const std::uint8_t* line, std::uint8_t* out) const;
  Status failure() const;

  PngFile file_;
  Size size_;
  Region region_;
  Expand expand_ = Expand::none;
  int line_pixel_bytes_ = kPixelBytes;  // of a pixel as libpng gives it
  std::uint8_t lookup_[256][kPixelBytes] = {};
  int next_row_ = 0;    // of the image, of those handed out
  ByteBuffer scratch_;  // one line, or all of them if interlaced
  std::unique_ptr<Library> library_;
};

}  // namespace pyfastdl
