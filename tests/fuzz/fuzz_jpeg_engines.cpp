// Any bytes: our own JPEG engine and libjpeg must come to the same verdict and the same pixels, for the whole image and
// for a region.
#include "decode/jpeg_decoder.h"
#include "one_codec.h"
#include "target.h"

namespace pyfastdl::fuzzing {
namespace {

void compare(JpegDecoder& own, JpegDecoder& library, std::span<const std::uint8_t> bytes,
             const Region& region) {
  std::vector<std::uint8_t> a, b;
  const bool is_sound = decode(own, bytes, region, a);
  expect(is_sound == decode(library, bytes, region, b));
  expect(!is_sound || a == b);
}

}  // namespace

void run_input(std::span<const std::uint8_t> bytes) {
  static JpegDecoder own, library;
  library.set_engine(JpegEngine::libjpeg);
  if (!library.open(bytes, kLimits).ok()) return;
  const Size size = library.size();
  compare(own, library, bytes, whole(size));
  compare(own, library, bytes, pick_region(bytes, size));
}

}  // namespace pyfastdl::fuzzing
