#include "transform/image_ops.h"
namespace pyfastdl {
void ImageOps::run(std::span<const ImageOp> ops, std::uint8_t* rgb, Size size) {
  for (const ImageOp& op : ops)
    if (std::holds_alternative<Invert>(op))
      for (int i = 0; i < size.height * size.width * 3; ++i) rgb[i] = 255 - rgb[i];
}
}  // namespace pyfastdl
