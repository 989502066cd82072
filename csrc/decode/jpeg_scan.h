// JpegScan: the data of a JPEG's only scan, without stuffed zeros and markers.
//
// Only data that are beyond doubt: bytes with 0xFF 0x00 for 0xFF, restart markers in their order and as many as there
// must be, and the end marker behind them. So whoever decodes them never meets a marker, knows where every restart
// interval begins, and reads eight bytes at a time.
//
// One thread. Owns a copy of the data, kept from image to image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_buffer.h"

namespace pyfastdl {

class JpegScan {
 public:
  // So many bytes behind the last interval can be read; they are zero.
  static constexpr std::size_t kReadable = 512;

  // `bytes` begin behind the scan's header. False if they are not `intervals` sound restart intervals (1: there are no
  // restarts). Throws std::bad_alloc.
  bool read(std::span<const std::uint8_t> bytes, std::size_t intervals);

  const std::uint8_t* begin(std::size_t interval) const { return bytes_.data() + starts_[interval]; }
  const std::uint8_t* end(std::size_t interval) const { return bytes_.data() + starts_[interval + 1]; }

 private:
  ByteBuffer bytes_;
  std::vector<std::size_t> starts_;
};

}  // namespace pyfastdl
