#include "decode/decoder_set.h"

#include <png.h>
#include <webp/decode.h>

#include "decode/jpeg_decoder.h"
#include "decode/libjpeg.h"
#include "decode/png_decoder.h"
#include "decode/webp_decoder.h"

#define PYFASTDL_TEXT_OF(x) #x
#define PYFASTDL_TEXT(x) PYFASTDL_TEXT_OF(x)

namespace pyfastdl {

DecoderSet::DecoderSet() = default;
DecoderSet::~DecoderSet() = default;

namespace {

template <class T>
Decoder* made(std::unique_ptr<Decoder>& place) {
  if (place == nullptr) place = std::make_unique<T>();
  return place.get();
}

}  // namespace

Decoder* DecoderSet::find(Codec codec) {
  switch (codec) {
    case Codec::jpeg:
      return made<JpegDecoder>(jpeg_);
    case Codec::png:
      return made<PngDecoder>(png_);
    case Codec::webp:
      return made<WebpDecoder>(webp_);
    case Codec::other:
      break;
  }
  return nullptr;
}

std::vector<std::pair<std::string, std::string>> codec_versions() {
  const int webp = WebPGetDecoderVersion();
  return {
      {"libjpeg-turbo", PYFASTDL_TEXT(LIBJPEG_TURBO_VERSION)},
      {"libpng", png_get_libpng_ver(nullptr)},
      {"libwebp",
       std::to_string(webp >> 16) + "." + std::to_string(webp >> 8 & 255) + "." + std::to_string(webp & 255)},
  };
}

}  // namespace pyfastdl
