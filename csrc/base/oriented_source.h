// OrientedSource: another source's image, turned or mirrored as its EXIF orientation says.
//
// A region of the turned image is a region of the stored one: only that is read. Orientation 2 mirrors rows as they
// pass; 3 to 8 need the region in memory, which start() reads whole (start_bytes() says how much).
//
// One thread. Borrows the source, owns the turned region. Nothing here blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/byte_buffer.h"
#include "base/row_source.h"

namespace pyfastdl {

class OrientedSource final : public RowSource {
 public:
  // REQUIRES: orientation is 1 to 8; the source was given its image.
  void reset(RowSource& source, int orientation) {
    source_ = &source;
    orientation_ = orientation;
  }

  Size size() const override { return turned(source_->size()); }
  bool shrink(int eighths) override { return source_->shrink(eighths); }
  std::uint64_t start_bytes(const Region& region) const override;
  Status start(const Region& region) override;
  std::size_t row_bytes() const override { return static_cast<std::size_t>(region_.width) * kPixelBytes; }
  std::size_t row_offset() const override { return 0; }
  Status read_rows(std::uint8_t* const* rows, int count) override;
  Status finish() override { return source_->finish(); }

  // Gives back the region's memory.
  void close();

 private:
  bool swaps_sides() const { return orientation_ >= 5; }
  bool streams() const { return orientation_ <= 2; }
  Size turned(Size size) const { return swaps_sides() ? Size{size.width, size.height} : size; }
  // Where the region is in the source's image.
  Region stored(const Region& region) const;
  Status read_turned(const Region& from);
  void place(const std::uint8_t* const* rows, int first, int count, const Region& from);
  Status mirror_rows(std::uint8_t* const* rows, int count);

  RowSource* source_ = nullptr;
  int orientation_ = 1;
  Region region_;
  int next_row_ = 0;
  ByteBuffer turned_;  // the region, row by row
  ByteBuffer rows_;    // as the source writes them
};

}  // namespace pyfastdl
