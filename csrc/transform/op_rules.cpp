#include "transform/op_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "base/status.h"

namespace pyfastdl {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(Errc::invalid_argument, message); }

std::string text(const Range& range) {
  return '(' + std::to_string(range[0]) + ", " + std::to_string(range[1]) + ')';
}

void check_size(const char* op, Size size) {
  if (!possible(size)) {
    refuse(std::string(op) + " needs a height and a width of 1 to " + std::to_string(kMaxSide) + ", not " +
           text(size));
  }
}

bool ordered(const Range& range, double low, double high) {
  return range[0] >= low && range[0] <= range[1] && range[1] <= high && std::isfinite(range[1]);
}

void check_shares(const char* op, const Range& scale, double most, const Range& ratio) {
  if (!ordered(scale, 0, most)) {
    refuse(std::string(op) + " needs a scale of two numbers from 0 up" +
           (std::isfinite(most) ? " to " + std::to_string(most) : "") + ", the smaller first, not " +
           text(scale));
  }
  if (!(ratio[0] > 0 && ordered(ratio, 0, HUGE_VAL))) {
    refuse(std::string(op) + " needs a ratio of two numbers above 0, the smaller first, not " + text(ratio));
  }
}

void check_probability(const char* op, double p) {
  if (!(p >= 0 && p <= 1))
    refuse(std::string(op) + " needs a probability of 0 to 1, not " + std::to_string(p));
}

void check_padding(const char* op, const Padding& padding) {
  for (const int pixels : {padding.left, padding.top, padding.right, padding.bottom}) {
    if (pixels < -kMaxSide || pixels > kMaxSide) {
      refuse(std::string(op) + " needs a padding of at most " + std::to_string(kMaxSide) + " pixels, not " +
             std::to_string(pixels));
    }
  }
}

void check_factors(const char* name, const std::optional<Range>& range, double low, double high) {
  if (range && !ordered(*range, low, high)) {
    refuse(std::string("ColorJitter needs a range of ") + name + " from " + std::to_string(low) + " up" +
           (std::isfinite(high) ? " to " + std::to_string(high) : "") + ", the smaller number first, not " +
           text(*range));
  }
}

void check_bins(const char* op, int bins) {
  if (bins < 2) {
    refuse(std::string(op) + " needs at least 2 num_magnitude_bins, not " + std::to_string(bins));
  }
}

Size shorter_to(const ResizeShorter& op, Size image) {
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

}  // namespace

std::string text(Size size) { return std::to_string(size.height) + "x" + std::to_string(size.width); }

bool possible(Size size) {
  return size.height > 0 && size.width > 0 && size.height <= kMaxSide && size.width <= kMaxSide;
}

void check(const Op& op) {
  const char* name = op_name(op);
  std::visit(Overloaded{[&](const RandomResizedCrop& o) {
                          check_size(name, o.size);
                          check_shares(name, o.scale, HUGE_VAL, o.ratio);
                        },
                        [&](const Resize& o) { check_size(name, o.size); },
                        [&](const ResizeShorter& o) {
                          check_size(name, {o.shorter, o.shorter});
                          if (o.max_size && *o.max_size <= o.shorter) {
                            refuse("Resize needs a max_size above the size of the shorter side, " +
                                   std::to_string(o.shorter) + ", not " + std::to_string(*o.max_size));
                          }
                        },
                        [&](const CenterCrop& o) { check_size(name, o.size); },
                        [&](const Pad& o) { check_padding(name, o.padding); },
                        [&](const RandomCrop& o) {
                          check_size(name, o.size);
                          if (o.padding) check_padding(name, *o.padding);
                        },
                        [&](const RandomHorizontalFlip& o) { check_probability(name, o.p); },
                        [&](const RandomVerticalFlip& o) { check_probability(name, o.p); },
                        [&](const RandomGrayscale& o) { check_probability(name, o.p); },
                        [&](const ColorJitter& o) {
                          check_factors("brightness", o.brightness, 0, HUGE_VAL);
                          check_factors("contrast", o.contrast, 0, HUGE_VAL);
                          check_factors("saturation", o.saturation, 0, HUGE_VAL);
                          check_factors("hue", o.hue, -0.5, 0.5);
                        },
                        [&](const RandAugment& o) {
                          check_bins(name, o.num_magnitude_bins);
                          if (o.magnitude < 0 || o.magnitude >= o.num_magnitude_bins) {
                            refuse("RandAugment needs a magnitude of 0 to num_magnitude_bins - 1, " +
                                   std::to_string(o.num_magnitude_bins - 1) + ", not " +
                                   std::to_string(o.magnitude));
                          }
                          if (o.num_ops < 0 || o.num_ops > kMaxAugments) {
                            refuse("RandAugment needs num_ops of 0 to " + std::to_string(kMaxAugments) +
                                   ", not " + std::to_string(o.num_ops));
                          }
                        },
                        [&](const TrivialAugmentWide& o) { check_bins(name, o.num_magnitude_bins); },
                        [&](const RandomErasing& o) {
                          check_probability(name, o.p);
                          check_shares(name, o.scale, 1, o.ratio);
                          for (const double value : o.value.value_or(std::array<double, 3>{})) {
                            if (!std::isfinite(value)) refuse("RandomErasing needs a value that is finite");
                          }
                        },
                        [](const auto&) {}},
             op);
}

