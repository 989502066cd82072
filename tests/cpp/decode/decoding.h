// What a decoder makes of a file, with the room for rows that the contract gives it watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/geometry.h"
#include "base/status.h"
#include "decode/decoder.h"
#include "decode/encoders.h"

namespace pyfastdl::testing {

struct Decoded {
  Status status;
  Size size;
  Bytes rgb;
};

// Opens, decodes `region` (or everything) in calls of `rows_a_call` rows, finishes. Fails the test if a row
// is written past the room that the contract gives it.
Decoded decode(Decoder& decoder, std::span<const std::uint8_t> bytes, const Region* region = nullptr,
               int rows_a_call = 16, const DecodeLimits& limits = {});

Bytes crop_rgb(const Bytes& rgb, Size size, const Region& region);

// Uniform regions, among them single pixels, whole rows and columns, and edges.
Region random_region(Size size, std::uint32_t& state);

}  // namespace pyfastdl::testing
