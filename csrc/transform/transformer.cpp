#include "transform/transformer.h"

#include <new>
#include <string>
#include <utility>

#include "transform/smaller_image.h"
#include "transform/step_runner.h"

namespace pyfastdl {
namespace {

class CellSink : public CanvasSink {
 public:
  CellSink(const PixelWriter& writer, std::byte* cell) : writer_(writer), cell_(cell) {}
  void put_row(const std::uint8_t* rgb, int y, Size size, bool mirror) override {
    writer_.write_row(rgb, y, size, mirror, cell_);
  }

 private:
  const PixelWriter& writer_;
  std::byte* cell_;
};

std::string text(Size size) { return std::to_string(size.height) + "x" + std::to_string(size.width); }

}  // namespace

struct Transformer::Scratch {
  Draws draws;
  Steps steps;
  StepRunner runner;
};

Transformer::Transformer(std::shared_ptr<const Plan> plan, bool fast)
    : plan_(std::move(plan)), fast_(fast), scratch_(std::make_unique<Scratch>()) {}
Transformer::~Transformer() = default;

Status Transformer::run(RowSource& image, const SampleKey& key, Size cell_size, std::byte* cell) try {
  plan_->sample(image.size(), key, scratch_->draws);
  Status status = plan_->resolve(image.size(), scratch_->draws, scratch_->steps);
  if (!status.ok()) return status;
  const Size result = scratch_->steps.size();
  if (result != cell_size) {
    return {Errc::bad_data, "the transform makes " + text(result) + " (height x width) of this image of " +
                                text(image.size()) + ", but the batch holds " + text(cell_size) +
                                ": end the transform with a size of its own (Resize((h, w)), CenterCrop, "
                                "RandomResizedCrop)"};
  }
  if (fast_) use_smaller_image(image, scratch_->steps);
  CellSink sink(plan_->writer(), cell);
  return scratch_->runner.run(scratch_->steps, image, sink);
} catch (const std::bad_alloc&) {
  return {Errc::out_of_memory,
          "no memory for the rows of an image of " + text(image.size()) + " in the transform"};
}

}  // namespace pyfastdl
