// Erasure: a box of finished pixels that is written over, in the cell itself.
//
// Plain values; writing happens on the cell's own thread. Nothing blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/geometry.h"
#include "transform/pixels.h"

namespace pyfastdl {

struct Erasure {
  Region box;  // inside the cell; may be empty
  // nullopt: normal noise by the key `noise`, element after element in the order (channel, row, column).
  std::optional<std::array<double, 3>> value;
  std::uint64_t noise = 0;
  bool flip = false;           // the noise is mirrored left to right,
  bool flip_vertical = false;  // and top to bottom: flips came after it
  bool normalize = false;      // Normalize came after it
};

// Writes it over a cell of that size.
void erase(const Erasure& erasure, const PixelWriter& writer, Size size, std::byte* cell);

}  // namespace pyfastdl
