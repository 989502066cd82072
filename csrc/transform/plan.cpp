#include "transform/plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace pyfastdl {
namespace {

constexpr int kCropTries = 10;

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

[[noreturn]] void refuse(const std::string& message) { throw Error(Errc::invalid_argument, message); }

std::string text(Size size) { return std::to_string(size.height) + "x" + std::to_string(size.width); }
std::string text(const std::array<double, 2>& range) {
  return '(' + std::to_string(range[0]) + ", " + std::to_string(range[1]) + ')';
}

void check_size(const char* op, Size size) {
  if (size.height < 1 || size.width < 1 || size.height > kMaxSide || size.width > kMaxSide) {
    refuse(std::string(op) + " needs a height and a width of 1 to " + std::to_string(kMaxSide) + ", not " +
           text(size));
  }
}

void check_range(const RandomResizedCrop& op) {
  const auto ordered = [](const std::array<double, 2>& r) { return std::isfinite(r[1]) && r[0] <= r[1]; };
  if (!(op.scale[0] >= 0 && ordered(op.scale))) {
    refuse("RandomResizedCrop needs a scale of two numbers from 0 up, the smaller first, not " +
           text(op.scale));
  }
  if (!(op.ratio[0] > 0 && ordered(op.ratio))) {
    refuse("RandomResizedCrop needs a ratio of two numbers above 0, the smaller first, not " +
           text(op.ratio));
  }
}

void check(const Op& op) {
  std::visit(
      Overloaded{[](const RandomResizedCrop& o) {
                   check_size("RandomResizedCrop", o.size);
                   check_range(o);
                 },
                 [](const Resize& o) { check_size("Resize", o.size); },
                 [](const ResizeShorter& o) {
                   check_size("Resize", {o.shorter, o.shorter});
                   if (o.max_size && *o.max_size <= o.shorter) {
                     refuse("Resize needs a max_size above the size of the shorter side, " +
                            std::to_string(o.shorter) + ", not " + std::to_string(*o.max_size));
                   }
                 },
                 [](const CenterCrop& o) { check_size("CenterCrop", o.size); },
                 [](const RandomHorizontalFlip& o) {
                   if (!(o.p >= 0 && o.p <= 1)) {
                     refuse("RandomHorizontalFlip needs a probability of 0 to 1, not " + std::to_string(o.p));
                   }
                 },
                 [](const Normalize&) {}},
      op);
}

// As Python's round(): half to even.
int round_even(double x) { return static_cast<int>(std::nearbyint(x)); }

Size shorter_to(Size image, const ResizeShorter& op) {
  const bool wide = image.height <= image.width;
  const double shorter = wide ? image.height : image.width;
  const double longer = wide ? image.width : image.height;
  double new_shorter = op.shorter;
  double new_longer = std::trunc(new_shorter * longer / shorter);
  if (op.max_size && new_longer > *op.max_size) {
    new_shorter = std::trunc(*op.max_size * new_shorter / new_longer);
    new_longer = *op.max_size;
  }
  new_longer = std::min(new_longer, kMaxSide + 1.0);
  const int a = static_cast<int>(new_shorter), b = static_cast<int>(new_longer);
  return wide ? Size{a, b} : Size{b, a};
}

// Where `size` positions in the middle of `image` begin. A negative result is torchvision's padding: the odd one goes
// behind.
int center(int image, int size) {
  return size > image ? -((size - image) / 2) : round_even((image - size) / 2.0);
}

// torchvision's get_params, number by number.
Region draw_crop(const RandomResizedCrop& op, Size image, SampleRandom& random) {
  const double area = static_cast<double>(image.height) * image.width;
  const double log_low = std::log(op.ratio[0]);
  const double log_high = std::log(op.ratio[1]);
  for (int i = 0; i < kCropTries; ++i) {
    const double target = area * random.uniform(op.scale[0], op.scale[1]);
    const double aspect = std::exp(random.uniform(log_low, log_high));
    const double w = std::nearbyint(std::sqrt(target * aspect));
    const double h = std::nearbyint(std::sqrt(target / aspect));
    if (w > 0 && w <= image.width && h > 0 && h <= image.height) {
      const int height = static_cast<int>(h), width = static_cast<int>(w);
      const auto top = static_cast<int>(random.below(static_cast<std::uint64_t>(image.height - height) + 1));
      const auto left = static_cast<int>(random.below(static_cast<std::uint64_t>(image.width - width) + 1));
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

PixelFormat with_normalize(const std::vector<Op>& ops, PixelFormat format) {
  bool normalized = format.mean.has_value() || format.std.has_value();
  for (const Op& op : ops) {
    check(op);
    if (const auto* normalize = std::get_if<Normalize>(&op)) {
      if (normalized) refuse("a plan has one Normalize at most: put the two together into one");
      format.mean = normalize->mean;
      format.std = normalize->std;
      normalized = true;
    } else if (normalized && !std::holds_alternative<RandomHorizontalFlip>(op)) {
      refuse(
          "Normalize comes last (only RandomHorizontalFlip may follow it): resizing and cropping work on the "
          "bytes");
    }
  }
  return format;
}

// The size after an operation.
Size size_after(const Op& op, Size image) {
  return std::visit(
      Overloaded{[](const RandomResizedCrop& o) { return o.size; }, [](const Resize& o) { return o.size; },
                 [&](const ResizeShorter& o) { return shorter_to(image, o); },
                 [](const CenterCrop& o) { return o.size; },
                 [&](const RandomHorizontalFlip&) { return image; }, [&](const Normalize&) { return image; }},
      op);
}

std::string impossible(Size before, Size after) {
  return "Resize would turn an image of " + text(before) + " (height x width) into " + text(after) +
         ", but sides must be 1 to " + std::to_string(kMaxSide);
}

bool possible(Size size) {
  return size.height > 0 && size.width > 0 && size.height <= kMaxSide && size.width <= kMaxSide;
}

}  // namespace

Plan::Plan(std::vector<Op> ops, PassOrder order, PixelFormat basics)
    : ops_(std::move(ops)), order_(order), writer_(with_normalize(ops_, basics)) {
  for (const Op& op : ops_) {
    const bool fixes = std::holds_alternative<RandomResizedCrop>(op) || std::holds_alternative<Resize>(op) ||
                       std::holds_alternative<CenterCrop>(op);
    if (!fixes && !static_size_) continue;
    const Size after = size_after(op, static_size_.value_or(Size{}));
    if (!possible(after)) refuse(impossible(*static_size_, after));
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
  for (std::size_t i = 0; i < ops_.size() && possible(image); ++i) {
    const int op = static_cast<int>(i);
    if (const auto* crop = std::get_if<RandomResizedCrop>(&ops_[i])) {
      draws.push_back({op, draw_crop(*crop, image, random), false});
    } else if (const auto* flip = std::get_if<RandomHorizontalFlip>(&ops_[i])) {
      draws.push_back({op, {}, random.uniform() < flip->p});
    }
    image = size_after(ops_[i], image);
  }
}

Status Plan::resolve(Size image, const Draws& draws, Steps& steps) const {
  steps.start(image);
  auto draw = draws.begin();
  for (const Op& op : ops_) {
    const Size before = steps.size();
    const Size after = size_after(op, before);
    if (!possible(after)) return {Errc::bad_data, impossible(before, after)};
    std::visit(Overloaded{[&](const RandomResizedCrop& o) {
                            steps.crop(draw++->crop);
                            steps.resize(o.size, o.filter, order_);
                          },
                          [&](const Resize& o) { steps.resize(after, o.filter, order_); },
                          [&](const ResizeShorter& o) { steps.resize(after, o.filter, order_); },
                          [&](const CenterCrop&) {
                            steps.crop({center(before.height, after.height),
                                        center(before.width, after.width), after.height, after.width});
                          },
                          [&](const RandomHorizontalFlip&) {
                            if (draw++->flip) steps.flip();
                          },
                          [](const Normalize&) {}},
               op);
  }
  return {};
}

}  // namespace pyfastdl
