// The orientation of any bytes, as EXIF block and as XMP packet.
#include <optional>

#include "decode/exif.h"
#include "target.h"

namespace pyfastdl::fuzzing {

void run_input(std::span<const std::uint8_t> bytes) {
  const std::optional<int> exif = exif_orientation(bytes);
  const int xmp = xmp_orientation(bytes);
  expect(!exif || *exif == kAskPillow || (*exif >= 1 && *exif <= 8));
  expect(xmp >= 1 && xmp <= 8);
}

}  // namespace pyfastdl::fuzzing
