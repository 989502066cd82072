#include "decode/jpeg_scan.h"

#include <cstring>

namespace pyfastdl {
namespace {

constexpr std::uint8_t kFirstRestart = 0xD0;
constexpr std::uint8_t kEndOfImage = 0xD9;
constexpr std::size_t kKeptBytes = std::size_t{2} << 20;
constexpr std::size_t kKeptStarts = std::size_t{1} << 16;

}  // namespace

bool JpegScan::read(std::span<const std::uint8_t> bytes, std::size_t intervals) {
  // Each restart takes two bytes, so that a header's claim can't ask for more memory than the file has bytes.
  if (intervals == 0 || intervals > bytes.size() / 2 + 1) return false;
  if (bytes.size() + kReadable <= kKeptBytes) bytes_.trim(kKeptBytes);
  bytes_.resize(bytes.size() + kReadable);
  if (intervals <= kKeptStarts && starts_.capacity() > 2 * kKeptStarts) starts_ = {};
  starts_.clear();
  starts_.push_back(0);

  const std::uint8_t* from = bytes.data();
  const std::uint8_t* const end = from + bytes.size();
  std::uint8_t* to = bytes_.data();
  for (;;) {
    const void* found = std::memchr(from, 0xFF, static_cast<std::size_t>(end - from));
    if (found == nullptr) return false;
    const auto* marker = static_cast<const std::uint8_t*>(found);
    if (end - marker < 2) return false;
    const auto plain = static_cast<std::size_t>(marker - from);
    std::memcpy(to, from, plain);
    to += plain;
    from = marker + 2;
    if (marker[1] == 0) {
      *to++ = 0xFF;
      continue;
    }
    const std::size_t interval = starts_.size() - 1;
    starts_.push_back(static_cast<std::size_t>(to - bytes_.data()));
    if (marker[1] == kEndOfImage) {
      if (interval + 1 != intervals) return false;
      std::memset(to, 0, kReadable);
      return true;
    }
    if (marker[1] != kFirstRestart + interval % 8 || interval + 1 == intervals) return false;
  }
}

}  // namespace pyfastdl
