#include "transform/transformer.h"

#include <new>
#include <string>
#include <utility>

#include "transform/erasure.h"
#include "transform/op_rules.h"
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

}  // namespace

struct Transformer::Scratch {
  Draws draws;
  Steps steps;
  StepRunner runner;
};

Transformer::Transformer(std::shared_ptr<const Plan> plan, bool fast)
    : plan_(std::move(plan)), fast_(fast), scratch_(std::make_unique<Scratch>()) {}
Transformer::~Transformer() = default;
Transformer::Transformer(Transformer&&) noexcept = default;

Status Transformer::run(RowSource& image, const SampleKey& key, Size cell_size, std::byte* cell) {
  Status status = prepare(image.size(), key, cell_size);
  if (!status.ok()) return status;
  image.will_keep(held_bytes());
  return run_prepared(image, cell);
}

Status Transformer::prepare(Size image, const SampleKey& key, Size cell_size) try {
  plan_->sample(image, key, scratch_->draws);
  Status status = plan_->resolve(image, scratch_->draws, scratch_->steps);
  if (!status.ok()) return status;
  const Size result = scratch_->steps.size();
  if (result != cell_size) {
    return {Errc::bad_data, "the transform makes " + text(result) + " (height x width) of this image of " +
                                text(image) + ", but the batch holds " + text(cell_size) +
                                ": end the transform with a size of its own (Resize((h, w)), CenterCrop, "
                                "RandomResizedCrop)"};
  }
  return {};
} catch (const std::bad_alloc&) {
  return {Errc::out_of_memory, "no memory for what the transform is to do"};
}

std::uint64_t Transformer::held_bytes() const { return StepRunner::held_bytes(scratch_->steps); }

Region Transformer::needed() const { return scratch_->steps.needed(); }

Status Transformer::run_prepared(RowSource& image, std::byte* cell) try {
  if (fast_) use_smaller_image(image, scratch_->steps);
  CellSink sink(plan_->writer(), cell);
  Status status = scratch_->runner.run(scratch_->steps, image, sink);
  if (!status.ok()) return status;
  for (const Erasure& erasure : scratch_->steps.erasures())
    erase(erasure, plan_->writer(), scratch_->steps.size(), cell);
  return status;
} catch (const std::bad_alloc&) {
  return {Errc::out_of_memory,
          "no memory for the rows of an image of " + text(image.size()) + " in the transform"};
}

}  // namespace pyfastdl
