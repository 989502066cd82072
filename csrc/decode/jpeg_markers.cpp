#include "decode/jpeg_markers.h"

#include <cstddef>
#include <string_view>

namespace pyfastdl {
namespace {

using std::string_view_literals::operator""sv;

constexpr int kFirstMarker = 0xC0;
constexpr int kStartOfScan = 0xDA;
constexpr int kApp1 = 0xE1;

// Whether a length and that many bytes follow the marker.
bool has_segment(int marker) {
  const bool alone =
      marker == 0xC8 || (marker >= 0xD0 && marker <= 0xD9) || (marker >= 0xF0 && marker <= 0xFD);
  return !alone;
}

void take_app1(std::span<const std::uint8_t> segment, JpegMarkers& found) {
  constexpr auto kXmp = "http://ns.adobe.com/xap/1.0/\0"sv;
  const std::string_view text(reinterpret_cast<const char*>(segment.data()), segment.size());
  if (text.starts_with("Exif\0\0"sv)) {
    found.exif = segment;
    ++found.exif_segments;
  } else if (text.starts_with(kXmp)) {
    found.xmp = segment.subspan(kXmp.size());
  }
}

}  // namespace

JpegMarkers find_markers(std::span<const std::uint8_t> bytes) {
  JpegMarkers found;
  std::size_t at = 2;
  while (true) {
    // Junk up to the next FF; more of them are padding.
    while (at < bytes.size() && bytes[at] != 0xFF) ++at;
    while (at < bytes.size() && bytes[at] == 0xFF) ++at;
    if (at >= bytes.size()) return found;
    const int marker = bytes[at++];
    if (marker == 0) continue;  // an FF of data
    if (marker < kFirstMarker) {
      found.foreign = marker;
      return found;
    }
    if (marker == kStartOfScan) return found;
    if (!has_segment(marker)) continue;
    if (bytes.size() - at < 2) return found;
    const std::size_t length = static_cast<std::size_t>(bytes[at]) << 8 | bytes[at + 1];
    at += 2;
    if (length <= 2) continue;
    if (bytes.size() - at < length - 2) return found;
    if (marker == kApp1) take_app1(bytes.subspan(at, length - 2), found);
    at += length - 2;
  }
}

}  // namespace pyfastdl
