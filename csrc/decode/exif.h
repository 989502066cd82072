// The orientation that an image's metadata name, as the installed Pillow finds it.
//
// Pure functions over bytes that may be anything: bounded by the bytes' number, nothing is followed twice, no failure.
// Any thread. The layout is TIFF 6.0's (section 2), the tag and its values are EXIF 2.3's (0x0112). Of what is broken,
// some is the same in every Pillow (Image.Exif.load, ImageFileDirectory_v2.load); the rest is left to the installed one:
// up to 12.3 the last of several equal tags counts and from 13 the first, and values that claim more than the block has
// end or don't end the reading.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace pyfastdl {

using ByteSpan = std::span<const std::uint8_t>;

// In place of an orientation: only Pillow can tell.
inline constexpr int kAskPillow = 0;

// From an EXIF block, with or without "Exif\0\0" before its TIFF header. 1 to 8, where 1 also stands for a value that
// means nothing and for a broken header; nullopt when the block has no such tag, so that XMP is asked; or kAskPillow.
std::optional<int> exif_orientation(ByteSpan exif);

// From an XMP packet; 1 when it names none.
int xmp_orientation(ByteSpan xmp);

// What both say together, 1 to 8; nullopt: only Pillow can tell. An empty span: there is none.
inline std::optional<int> orientation_of(ByteSpan exif, ByteSpan xmp) {
  const std::optional<int> found = exif_orientation(exif);
  if (found == kAskPillow) return std::nullopt;
  return found ? *found : xmp_orientation(xmp);
}

}  // namespace pyfastdl
