#include "transform/draw.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "transform/op_rules.h"

namespace pyfastdl {
namespace {

constexpr int kTries = 10;  // at a box, as in torchvision

// As Python's round(): half to even.
int round_even(double x) { return static_cast<int>(std::nearbyint(x)); }

int offset(int image, int size, SampleRandom& random) {
  return static_cast<int>(random.below(static_cast<std::uint64_t>(image - size) + 1));
}

// Sides of random boxes: the area uniform in `scale` times the image's, the aspect ratio in `ratio` by its logarithm.
class RandomSides {
 public:
  RandomSides(Size image, const Range& scale, const Range& ratio)
      : area_(static_cast<double>(image.height) * image.width),
        scale_(scale),
        log_ratio_{std::log(ratio[0]), std::log(ratio[1])} {}

  // (height, width), whole numbers of any size.
  std::pair<double, double> draw(SampleRandom& random) const {
    const double target = area_ * random.uniform(scale_[0], scale_[1]);
    const double aspect = std::exp(random.uniform(log_ratio_[0], log_ratio_[1]));
    return {std::nearbyint(std::sqrt(target / aspect)), std::nearbyint(std::sqrt(target * aspect))};
  }

 private:
  const double area_;
  const Range scale_;
  const Range log_ratio_;
};

Region draw_box(const RandomResizedCrop& op, Size image, SampleRandom& random) {
  const RandomSides sides(image, op.scale, op.ratio);
  for (int i = 0; i < kTries; ++i) {
    const auto [h, w] = sides.draw(random);
    if (w > 0 && w <= image.width && h > 0 && h <= image.height) {
      const int height = static_cast<int>(h), width = static_cast<int>(w);
      const int top = offset(image.height, height, random);
      const int left = offset(image.width, width, random);
      return {top, left, height, width};
    }
  }
  Size size = image;
  const double ratio = static_cast<double>(image.width) / image.height;
  // At least 1: torchvision would fail on a side that rounds to 0.
  if (ratio < op.ratio[0]) {
    size.height = std::clamp(round_even(image.width / op.ratio[0]), 1, image.height);
  } else if (ratio > op.ratio[1]) {
    size.width = std::clamp(round_even(image.height * op.ratio[1]), 1, image.width);
  }
  return {(image.height - size.height) / 2, (image.width - size.width) / 2, size.height, size.width};
}

Region draw_box(const RandomCrop& op, Size image, SampleRandom& random) {
  const Size padded = padded_size(op, image);
  if (padded == op.size) return whole(op.size);  // nothing to draw
  const int top = offset(padded.height, op.size.height, random);
  const int left = offset(padded.width, op.size.width, random);
  return {top, left, op.size.height, op.size.width};
}

DrawnJitter draw_jitter(const ColorJitter& op, SampleRandom& random) {
  DrawnJitter drawn;
  for (std::size_t i = drawn.order.size(); --i > 0;)
    std::swap(drawn.order[i], drawn.order[random.below(i + 1)]);
  const std::optional<Range>* ranges[] = {&op.brightness, &op.contrast, &op.saturation, &op.hue};
  for (std::size_t i = 0; i < 4; ++i) {
    if (*ranges[i]) drawn.factors[i] = random.uniform((**ranges[i])[0], (**ranges[i])[1]);
  }
  return drawn;
}

double with_random_sign(Augment augment, double magnitude, SampleRandom& random) {
  return is_signed(augment) && random.below(2) != 0 ? -magnitude : magnitude;
}

DrawnAugment draw_augment(const RandAugment& op, Size image, SampleRandom& random) {
  const auto augment = static_cast<Augment>(random.below(kAugments));
  return {augment, with_random_sign(augment, magnitude(op, augment, image), random)};
}

DrawnAugment draw_augment(const TrivialAugmentWide& op, SampleRandom& random) {
  const auto augment = static_cast<Augment>(random.below(kAugments));
  if (!has_magnitude(augment)) return {augment, 0};
  const auto bin = static_cast<int>(random.below(static_cast<std::uint64_t>(op.num_magnitude_bins)));
  return {augment, with_random_sign(augment, magnitude(op, augment, bin), random)};
}

DrawnErase draw_erase(const RandomErasing& op, Size image, SampleRandom& random) {
  if (!(random.uniform() < op.p)) return {};
  const RandomSides sides(image, op.scale, op.ratio);
  for (int i = 0; i < kTries; ++i) {
    const auto [w, h] = sides.draw(random);  // torchvision's ratio is height / width here
    if (!(h < image.height && w < image.width)) continue;
    DrawnErase drawn;
    if (!op.value) {
      const std::uint64_t high = random.next();
      drawn.noise = high << 32 | random.next();
    }
    const int height = static_cast<int>(h), width = static_cast<int>(w);
    const int top = offset(image.height, height, random);
    const int left = offset(image.width, width, random);
    drawn.box = Region{top, left, height, width};
    return drawn;
  }
  return {};
}

}  // namespace

void draw(const Op& op, int at, Size image, SampleRandom& random, Draws& draws) {
  const auto choose = [&](double p) { draws.push_back({at, DrawnChoice{random.uniform() < p}}); };
  std::visit(
      Overloaded{
          [&](const RandomResizedCrop& o) { draws.push_back({at, DrawnCrop{draw_box(o, image, random)}}); },
          [&](const RandomCrop& o) { draws.push_back({at, DrawnCrop{draw_box(o, image, random)}}); },
          [&](const RandomHorizontalFlip& o) { choose(o.p); },
          [&](const RandomVerticalFlip& o) { choose(o.p); }, [&](const RandomGrayscale& o) { choose(o.p); },
          [&](const ColorJitter& o) { draws.push_back({at, draw_jitter(o, random)}); },
          [&](const RandAugment& o) {
            for (int i = 0; i < o.num_ops; ++i) draws.push_back({at, draw_augment(o, image, random)});
          },
          [&](const TrivialAugmentWide& o) { draws.push_back({at, draw_augment(o, random)}); },
          [&](const RandomErasing& o) { draws.push_back({at, draw_erase(o, image, random)}); },
          [](const auto&) {}},
      op);
}

}  // namespace pyfastdl
