#include "transform/plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "transform/conversions.h"

namespace pyfastdl {
namespace {

// Adds one operation after another to the steps; takes its numbers from the draws, in their order.
class Resolver {
 public:
  Resolver(PassOrder order, const Draws& draws, Steps& steps)
      : order_(order), draw_(draws.begin()), steps_(steps) {}

  // REQUIRES of all: the operation can be done to the present result.
  void operator()(const RandomResizedCrop& op) {
    steps_.crop(next<DrawnCrop>().box);
    steps_.resize(op.size, op.filter, order_);
  }
  void operator()(const Resize& op) { steps_.resize(op.size, op.filter, order_); }
  void operator()(const ResizeShorter& op) {
    steps_.resize(size_after(op, steps_.size()), op.filter, order_);
  }
  void operator()(const CenterCrop& op) {
    const Size image = steps_.size();
    steps_.crop({center(image.height, op.size.height), center(image.width, op.size.width), op.size.height,
                 op.size.width});
  }
  void operator()(const Pad& op) { pad(op.padding, op.fill, op.mode); }
  void operator()(const RandomCrop& op) {
    if (op.padding) pad(*op.padding, op.fill, op.mode);
    // One axis after the other, as torchvision pads them; together it is the same.
    pad(missing(op, steps_.size()), op.fill, op.mode);
    steps_.crop(next<DrawnCrop>().box);
  }
  void operator()(const RandomHorizontalFlip&) {
    if (next<DrawnChoice>().taken) steps_.flip();
  }
  void operator()(const RandomVerticalFlip&) {
    if (next<DrawnChoice>().taken) steps_.flip_vertical();
  }
  void operator()(const Grayscale&) { steps_.apply(ToGrayscale{}); }
  void operator()(const RandomGrayscale&) {
    if (next<DrawnChoice>().taken) steps_.apply(ToGrayscale{});
  }
  void operator()(const ColorJitter&) {
    const auto& drawn = next<DrawnJitter>();
    for (const Jitter jitter : drawn.order) {
      const std::optional<double>& factor = drawn.factors[static_cast<std::size_t>(jitter)];
      if (factor) apply(jitter, *factor);
    }
  }
  void operator()(const RandAugment& op) {
    for (int i = 0; i < op.num_ops; ++i) apply(next<DrawnAugment>(), op.sampling, op.fill);
  }
  void operator()(const TrivialAugmentWide& op) { apply(next<DrawnAugment>(), op.sampling, op.fill); }
  void operator()(const ToBytes&) {}
  void operator()(const ToTensor&) {}
  void operator()(const ToDtype&) {}
  void operator()(const Normalize&) { steps_.normalize(); }
  void operator()(const RandomErasing& op) {
    const auto& drawn = next<DrawnErase>();
    if (drawn.box) steps_.erase({*drawn.box, op.value, drawn.noise});
  }

 private:
  template <class T>
  const T& next() {
    return std::get<T>((draw_++)->value);
  }

  void pad(const Padding& padding, const Rgb& fill, PadMode mode) {
    if (mode == PadMode::constant) {
      const Size size = padded_size(padding, steps_.size());
      steps_.crop({-padding.top, -padding.left, size.height, size.width}, fill);
      return;
    }
    const Padding taken = taken_away(padding);
    const Size left = padded_size(taken, steps_.size());
    steps_.crop({-taken.top, -taken.left, left.height, left.width});
    const auto added = [](int pixels) { return std::max(pixels, 0); };
    steps_.add_border(mode,
                      {added(padding.left), added(padding.top), added(padding.right), added(padding.bottom)});
  }

  void apply(Jitter jitter, double factor) {
    switch (jitter) {
      case Jitter::brightness:
        return steps_.apply(AdjustBrightness{factor});
      case Jitter::contrast:
        return steps_.apply(AdjustContrast{factor});
      case Jitter::saturation:
        return steps_.apply(AdjustSaturation{factor});
      case Jitter::hue:
        return steps_.apply(AdjustHue{factor});
    }
  }

  void apply(const DrawnAugment& drawn, Sampling sampling, const Rgb& fill) {
    if (const auto op = image_op(drawn.augment, drawn.magnitude, steps_.size(), sampling, fill))
      steps_.apply(*op);
  }

  const PassOrder order_;
  Draws::const_iterator draw_;
  Steps& steps_;
};

}  // namespace

Plan::Plan(std::vector<Op> ops, PassOrder order, PixelFormat basics)
    : ops_(std::move(ops)), order_(order), writer_(format_of(ops_, basics)) {
  for (const Op& op : ops_) {
    if (!static_size_) {
      static_size_ = fixed_size(op);
      continue;
    }
    const Size after = size_after(op, *static_size_);
    if (!possible(after)) throw Error(Errc::invalid_argument, why_impossible(op, *static_size_));
    static_size_ = after;
  }
}

Size Plan::output_size(Size image) const {
  for (const Op& op : ops_) {
    image = size_after(op, image);
    if (!possible(image)) return {};
  }
  return image;
}

Draws Plan::sample(Size image, const SampleKey& key) const {
  Draws draws;
  sample(image, key, draws);
  return draws;
}

void Plan::sample(Size image, const SampleKey& key, Draws& draws) const {
  draws.clear();
  SampleRandom random(key);
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const Size after = size_after(ops_[i], image);
    if (!possible(after)) return;
    draw(ops_[i], static_cast<int>(i), image, random, draws);
    image = after;
  }
}

Status Plan::resolve(Size image, const Draws& draws, Steps& steps) const {
  steps.start(image);
  Resolver resolver(order_, draws, steps);
  for (const Op& op : ops_) {
    const Size before = steps.size();
    if (!possible(size_after(op, before))) return {Errc::bad_data, why_impossible(op, before)};
    std::visit(resolver, op);
  }
  return {};
}

}  // namespace pyfastdl
