#include "transform/steps.h"

#include <algorithm>
#include <cmath>

namespace pyfastdl {

void Steps::start(Size image) {
  steps_.clear();
  steps_.push_back({whole(image), {image, image, whole(image)}, image});
}

void Steps::crop(const Region& region) {
  Step& step = steps_.back();
  // In the coordinates of the canvas before it is mirrored.
  Region cut = region;
  if (step.flip) cut.left = step.canvas.width - region.right();

  // What is left of the window: the part that both it and the cut cover.
  Region& window = step.resize.window;
  const int top = std::max(cut.top, step.pad_top);
  const int left = std::max(cut.left, step.pad_left);
  const int bottom = std::min(cut.bottom(), step.pad_top + window.height);
  const int right = std::min(cut.right(), step.pad_left + window.width);
  if (bottom > top && right > left) {
    window = {window.top + top - step.pad_top, window.left + left - step.pad_left, bottom - top,
              right - left};
    step.pad_top = top - cut.top;
    step.pad_left = left - cut.left;
  } else {
    window = {};
    step.pad_top = step.pad_left = 0;
  }
  step.canvas = region.size();
}

void Steps::resize(Size out, Filter filter, PassOrder order) {
  if (out == size()) return;
  if (steps_.back().resizes() || steps_.back().padded() || steps_.back().flip) {
    const Size image = size();
    steps_.push_back({whole(image), {image, image, whole(image)}, image});
  }
  Step& step = steps_.back();
  const Region& window = step.resize.window;
  step.crop = {step.crop.top + window.top, step.crop.left + window.left, window.height, window.width};
  step.resize = {step.crop.size(), out, whole(out), filter, order};
  step.canvas = out;
}

void Steps::shrink(int eighths, Size image) {
  Step& step = steps_.front();
  ResizeSpec& resize = step.resize;
  const auto axis = [eighths](int begin, int length, int side, int& first, int& count, Extent& extent) {
    const double from = begin * eighths / 8.0;
    const double size = length * eighths / 8.0;
    first = static_cast<int>(from);
    count = std::min(static_cast<int>(std::ceil(from + size)), side) - first;
    extent = {from - first, size};
  };
  Region& crop = step.crop;
  axis(crop.top, crop.height, image.height, crop.top, crop.height, resize.rows);
  axis(crop.left, crop.width, image.width, crop.left, crop.width, resize.columns);
  resize.in = crop.size();
}

void Steps::flip() { steps_.back().flip = !steps_.back().flip; }

}  // namespace pyfastdl
