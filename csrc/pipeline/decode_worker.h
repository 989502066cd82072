// DecodeWorker: what one thread needs to turn a file's bytes into a finished cell: decoders and scratch memory.
//
// Belongs to one thread (a native decode thread, or one that Python owns). It waits for nothing but memory that other
// threads hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/pixels_source.h"
#include "decode/decoder_set.h"
#include "pipeline/core.h"
#include "pipeline/sample_source.h"
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
  Status decode(Job& job, Decoder& decoder);
  Status transform(Job& job, RowSource& image, int orientation);
  void count_route(const Decoder& decoder);

  Core& core_;
  DecoderSet decoders_;
  PixelsSource pixels_;
  SampleSource source_;
  ViewTransformer transformer_;
  std::vector<std::byte*> cells_;  // of the views of the job at hand
  unsigned timed_ = 0;
};

}  // namespace pyfastdl
