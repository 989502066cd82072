// The operations that RandAugment and TrivialAugmentWide choose from, their magnitudes, and what each does to an image.
//
// Sources: Cubuk, Zoph, Shlens, Le, "RandAugment" (2019); Müller, Hutter, "TrivialAugment" (2021); the spaces of
// magnitudes are those of torchvision's classes. Their tables are torch.linspace in float32: from the nearer end, with
// one rounding, as torch's vector code has it.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/geometry.h"
#include "transform/image_op.h"
#include "transform/op.h"

namespace pyfastdl {

// In the order in which torchvision lists, and therefore numbers, them.
enum class Augment : std::uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  auto_contrast,
  equalize,
};
inline constexpr std::uint64_t kAugments = 14;

std::string_view augment_name(Augment augment);  // as torchvision spells it: "ShearX"

bool has_magnitude(Augment augment);
// Whether the magnitude gets a random sign.
bool is_signed(Augment augment);

// Without the sign. RandAugment's translations go by the image's size.
double magnitude(const RandAugment& op, Augment augment, Size image);
// REQUIRES: bin is one of num_magnitude_bins.
double magnitude(const TrivialAugmentWide& op, Augment augment, int bin);

// What the operation of that magnitude (with its sign) is for an image of this size; nullopt: nothing to do.
std::optional<ImageOp> image_op(Augment augment, double magnitude, Size image, Sampling sampling,
                                const Rgb& fill);

}  // namespace pyfastdl
