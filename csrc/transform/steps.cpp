#include "transform/steps.h"

#include <algorithm>
#include <cmath>

namespace pyfastdl {
namespace {

Step identity(Size image, std::size_t first_op) {
  Step step{whole(image), {image, image, whole(image)}, image};
  step.first_op = static_cast<int>(first_op);
  return step;
}

}  // namespace

void Steps::start(Size image) {
  steps_.clear();
  image_ops_.clear();
  erasures_.clear();
  steps_.push_back(identity(image, 0));
}

Step& Steps::new_step() {
  const Size image = size();
  steps_.push_back(identity(image, image_ops_.size()));
  return steps_.back();
}

Step& Steps::open_step() { return steps_.back().ends_in_memory() ? new_step() : steps_.back(); }

Region Steps::needed() const {
  const Step& first = steps_.front();
  if (!first.shows_input()) return {};
  Region region = needed_region(first.resize);
  region.top += first.crop.top;
  region.left += first.crop.left;
  return region;
}

void Steps::crop(const Region& region, const Rgb& fill) {
  const bool reaches_outside = !inside(region, size());
  Step* last = &open_step();
  if (reaches_outside && last->padded() && last->fill != fill) last = &new_step();
  Step& step = *last;
  if (reaches_outside) step.fill = fill;
  // In the coordinates of the canvas before it is mirrored.
  Region cut = region;
  if (step.flip) cut.left = step.canvas.width - region.right();
  if (step.flip_vertical) cut.top = step.canvas.height - region.bottom();

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
  Step* last = &open_step();
  if (last->resizes() || last->padded() || last->flip || last->flip_vertical) last = &new_step();
  Step& step = *last;
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

void Steps::flip() {
  for (Erasure& erasure : erasures_) {
    erasure.box.left = size().width - erasure.box.right();
    erasure.flip = !erasure.flip;
  }
  Step& step = open_step();
  step.flip = !step.flip;
}

void Steps::flip_vertical() {
  for (Erasure& erasure : erasures_) {
    erasure.box.top = size().height - erasure.box.bottom();
    erasure.flip_vertical = !erasure.flip_vertical;
  }
  Step& step = open_step();
  step.flip_vertical = !step.flip_vertical;
}

void Steps::add_border(PadMode mode, const Padding& padding) {
  if (padded_size(padding, size()) == size()) return;
  Step& step = open_step();
  step.border_mode = mode;
  step.border = padding;
}

void Steps::apply(const ImageOp& op) {
  image_ops_.push_back(op);
  ++steps_.back().op_count;
}

void Steps::erase(const Erasure& erasure) { erasures_.push_back(erasure); }

void Steps::normalize() {
  for (Erasure& erasure : erasures_) erasure.normalize = true;
}

}  // namespace pyfastdl
