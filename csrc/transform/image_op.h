// ImageOp: one operation on the finished bytes of an image, with every number already drawn, as plain values.
//
// Each means what torchvision's function of the same name does to a PIL image, to the bit: see image_ops.h, which
// runs them. Which operation a sample gets, and with which numbers, is the plan's business.
#pragma once

#include <array>
#include <cstdint>
#include <variant>

namespace pyfastdl {

// Factors are torchvision's: 1 changes nothing, 0 is black, the mean gray, gray, or blurred.
struct AdjustBrightness {
  double factor = 1;
};
struct AdjustContrast {
  double factor = 1;
};
struct AdjustSaturation {
  double factor = 1;
};
struct AdjustSharpness {
  double factor = 1;
};
// In turns of the colour circle, -0.5 to 0.5.
struct AdjustHue {
  double factor = 0;
};
struct ToGrayscale {};  // three equal channels
struct Invert {};
struct Posterize {
  int bits = 8;  // that are kept, 0 to 8
};
struct Solarize {
  double threshold = 256;  // bytes at or above it are inverted
};
struct AutoContrast {};
struct Equalize {};

enum class Sampling { nearest, bilinear, bicubic };

// Image.transform(size, AFFINE): output pixel (x, y) comes from input (a x + b y + c, d x + e y + f), all of it at pixel
// centres as Pillow has it. What comes from outside the image is `fill`.
struct Affine {
  std::array<double, 6> matrix{1, 0, 0, 0, 1, 0};
  Sampling sampling = Sampling::nearest;
  std::array<std::uint8_t, 3> fill{};
};

// Image.rotate(degrees) counter-clockwise about the centre, the size kept.
struct Rotate {
  double degrees = 0;
  Sampling sampling = Sampling::nearest;
  std::array<std::uint8_t, 3> fill{};
};

using ImageOp =
    std::variant<AdjustBrightness, AdjustContrast, AdjustSaturation, AdjustSharpness, AdjustHue, ToGrayscale,
                 Invert, Posterize, Solarize, AutoContrast, Equalize, Affine, Rotate>;

}  // namespace pyfastdl
