// The segments of a JPEG file before its first scan, as Pillow walks through them: it decides by them whether it takes
// the file, and has its metadata from them.
//
// A pure function over bytes that may be anything; any thread.
#pragma once

#include <cstdint>
#include <span>

namespace pyfastdl {

struct JpegMarkers {
  // A code that Pillow takes for no marker, so that it refuses the file, where libjpeg may go on; -1: none.
  int foreign = -1;
  // The payload of the EXIF segment, with its "Exif\0\0". Several ones are put together by Pillow.
  std::span<const std::uint8_t> exif;
  int exif_segments = 0;
  std::span<const std::uint8_t> xmp;  // the last packet
};

// REQUIRES: the bytes begin with those of a JPEG file (FF D8 FF).
JpegMarkers find_markers(std::span<const std::uint8_t> bytes);

}  // namespace pyfastdl
