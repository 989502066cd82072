// Any bytes: our own JPEG engine and libjpeg must come to the same verdict and the same pixels, for the whole image and
// for a region.
#include "decode/jpeg_decoder.h"
#include "decoder_fuzzer.h"

namespace {

using namespace pyfastdl;

void compare(JpegDecoder& own, JpegDecoder& library, std::span<const std::uint8_t> bytes,
             const Region& region) {
  std::vector<std::uint8_t> a, b;
  const bool ok = fuzzing::decode(own, bytes, region, a);
  if (ok != fuzzing::decode(library, bytes, region, b)) std::abort();
  if (ok && a != b) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  static JpegDecoder own, library;
  library.set_engine(JpegEngine::libjpeg);
  const std::span<const std::uint8_t> bytes(data, n);
  if (!library.open(bytes, fuzzing::kLimits).ok()) return 0;
  const Size size = library.size();
  compare(own, library, bytes, whole(size));
  compare(own, library, bytes, fuzzing::pick_region(bytes, size));
  return 0;
}
