// Runs ImageOps on an image in memory, in place, bit-equal to torchvision's functions on PIL images (Pillow's
// ImageEnhance, ImageOps, Image.transform and convert are what those call).
//
// One ImageOps per thread: it owns the scratch memory (a second image for operations that can't run in place, tables)
// and keeps it from sample to sample. Nothing blocks.
#pragma once

#include <cstdint>
#include <span>

#include "base/byte_buffer.h"
#include "base/geometry.h"
#include "transform/image_op.h"

namespace pyfastdl {

class ImageOps {
 public:
  // Runs the operations one after another. `rgb` has size.height * size.width packed pixels of three bytes.
  // REQUIRES: the size is not empty. Throws std::bad_alloc.
  void run(std::span<const ImageOp> ops, std::uint8_t* rgb, Size size);

  // Gives back what one huge image took.
  void trim(std::size_t keep) { other_.trim(keep); }

 private:
  ByteBuffer other_;
};

}  // namespace pyfastdl
