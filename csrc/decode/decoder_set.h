// DecoderSet: a thread's decoders, one a codec, each made when the first file of its kind comes.
//
// One thread. Owns the decoders; one decoder is in use at a time.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "decode/decoder.h"
#include "decode/sniff.h"

namespace pyfastdl {

class DecoderSet {
 public:
  DecoderSet();
  ~DecoderSet();

  // nullptr: the file is for Pillow. Throws std::bad_alloc.
  Decoder* find(Codec codec);

 private:
  std::unique_ptr<Decoder> jpeg_;
  std::unique_ptr<Decoder> png_;
  std::unique_ptr<Decoder> webp_;
};

// The codec libraries: name and version. libpng and libwebp say what is loaded, libjpeg-turbo only what was
// there at build time.
std::vector<std::pair<std::string, std::string>> codec_versions();

}  // namespace pyfastdl
