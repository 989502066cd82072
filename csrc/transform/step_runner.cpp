#include "transform/step_runner.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "transform/border.h"

namespace pyfastdl {
namespace {

// Memory for images between steps is given back above this.
constexpr std::size_t kKeepBytes = std::size_t{4} << 20;

constexpr int kRgb = 3;

std::size_t row_bytes(Size size) { return static_cast<std::size_t>(size.width) * kRgb; }

void fill_row(std::uint8_t* row, std::size_t bytes, const Rgb& fill) {
  if (fill[0] == fill[1] && fill[1] == fill[2]) {
    std::memset(row, fill[0], bytes);
    return;
  }
  for (std::size_t i = 0; i < bytes; i += kRgb) std::memcpy(row + i, fill.data(), kRgb);
}

// Puts the window's rows on the canvas of one colour around it.
class Padder : public RowSink {
 public:
  Padder(const Step& step, ByteBuffer& row, CanvasSink& sink) : step_(step), sink_(sink) {
    if (!step.padded()) return;
    row.resize(row_bytes(step.canvas));
    row_ = row.data();
    fill_row(row_, row.size(), step.fill);
    while (y_ < step.pad_top) put(row_);
  }

  void put_row(const std::uint8_t* rgb) override {
    if (row_ != nullptr) {
      std::memcpy(row_ + step_.pad_left * kRgb, rgb, row_bytes(step_.resize.window.size()));
      rgb = row_;
    }
    put(rgb);
  }

  // The rows below the window.
  void finish() {
    if (y_ == step_.canvas.height) return;
    fill_row(row_, row_bytes(step_.canvas), step_.fill);
    while (y_ < step_.canvas.height) put(row_);
  }

 private:
  void put(const std::uint8_t* rgb) {
    sink_.put_row(rgb, step_.flip_vertical ? step_.canvas.height - 1 - y_ : y_, step_.canvas, step_.flip);
    ++y_;
  }

  const Step& step_;
  CanvasSink& sink_;
  std::uint8_t* row_ = nullptr;
  int y_ = 0;
};

// Keeps the canvas as an image, with room for a border around it. Its memory is taken with the first row: by then the
// source was started, which may have been refused for what is to be kept.
class Image : public CanvasSink {
 public:
  Image(const Step& step, ByteBuffer& pixels)
      : step_(step), stride_(row_bytes(step.size())), buffer_(pixels) {}

  void put_row(const std::uint8_t* rgb, int y, Size size, bool mirror) override {
    if (pixels_ == nullptr) {
      buffer_.resize(stride_ * static_cast<std::size_t>(step_.size().height));
      pixels_ = buffer_.data();
    }
    std::uint8_t* to = pixels_ + stride_ * static_cast<std::size_t>(step_.border.top + y) +
                       static_cast<std::size_t>(step_.border.left) * kRgb;
    if (!mirror) {
      std::memcpy(to, rgb, row_bytes(size));
      return;
    }
    const std::uint8_t* from = rgb + row_bytes(size);
    for (int x = 0; x < size.width; ++x, to += kRgb) std::memcpy(to, from -= kRgb, kRgb);
  }

 private:
  const Step& step_;
  std::size_t stride_;
  ByteBuffer& buffer_;
  std::uint8_t* pixels_ = nullptr;
};

}  // namespace

std::uint64_t StepRunner::held_bytes(const Steps& steps) {
  const std::vector<Step>& list = steps.list();
  std::array<std::uint64_t, 3> most{};  // the two images, and one more of which operations read
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i + 1 == list.size() && !list[i].ends_in_memory()) break;
    const Size size = list[i].size();
    const std::uint64_t bytes = row_bytes(size) * static_cast<std::uint64_t>(size.height);
    most[i % 2] = std::max(most[i % 2], bytes);
    if (list[i].op_count > 0) most[2] = std::max(most[2], bytes);
  }
  const std::uint64_t sum = most[0] + most[1] + most[2];
  return sum <= most.size() * kKeepBytes ? 0 : sum;
}

Status StepRunner::run(const Steps& steps, RowSource& image, CanvasSink& sink) {
  const std::vector<Step>& list = steps.list();
  const std::uint8_t* pixels = nullptr;  // the last step's image
  Status status;
  for (std::size_t i = 0; i < list.size() && status.ok(); ++i) {
    const Step& step = list[i];
    const bool last = i + 1 == list.size();
    RowSource& source = i == 0 ? image : between_;
    if (last && !step.ends_in_memory()) {
      status = run_canvas(step, source, pixels, sink);
    } else {
      ByteBuffer& buffer = images_[i % 2];
      Image next(step, buffer);
      status = run_canvas(step, source, pixels, next);
    }
    if (status.ok() && i == 0 && step.shows_input()) status = image.finish();
    if (!status.ok() || (last && !step.ends_in_memory())) break;

    std::uint8_t* result = images_[i % 2].data();
    if (step.bordered()) write_border(step.border_mode, step.border, step.canvas, result);
    if (step.op_count > 0) image_ops_.run(steps.image_ops(step), result, step.size());
    const std::size_t stride = row_bytes(step.size());
    if (last) {
      for (int y = 0; y < step.size().height; ++y)
        sink.put_row(result + stride * static_cast<std::size_t>(y), y, step.size(), false);
    }
    between_.reset(result, step.size(), kRgb, static_cast<std::ptrdiff_t>(stride));
    pixels = result;
  }
  for (ByteBuffer& buffer : images_) buffer.trim(kKeepBytes);
  image_ops_.trim(kKeepBytes);
  return status;
}

Status StepRunner::run_canvas(const Step& step, RowSource& source, const std::uint8_t* pixels,
                              CanvasSink& sink) {
  Padder padder(step, padded_row_, sink);
  if (step.shows_input()) {
    if (pixels != nullptr && !step.resizes()) {
      // Rows of an image in memory as they are: the resizer would only copy them.
      const Region& window = step.resize.window;
      const std::size_t stride = row_bytes(source.size());
      pixels += static_cast<std::size_t>(step.crop.top + window.top) * stride +
                static_cast<std::size_t>(step.crop.left + window.left) * kRgb;
      for (int y = 0; y < window.height; ++y, pixels += stride) padder.put_row(pixels);
    } else {
      Status status = resizer_.run(step.resize, source, step.crop.top, step.crop.left, padder);
      if (!status.ok()) return status;
    }
  }
  padder.finish();
  return {};
}

}  // namespace pyfastdl
