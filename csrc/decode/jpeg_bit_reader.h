// BitReader: bits from bytes without markers or stuffing (JpegScan's), most significant first.
//
// Reads ahead, up to eight bytes past what was taken: the caller sees to it that these can be read, and asks taken()
// whether more bits were used than there are.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pyfastdl {

class BitReader {
 public:
  BitReader() = default;
  explicit BitReader(const std::uint8_t* from) : next_(from) {}

  // From here on at least 56 bits can be looked at and dropped.
  void refill() {
    std::uint64_t word;
    std::memcpy(&word, next_, sizeof(word));
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    // Bits that `bits_` has already, below the ones that count, are or-ed with themselves.
    bits_ |= word >> (count_ & 63);
    next_ += (count_ >> 3 & 7) ^ 7;
    count_ |= 56;
  }

  // The next n bits, 1 <= n <= 32; those that weren't refilled are undefined.
  std::uint32_t look(int n) const { return static_cast<std::uint32_t>(bits_ >> (64 - n)); }

  // Only the low six bits of n count: an entry of a table may be given as it is.
  void drop(std::uint32_t n) {
    bits_ <<= n & 63;
    count_ -= n;
  }

  // 0 <= n <= 16.
  std::uint32_t take(int n) {
    const auto value = static_cast<std::uint32_t>(bits_ >> 32) >> 1 >> (31 - n);
    drop(static_cast<std::uint32_t>(n));
    return value;
  }

  // Where the reader is, at most eight bytes behind what was taken.
  const std::uint8_t* next() const { return next_; }

  // How many bits were dropped since `from`.
  std::ptrdiff_t taken(const std::uint8_t* from) const {
    return (next_ - from) * 8 - static_cast<int>(count_ & 63);
  }

 private:
  std::uint64_t bits_ = 0;
  std::uint32_t count_ = 0;  // of real bits, in its low six bits; what is above them means nothing
  const std::uint8_t* next_ = nullptr;
};

}  // namespace pyfastdl
