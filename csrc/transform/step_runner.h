// StepRunner: runs Steps on one image, from the source to the sink of the last step.
//
// One per thread. It owns the resizer and the images between steps (none for a plan of one step) and keeps their
// memory from sample to sample, up to a limit. Nothing blocks.
#pragma once

#include <array>
#include <cstdint>

#include "base/byte_buffer.h"
#include "base/pixels_source.h"
#include "base/row_source.h"
#include "base/status.h"
#include "transform/image_ops.h"
#include "transform/resizer.h"
#include "transform/steps.h"

namespace pyfastdl {

// Takes the rows of a finished canvas, each once; top to bottom, or bottom to top where the canvas is mirrored so.
// `mirror`: the row is to be read from right to left.
class CanvasSink {
 public:
  virtual ~CanvasSink() = default;
  // REQUIRES of the row: RGB, size.width pixels, kRowPadding readable bytes behind them.
  virtual void put_row(const std::uint8_t* rgb, int y, Size size, bool mirror) = 0;
};

class StepRunner {
 public:
  // Calls the image's finish() too, unless no pixel of it shows (then the image isn't touched). Erasures are left to the
  // caller. Throws std::bad_alloc.
  Status run(const Steps& steps, RowSource& image, CanvasSink& sink);

  // Bytes of the images that run() will hold at once, and of what operations take beside them; 0 where that is no more
  // than each thread may keep anyway. An upper bound.
  static std::uint64_t held_bytes(const Steps& steps);

 private:
  // The step's canvas to the sink. `pixels`: where the source's image is, when it is one in memory, packed.
  Status run_canvas(const Step& step, RowSource& source, const std::uint8_t* pixels, CanvasSink& sink);

  Resizer resizer_;
  ImageOps image_ops_;
  std::array<ByteBuffer, 2> images_;  // taken in turns: a step reads one and writes the other
  PixelsSource between_;
  ByteBuffer padded_row_;
};

}  // namespace pyfastdl
