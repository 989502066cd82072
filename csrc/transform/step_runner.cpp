#include "transform/step_runner.h"

#include <cstddef>
#include <cstring>

namespace pyfastdl {
namespace {

// Memory for images between steps is given back above this.
constexpr std::size_t kKeepBytes = std::size_t{4} << 20;

constexpr int kRgb = 3;

std::size_t row_bytes(Size size) { return static_cast<std::size_t>(size.width) * kRgb; }

// Puts the window's rows on the canvas of zeros around it.
class Padder : public RowSink {
 public:
  Padder(const Step& step, ByteBuffer& row, CanvasSink& sink) : step_(step), sink_(sink) {
    if (!step.padded()) return;
    row.resize(row_bytes(step.canvas));
    row_ = row.data();
    std::memset(row_, 0, row.size());
    for (; y_ < step.pad_top; ++y_) sink_.put_row(row_, y_, step.canvas, step.flip);
  }

  void put_row(const std::uint8_t* rgb) override {
    if (row_ != nullptr) {
      std::memcpy(row_ + step_.pad_left * kRgb, rgb, row_bytes(step_.resize.window.size()));
      rgb = row_;
    }
    sink_.put_row(rgb, y_++, step_.canvas, step_.flip);
  }

  // The rows below the window.
  void finish() {
    if (y_ == step_.canvas.height) return;
    std::memset(row_, 0, row_bytes(step_.canvas));
    for (; y_ < step_.canvas.height; ++y_) sink_.put_row(row_, y_, step_.canvas, step_.flip);
  }

 private:
  const Step& step_;
  CanvasSink& sink_;
  std::uint8_t* row_ = nullptr;
  int y_ = 0;
};

// Keeps the canvas as an image for the next step.
class Image : public CanvasSink {
 public:
  Image(Size size, ByteBuffer& pixels) : pixels_(pixels) {
    pixels.resize(row_bytes(size) * static_cast<std::size_t>(size.height));
  }

  void put_row(const std::uint8_t* rgb, int y, Size size, bool mirror) override {
    std::uint8_t* to = pixels_.data() + row_bytes(size) * static_cast<std::size_t>(y);
    if (!mirror) {
      std::memcpy(to, rgb, row_bytes(size));
      return;
    }
    const std::uint8_t* from = rgb + row_bytes(size);
    for (int x = 0; x < size.width; ++x, to += kRgb) std::memcpy(to, from -= kRgb, kRgb);
  }

 private:
  ByteBuffer& pixels_;
};

}  // namespace

Status StepRunner::run(const Steps& steps, RowSource& image, CanvasSink& sink) {
  const std::vector<Step>& list = steps.list();
  const bool uses_image = list.front().shows_input();
  RowSource* source = &image;
  Status status;
  for (std::size_t i = 0; i + 1 < list.size() && status.ok(); ++i) {
    Image next(list[i].canvas, images_[i % 2]);
    status = run_step(list[i], *source, next);
    if (status.ok() && i == 0 && uses_image) status = image.finish();
    between_.reset(images_[i % 2].data(), list[i].canvas, kRgb,
                   static_cast<std::ptrdiff_t>(row_bytes(list[i].canvas)));
    source = &between_;
  }
  if (status.ok()) status = run_step(list.back(), *source, sink);
  if (status.ok() && list.size() == 1 && uses_image) status = image.finish();
  for (ByteBuffer& buffer : images_) buffer.trim(kKeepBytes);
  return status;
}

Status StepRunner::run_step(const Step& step, RowSource& source, CanvasSink& sink) {
  Padder padder(step, padded_row_, sink);
  if (step.shows_input()) {
    Status status = resizer_.run(step.resize, source, step.crop.top, step.crop.left, padder);
    if (!status.ok()) return status;
  }
  padder.finish();
  return {};
}

}  // namespace pyfastdl
