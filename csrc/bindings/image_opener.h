// ImageOpener: one encoded image in memory, opened for a user's own call.
//
// Belongs to the call. Borrows the bytes. Neither needs the GIL.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/oriented_source.h"
#include "decode/decoder_set.h"

namespace pyfastdl::bindings {

class ImageOpener {
 public:
  // As it is stored. nullptr: the image is one for Pillow. Throws Error.
  Decoder* open(std::span<const std::uint8_t> bytes, std::uint64_t max_pixels) {
    Decoder* decoder = decoders_.find(sniff(bytes));
    if (decoder == nullptr) return nullptr;
    DecodeLimits limits;
    limits.max_pixels = max_pixels;
    const Status status = decoder->open(bytes, limits);
    if (status.code() == Errc::unsupported) return nullptr;
    if (!status.ok()) throw Error(status);
    return decoder;
  }

  // The same, turned if that is wanted.
  RowSource* open(std::span<const std::uint8_t> bytes, std::uint64_t max_pixels,
                  bool apply_exif_orientation) {
    Decoder* decoder = open(bytes, max_pixels);
    if (decoder == nullptr || !apply_exif_orientation) return decoder;
    const std::optional<int> orientation = decoder->orientation();
    if (!orientation) return nullptr;
    if (*orientation == 1) return decoder;
    oriented_.reset(*decoder, *orientation);
    return &oriented_;
  }

 private:
  DecoderSet decoders_;
  OrientedSource oriented_;
};

}  // namespace pyfastdl::bindings
