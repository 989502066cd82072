// Steps: what is to be done to one image, once its size and its random numbers are known.
//
// A step is: cut a crop out of the step's input, resize it, keep a window of the result, put that on a canvas of one
// colour, mirror the canvas; then add a border to it, and run operations on the finished bytes. Operations are folded
// into the last step as long as the result stays the same to the bit (crops compose, a crop after a resize becomes its
// window, a flip waits to be the last thing, a crop that reaches outside pads); else a new step starts, whose input is
// the result of the one before. Most plans are one step without border and operations, which runs without an image in
// between. Behind the last step come erasures, on the finished pixels in the cell.
//
// Plain values, no thread affinity; warm vectors allocate nothing.
#pragma once

#include <span>
#include <vector>

#include "base/geometry.h"
#include "transform/erasure.h"
#include "transform/filter.h"
#include "transform/image_op.h"
#include "transform/op.h"
#include "transform/op_rules.h"
#include "transform/resizer.h"

namespace pyfastdl {

struct Step {
  Region crop;        // of the input; inside it and not empty
  ResizeSpec resize;  // resize.in == crop.size(); the window may be empty: then the canvas is all `fill`
  Size canvas;        // what comes out, but for the border
  int pad_top = 0;    // where the window stands on the canvas
  int pad_left = 0;
  bool flip = false;           // left to right
  bool flip_vertical = false;  // top to bottom
  Rgb fill{};                  // what the canvas shows around the window

  PadMode border_mode = PadMode::edge;  // any but constant
  Padding border{};                     // no side is below 0
  int first_op = 0;                     // its operations: Steps::image_ops(step)
  int op_count = 0;

  bool padded() const { return canvas != resize.window.size(); }
  bool shows_input() const { return resize.window.height > 0; }
  bool resizes() const { return resize.resizes_rows() || resize.resizes_columns(); }
  Size size() const { return padded_size(border, canvas); }
  bool bordered() const { return size() != canvas; }
  // Whether its result must be an image in memory, even if it is the last one.
  bool ends_in_memory() const { return bordered() || op_count > 0; }
};

class Steps {
 public:
  // One step that changes nothing.
  void start(Size image);

  Size size() const { return steps_.back().size(); }
  const std::vector<Step>& list() const { return steps_; }
  std::span<const ImageOp> image_ops(const Step& step) const {
    return std::span(image_ops_)
        .subspan(static_cast<std::size_t>(step.first_op), static_cast<std::size_t>(step.op_count));
  }
  const std::vector<Erasure>& erasures() const { return erasures_; }

  // The part of the image that is read; empty where no pixel of it shows.
  Region needed() const;

  // `region` is in the coordinates of the present result and may lie partly or wholly outside: `fill` there.
  void crop(const Region& region, const Rgb& fill = {});
  void resize(Size out, Filter filter, PassOrder order);
  void flip();
  void flip_vertical();
  // REQUIRES: a mode other than constant, no side below 0, a result that is `possible`.
  void add_border(PadMode mode, const Padding& padding);
  void apply(const ImageOp& op);

  // REQUIRES of the box: inside the present result. After it only flips, normalize() and further erasures.
  void erase(const Erasure& erasure);
  // Normalize comes here: what was erased before it is normalised too.
  void normalize();

  // The image comes at eighths / 8 of the size that start() was told; `image` is its size then.
  void shrink(int eighths, Size image);

 private:
  // The last step, or a new one behind it where that one ended with a border or with operations.
  Step& open_step();
  Step& new_step();

  std::vector<Step> steps_;
  std::vector<ImageOp> image_ops_;
  std::vector<Erasure> erasures_;
};

}  // namespace pyfastdl
