// Affine and Rotate: an image in place becomes what a matrix makes of it, bit-equal to Pillow's Image.transform and
// Image.rotate with the size kept.
//
// Any thread; the scratch memory (a copy of the image, and a table of a row) is the caller's. Nothing blocks.
#pragma once

#include <cstdint>

#include "base/byte_buffer.h"
#include "base/geometry.h"
#include "transform/image_op.h"

namespace pyfastdl {

// What a matrix with numbers that are not finite takes from nowhere is `fill`. REQUIRES: the size is not empty.
// Throws std::bad_alloc.
void warp(const Affine& affine, std::uint8_t* rgb, Size size, ByteBuffer& scratch);

// Turns by 0, 180 and, where the image is square, 90 and 270 degrees move pixels; the others go through a matrix.
// REQUIRES: finite degrees; the size is not empty. Throws std::bad_alloc.
void rotate(const Rotate& rotation, std::uint8_t* rgb, Size size, ByteBuffer& scratch);

}  // namespace pyfastdl
