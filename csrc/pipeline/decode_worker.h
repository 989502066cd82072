// DecodeWorker: what one thread needs to turn a file's bytes into a finished cell: decoders and scratch memory.
//
// Belongs to one thread (a native decode thread, or one that Python owns). Nothing here blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/pixels_source.h"
#include "decode/decoder_set.h"
#include "pipeline/core.h"
#include "transform/view_transformer.h"

namespace pyfastdl {

class DecodeWorker {
 public:
  explicit DecodeWorker(Core& core);

  // The file's bytes are in the job. Ends in finish, fail or hand_to_pillow.
  void process(JobPtr job);

  // The job's image was decoded elsewhere: `rgb` has three bytes a pixel and no gaps. Ends in finish or fail.
  void process_pixels(JobPtr job, const std::uint8_t* rgb, Size size);

 private:
  Status transform(const Job& job, RowSource& image);

  Core& core_;
  DecoderSet decoders_;
  PixelsSource pixels_;
  ViewTransformer transformer_;
  std::vector<std::byte*> cells_;  // of the views of the job at hand
  unsigned timed_ = 0;
};

}  // namespace pyfastdl
