// Decoder: encoded bytes in, rows of a region out. One implementation per codec behind this contract.
//
// Use: open(bytes) reads the header and checks the limits; then the RowSource protocol. The bytes must stay alive
// until the next open() or the decoder's end. A decoder is used for one image after another, by one thread;
// nothing blocks, nothing is written to stderr, nothing unwinds out of it. After any error the next open()
// starts afresh.
//
// Exactness: the rows are those of Pillow's Image.open(f).convert("RGB"), for any region, unless shrink() was called.
// A file that this decoder does not reproduce, or that Pillow may judge otherwise, gives Errc::unsupported, at open()
// or start(): the pipeline then asks Pillow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/row_source.h"

namespace pyfastdl {

struct DecodeLimits {
  // Pillow raises DecompressionBombError above twice Image.MAX_IMAGE_PIXELS (89,478,485).
  std::uint64_t max_pixels = 2ull * 89478485ull;
  // Scans of a progressive JPEG: each costs a pass over the whole image, so a small file can ask for hours.
  int max_scans = 500;
};

class Decoder : public RowSource {
 public:
  virtual Status open(std::span<const std::uint8_t> bytes, const DecodeLimits& limits) = 0;

  // Gives back what the image took. Until the next open() nothing else may be called.
  virtual void close() = 0;

  // The EXIF orientation that Pillow's ImageOps.exif_transpose would find, 1 to 8 (1: as stored); nullopt where only
  // Pillow can tell. REQUIRES: open() succeeded.
  virtual std::optional<int> orientation() const = 0;

  // Whether the last start() could leave out pixels around its region, rather than decode and drop them.
  virtual bool last_was_region() const { return false; }

  // Why the last region smaller than its image was decoded in full, though its codec can leave out pixels: a reason to
  // distrust the library that does it. nullptr if it was not.
  virtual const char* full_decode_reason() const { return nullptr; }

  // Whether the last image is a JPEG that libjpeg decoded, all of it or the rest, not our own engine.
  virtual bool used_libjpeg() const { return false; }
};

}  // namespace pyfastdl
