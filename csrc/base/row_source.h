// RowSource: the contract between decoders and the transform. Rows of a region, top to bottom, as RGBX.
//
// RGBX (four bytes a pixel, the fourth undefined) lets the kernels load whole pixels; a decoded image is never
// held in full when its codec can stream, so a thread's memory does not grow with the picture.
//
// Protocol: the source has been given its image before (that is the decoder's own call) and knows its size();
// then start(region) once, then read_rows until all rows of the region are read, then finish. The region may be
// any part of the image, down to one pixel. After an error, or to stop early, the source may simply be given
// its next image.
//
// Threads: one source belongs to one thread. Nothing here blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/geometry.h"
#include "base/status.h"

namespace pyfastdl {

inline constexpr int kPixelBytes = 4;

// Kernels may read (never write) this many bytes past the last pixel of a row.
inline constexpr std::size_t kRowPadding = 64;

class RowSource {
 public:
  virtual ~RowSource() = default;

  // The whole image's size.
  virtual Size size() const = 0;

  // For who can do with fewer pixels: asks for the image at eighths / 8 of its size. True: from now on size(), regions
  // and rows are those of the smaller image, each side times eighths / 8, rounded up. False: the source knows no cheaper way, and nothing has changed. Position x of the image is
  // position x * eighths / 8 of the smaller one. REQUIRES: eighths is 1 to 7; before start().
  virtual bool shrink(int eighths) {
    (void)eighths;
    return false;
  }

  // Bytes that start(region) will take at once and keep until close(), beyond a few rows: what its codec can't stream.
  // An upper bound, known before any of it is allocated. REQUIRES: as start().
  virtual std::uint64_t start_bytes(const Region& region) const {
    (void)region;
    return 0;
  }

  // Whether the image is in memory as it is: start() may be called again, for any region, and costs nothing.
  virtual bool in_memory() const { return false; }

  // Tells the source that its caller will keep so many bytes of what it reads and makes of it: whoever reserves start_bytes() reserves
  // them too. Before start(), or not at all.
  virtual void will_keep(std::uint64_t bytes) { (void)bytes; }

  // REQUIRES: inside(region, size()), and the region is not empty.
  virtual Status start(const Region& region) = 0;

  // What one row writes: a decoder may write whole blocks around the region, so that row_bytes() is at least
  // row_offset() + width * kPixelBytes. The caller's rows have room for row_bytes() + kRowPadding.
  // REQUIRES: start succeeded.
  virtual std::size_t row_bytes() const = 0;

  // Where the region's first pixel stands in a row, in bytes.
  virtual std::size_t row_offset() const = 0;

  // Writes the next `count` rows. REQUIRES: no more than the region's rows in all.
  virtual Status read_rows(std::uint8_t* const* rows, int count) = 0;

  // Says whether the image as a whole is sound where the rows alone can't tell (a file cut off below the region).
  // REQUIRES: every row was read.
  virtual Status finish() = 0;
};

}  // namespace pyfastdl