const char* op_name(const Op& op) {
  return std::visit(
      Overloaded{
          [](const RandomResizedCrop&) { return "RandomResizedCrop"; },
          [](const Resize&) { return "Resize"; }, [](const ResizeShorter&) { return "Resize"; },
          [](const CenterCrop&) { return "CenterCrop"; }, [](const Pad&) { return "Pad"; },
          [](const RandomCrop&) { return "RandomCrop"; },
          [](const RandomHorizontalFlip&) { return "RandomHorizontalFlip"; },
          [](const RandomVerticalFlip&) { return "RandomVerticalFlip"; },
          [](const Grayscale&) { return "Grayscale"; },
          [](const RandomGrayscale&) { return "RandomGrayscale"; },
          [](const ColorJitter&) { return "ColorJitter"; }, [](const RandAugment&) { return "RandAugment"; },
          [](const TrivialAugmentWide&) { return "TrivialAugmentWide"; },
          [](const ToBytes& o) { return o.takes_tensors ? "ToImage" : "PILToTensor"; },
          [](const ToTensor&) { return "ToTensor"; }, [](const ToDtype&) { return "ToDtype"; },
          [](const Normalize&) { return "Normalize"; }, [](const RandomErasing&) { return "RandomErasing"; }},
      op);
}

Size padded_size(const Padding& padding, Size image) {
  const auto side = [](int a, int b, int c) {
    return static_cast<int>(std::clamp<std::int64_t>(std::int64_t{a} + b + c, 0, kMaxSide + 1));
  };
  return {side(padding.top, image.height, padding.bottom), side(padding.left, image.width, padding.right)};
}

Padding taken_away(const Padding& padding) {
  return {std::min(padding.left, 0), std::min(padding.top, 0), std::min(padding.right, 0),
          std::min(padding.bottom, 0)};
}

Size padded_size(const Padding& padding, PadMode mode, Size image) {
  if (mode != PadMode::constant && !possible(padded_size(taken_away(padding), image))) return {};
  return padded_size(padding, image);
}

Padding missing(const RandomCrop& op, Size padded) {
  if (!op.pad_if_needed) return {};
  const int x = std::max(0, op.size.width - padded.width);
  const int y = std::max(0, op.size.height - padded.height);
  return {x, y, x, y};
}

Size padded_size(const RandomCrop& op, Size image) {
  const Size padded = padded_size(op.padding.value_or(Padding{}), op.mode, image);
  return possible(padded) ? padded_size(missing(op, padded), padded) : padded;
}

Size size_after(const Op& op, Size image) {
  return std::visit(
      Overloaded{[](const RandomResizedCrop& o) { return o.size; }, [](const Resize& o) { return o.size; },
                 [&](const ResizeShorter& o) { return shorter_to(o, image); },
                 [](const CenterCrop& o) { return o.size; },
                 [&](const Pad& o) { return padded_size(o.padding, o.mode, image); },
                 [&](const RandomCrop& o) {
                   const Size padded = padded_size(o, image);
                   const bool fits =
                       possible(padded) && padded.height >= o.size.height && padded.width >= o.size.width;
                   return fits ? o.size : Size{};
                 },
                 [&](const auto&) { return image; }},
      op);
}

std::string why_impossible(const Op& op, Size image) {
  if (const auto* crop = std::get_if<RandomCrop>(&op)) {
    return "RandomCrop needs an image of at least " + text(crop->size) +
           " (height x width), but this one has " + text(padded_size(*crop, image)) +
           (crop->padding ? " with its padding" : "") + ": put a Resize before it, or say pad_if_needed=True";
  }
  return std::string(op_name(op)) + " would turn an image of " + text(image) + " (height x width) into " +
         text(size_after(op, image)) + ", but sides must be 1 to " + std::to_string(kMaxSide);
}

std::optional<Size> fixed_size(const Op& op) {
  using Fixed = std::optional<Size>;
  return std::visit(Overloaded{[](const RandomResizedCrop& o) -> Fixed { return o.size; },
                               [](const Resize& o) -> Fixed { return o.size; },
                               [](const CenterCrop& o) -> Fixed { return o.size; },
                               [](const RandomCrop& o) -> Fixed { return o.size; },
                               [](const auto&) -> Fixed { return std::nullopt; }},
                    op);
}

int center(int image, int size) {
  return size > image ? -((size - image) / 2) : static_cast<int>(std::nearbyint((image - size) / 2.0));
}

}  // namespace pyfastdl
