// Steps: what is to be done to one image, once its size and its random numbers are known.
//
// A step is: cut a crop out of the step's input, resize it, keep a window of the result, put that on a canvas of
// zeros, mirror the canvas. Operations are folded into the last step as long as the result stays the same to the bit
// (crops compose, a crop after a resize becomes its window, a flip waits to be the last thing); else a new step starts,
// whose input is the canvas of the one before. Most plans are one step, which runs without an image in between.
// Later pixel operations stand between steps: an operation that needs finished pixels ends the step before it.
//
// Plain values, no thread affinity; a warm vector allocates nothing.
#pragma once

#include <vector>

#include "base/geometry.h"
#include "transform/filter.h"
#include "transform/resizer.h"

namespace pyfastdl {

// No side of a result or of an image between steps is longer.
inline constexpr int kMaxSide = 1 << 24;

struct Step {
  Region crop;        // of the input; inside it and not empty
  ResizeSpec resize;  // resize.in == crop.size(); the window may be empty: then the canvas is all zeros
  Size canvas;        // what comes out
  int pad_top = 0;    // where the window stands on the canvas
  int pad_left = 0;
  bool flip = false;

  bool padded() const { return canvas != resize.window.size(); }
  bool shows_input() const { return resize.window.height > 0; }
  bool resizes() const { return resize.in != resize.out; }
};

class Steps {
 public:
  // One step that changes nothing.
  void start(Size image);

  Size size() const { return steps_.back().canvas; }
  const std::vector<Step>& list() const { return steps_; }

  // `region` is in the coordinates of the present result and may lie partly or wholly outside: zeros there.
  void crop(const Region& region);
  void resize(Size out, Filter filter, PassOrder order);
  void flip();

  // The image comes at eighths / 8 of the size that start() was told; `image` is its size then.
  void shrink(int eighths, Size image);

 private:
  std::vector<Step> steps_;
};

}  // namespace pyfastdl
