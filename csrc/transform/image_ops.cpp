#include "transform/image_ops.h"

#include <cstddef>
#include <variant>

#include "transform/blend.h"
#include "transform/color_kernels.h"
#include "transform/hue.h"
#include "transform/hue_kernels.h"
#include "transform/point_ops.h"
#include "transform/sharpness.h"
#include "transform/warp.h"

namespace pyfastdl {
namespace {

// One operation on one image. `scratch` is for those that can't do without.
struct Runner {
  std::uint8_t* rgb;
  Size size;
  ByteBuffer& scratch;

  std::size_t pixels() const {
    return static_cast<std::size_t>(size.height) * static_cast<std::size_t>(size.width);
  }
  std::size_t bytes() const { return pixels() * 3; }

  void operator()(const AdjustBrightness& op) const {
    const float factor = blend_factor(op.factor);
    if (factor != 1) blend_with_level(rgb, bytes(), 0, factor);
  }
  void operator()(const AdjustContrast& op) const {
    const float factor = blend_factor(op.factor);
    if (factor == 1) return;
    const double mean = static_cast<double>(gray_sum(rgb, pixels())) / static_cast<double>(pixels());
    blend_with_level(rgb, bytes(), static_cast<std::uint8_t>(mean + 0.5), factor);
  }
  void operator()(const AdjustSaturation& op) const {
    const float factor = blend_factor(op.factor);
    if (factor != 1) blend_with_gray(rgb, pixels(), factor);
  }
  void operator()(const AdjustSharpness& op) const {
    const float factor = blend_factor(op.factor);
    if (factor != 1) adjust_sharpness(rgb, size, factor, scratch);
  }
  void operator()(const AdjustHue& op) const { turn_hues(rgb, pixels(), hue_shift(op.factor)); }
  void operator()(const ToGrayscale&) const { to_gray(rgb, pixels()); }
  void operator()(const Invert&) const { invert(rgb, bytes()); }
  void operator()(const Posterize& op) const { posterize(rgb, bytes(), op.bits); }
  void operator()(const Solarize& op) const { solarize(rgb, bytes(), op.threshold); }
  void operator()(const AutoContrast&) const { autocontrast(rgb, pixels()); }
  void operator()(const Equalize&) const { equalize(rgb, pixels()); }
  void operator()(const Affine& op) const { warp(op, rgb, size, scratch); }
  void operator()(const Rotate& op) const { rotate(op, rgb, size, scratch); }
};

}  // namespace

void ImageOps::run(std::span<const ImageOp> ops, std::uint8_t* rgb, Size size) {
  const Runner runner{rgb, size, other_};
  for (const ImageOp& op : ops) std::visit(runner, op);
}

}  // namespace pyfastdl
