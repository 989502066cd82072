// The orientation of any bytes, as EXIF block and as XMP packet.
#include <cstdint>
#include <cstdlib>

#include "decode/exif.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const pyfastdl::ByteSpan bytes(data, size);
  const std::optional<int> exif = pyfastdl::exif_orientation(bytes);
  const int xmp = pyfastdl::xmp_orientation(bytes);
  if ((exif && (*exif < 1 || *exif > 8)) || xmp < 1 || xmp > 8) std::abort();
  return 0;
}
