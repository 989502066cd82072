#include "decode/png_decoder.h"
#include "decoder_fuzzer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return pyfastdl::fuzzing::run<pyfastdl::PngDecoder>(data, size);
}
