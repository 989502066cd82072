// Resizer: streams rows from a source through Pillow's two resampling passes into a sink.
//
// One per thread. It owns a ring of rows (as many as the vertical filter spans, and a few to read ahead) and the
// weights, and keeps both from image to image: once warm it allocates nothing. Nothing here blocks. Memory that one
// huge image took is given back after it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/geometry.h"
#include "base/row_source.h"
#include "base/status.h"
#include "transform/filter.h"

namespace pyfastdl {

// A crop of size `in` is resized to `out`; `window` is the part of the result that is wanted. Taps clamp at the
// crop's edge. A pass that changes nothing is left out, so in == out only copies.
struct ResizeSpec {
  Size in;
  Size out;
  Region window;
  Filter filter = Filter::bilinear;
  PassOrder order = PassOrder::shrink_vertical_first;
  // The part of `in` that becomes `out`, where that isn't whole pixels: of a smaller image, see use_smaller_image().
  Extent rows;
  Extent columns;

  bool resizes_rows() const { return in.height != out.height || rows != Extent{}; }
  bool resizes_columns() const { return in.width != out.width || columns != Extent{}; }
};

// The part of the crop (in its own coordinates) that the window depends on.
// REQUIRES: sizes positive, the window inside `out` and not empty. The same holds for Resizer::run.
Region needed_region(const ResizeSpec& spec);

// Takes finished rows, top to bottom, each once: RGB (three bytes a pixel), window.width pixels, kRowPadding readable
// bytes behind them.
// The row is the sink's only during the call.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void put_row(const std::uint8_t* rgb) = 0;
};

class Resizer {
 public:
  Resizer();
  ~Resizer();
  Resizer(const Resizer&) = delete;
  Resizer& operator=(const Resizer&) = delete;

  // The crop's upper left corner stands at (top, left) in the source's image. Starts the source with the needed
  // region and reads all of its rows, in order, each once; finish() is left to the caller. The sink gets
  // window.height rows unless the source fails. Throws std::bad_alloc.
  Status run(const ResizeSpec& spec, RowSource& source, int top, int left, RowSink& sink);

  struct Scratch;

 private:
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace pyfastdl
