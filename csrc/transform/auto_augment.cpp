#include "transform/auto_augment.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "transform/affine_matrix.h"

namespace pyfastdl {
namespace {

struct Entry {
  std::string_view name;
  bool has_magnitude;
  bool is_signed;
};
constexpr std::array<Entry, kAugments> kEntries{{{"Identity", false, false},
                                                 {"ShearX", true, true},
                                                 {"ShearY", true, true},
                                                 {"TranslateX", true, true},
                                                 {"TranslateY", true, true},
                                                 {"Rotate", true, true},
                                                 {"Brightness", true, true},
                                                 {"Color", true, true},
                                                 {"Contrast", true, true},
                                                 {"Sharpness", true, true},
                                                 {"Posterize", true, false},
                                                 {"Solarize", true, false},
                                                 {"AutoContrast", false, false},
                                                 {"Equalize", false, false}}};

const Entry& entry(Augment augment) { return kEntries[static_cast<std::size_t>(augment)]; }

// torch.linspace(first, last, bins)[bin].
double linspace(double first, double last, int bins, int bin) {
  const auto a = static_cast<float>(first), b = static_cast<float>(last);
  const float step = (b - a) / static_cast<float>(bins - 1);
  if (bin < bins / 2) return std::fma(step, static_cast<float>(bin), a);
  return std::fma(-step, static_cast<float>(bins - 1 - bin), b);
}

// 8 - (torch.arange(bins) / ((bins - 1) / range)).round(), bin by bin.
double posterize_bits(double range, int bins, int bin) {
  const auto step = static_cast<float>((bins - 1) / range);
  return 8 - std::nearbyint(static_cast<float>(bin) / step);
}

// The last value of each table; the first is 0.
struct Space {
  double shear, translate_x, translate_y, rotate, factor, posterize;
};

double magnitude(const Space& space, Augment augment, int bins, int bin) {
  const auto up_to = [&](double last) { return linspace(0, last, bins, bin); };
  switch (augment) {
    case Augment::shear_x:
    case Augment::shear_y:
      return up_to(space.shear);
    case Augment::translate_x:
      return up_to(space.translate_x);
    case Augment::translate_y:
      return up_to(space.translate_y);
    case Augment::rotate:
      return up_to(space.rotate);
    case Augment::brightness:
    case Augment::color:
    case Augment::contrast:
    case Augment::sharpness:
      return up_to(space.factor);
    case Augment::posterize:
      return posterize_bits(space.posterize, bins, bin);
    case Augment::solarize:
      return linspace(255, 0, bins, bin);
    case Augment::identity:
    case Augment::auto_contrast:
    case Augment::equalize:
      break;
  }
  return 0;
}

double shear_degrees(double magnitude) { return std::atan(magnitude) * (180.0 / std::numbers::pi); }

}  // namespace

std::string_view augment_name(Augment augment) { return entry(augment).name; }
bool has_magnitude(Augment augment) { return entry(augment).has_magnitude; }
bool is_signed(Augment augment) { return entry(augment).is_signed; }

double magnitude(const RandAugment& op, Augment augment, Size image) {
  const double share = 150.0 / 331.0;
  return magnitude(Space{0.3, share * image.width, share * image.height, 30, 0.9, 4}, augment,
                   op.num_magnitude_bins, op.magnitude);
}

double magnitude(const TrivialAugmentWide& op, Augment augment, int bin) {
  return magnitude(Space{0.99, 32, 32, 135, 0.99, 6}, augment, op.num_magnitude_bins, bin);
}

std::optional<ImageOp> image_op(Augment augment, double magnitude, Size image, Sampling sampling,
                                const Rgb& fill) {
  const auto affine = [&](std::array<double, 2> center, std::array<double, 2> translate,
                          std::array<double, 2> shear) {
    return Affine{inverse_affine_matrix(center, 0, translate, 1, shear), sampling, fill};
  };
  const std::array<double, 2> middle{image.width * 0.5, image.height * 0.5};
  switch (augment) {
    case Augment::shear_x:
      return affine({0, 0}, {0, 0}, {shear_degrees(magnitude), 0});
    case Augment::shear_y:
      return affine({0, 0}, {0, 0}, {0, shear_degrees(magnitude)});
    case Augment::translate_x:
      return affine(middle, {std::trunc(magnitude), 0}, {0, 0});
    case Augment::translate_y:
      return affine(middle, {0, std::trunc(magnitude)}, {0, 0});
    case Augment::rotate:
      return Rotate{magnitude, sampling, fill};
    case Augment::brightness:
      return AdjustBrightness{1.0 + magnitude};
    case Augment::color:
      return AdjustSaturation{1.0 + magnitude};
    case Augment::contrast:
      return AdjustContrast{1.0 + magnitude};
    case Augment::sharpness:
      return AdjustSharpness{1.0 + magnitude};
    case Augment::posterize:
      return Posterize{static_cast<int>(magnitude)};
    case Augment::solarize:
      return Solarize{magnitude};
    case Augment::auto_contrast:
      return AutoContrast{};
    case Augment::equalize:
      return Equalize{};
    case Augment::identity:
      break;
  }
  return std::nullopt;
}

}  // namespace pyfastdl
