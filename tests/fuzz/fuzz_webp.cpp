#include "decode/webp_decoder.h"
#include "one_codec.h"

void pyfastdl::fuzzing::run_input(std::span<const std::uint8_t> input) { decode_file<WebpDecoder>(input); }
