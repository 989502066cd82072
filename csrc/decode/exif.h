// The orientation that an image's metadata name, as the installed Pillow finds it.
//
// Pure functions over bytes that may be anything: bounded by the bytes' number, nothing is followed twice, no failure.
// Any thread. The layout is TIFF 6.0's (section 2), the tag and its values are EXIF 2.3's (0x0112); what counts where
// they are broken is what Pillow 13 makes of them (Image.Exif.load, ImageFileDirectory_v2.load).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace pyfastdl {

using ByteSpan = std::span<const std::uint8_t>;

// From an EXIF block, with or without "Exif\0\0" before its TIFF header. 1 to 8, where 1 also stands for a value that
// means nothing and for a broken header; nullopt when the block has no such tag, so that XMP is asked.
std::optional<int> exif_orientation(ByteSpan exif);

// From an XMP packet; 1 when it names none.
int xmp_orientation(ByteSpan xmp);

// What both say together. An empty span: there is none.
inline int orientation_of(ByteSpan exif, ByteSpan xmp) {
  const std::optional<int> found = exif_orientation(exif);
  return found ? *found : xmp_orientation(xmp);
}

}  // namespace pyfastdl
