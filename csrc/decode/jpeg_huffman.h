// Huffman tables in the forms that jpeg_entropy.cpp reads: one look at the next kLookBits bits tells as much as
// these bits can tell.
//
// A table is built for one image and kept for the next, whose tables are often the same: build() then does nothing.
// One thread; nothing allocates.
#pragma once

#include <cstdint>

#include "decode/libjpeg.h"

namespace pyfastdl {

// Codes are at most 16 bits long, and numbers behind them at most 15. A DC symbol and four looks at AC symbols take
// 5 * kLookBits bits, which is what a refilled reader surely holds (56): so many symbols need one refill.
inline constexpr int kLookBits = 11;
inline constexpr int kLooks = 1 << kLookBits;

// One symbol at a time, of any length.
struct HuffmanCodes {
  // By the next bits: length << 8 | symbol; 0 where the code is longer or there is none.
  std::uint16_t by_look[kLooks];
  // For lengths beyond kLookBits: a code of this length, followed by anything, is below limit (of 16 bits); its
  // symbol is at its number (of `length` bits) plus offset.
  std::uint32_t limit[17];
  std::int32_t offset[17];
  std::uint8_t symbols[256];

  // False if libjpeg would refuse the table.
  bool build(const JHUFF_TBL& table);
};

// The number that `size` bits mean (ITU T.81, F.2.2.1: EXTEND). REQUIRES: 0 <= size <= 15.
inline int extend(std::uint32_t bits, int size) {
  const int value = static_cast<int>(bits);
  const int low = size == 0 ? 0 : (1 << size) - 1;
  return size > 0 && value < (1 << (size - 1)) ? value - low : value;
}

class DcTable {
 public:
  // An entry: bits to drop in its low six bits, the difference in its upper sixteen; kSlow if the code and its number
  // don't fit. A DC symbol is a size of at most 15 bits: others make build() fail.
  static constexpr std::uint32_t kSlow = 0;
  std::uint32_t by_look[kLooks];
  HuffmanCodes codes;

  bool build(const JHUFF_TBL& table);

 private:
  JHUFF_TBL built_{};
  bool ok_ = false;
};

// AC symbols. Positions count in the order of the file (zigzag); an entry says how far to go from the last one.
class AcTable {
 public:
  // Up to two coefficients and the end of the block. From the low bits: 6 bits to drop, 1 end of block, 6 steps to the
  // first coefficient, 3 more steps to the second one (0: there is none), 7 and 9 bits: the second and the first one,
  // signed. The first is 0 for an end of block alone (then one step too far) and for sixteen zeros. An entry that
  // isn't complete goes kNowhere steps.
  static constexpr std::uint32_t kNowhere = 63;
  static constexpr std::uint32_t kEnd = 1u << 6;
  static int first_step(std::uint32_t e) { return static_cast<int>(e >> 7 & 63); }
  static int second_step(std::uint32_t e) { return static_cast<int>(e >> 13 & 7); }
  static int second(std::uint32_t e) { return static_cast<std::int32_t>(e << 9) >> 25; }
  static int first(std::uint32_t e) { return static_cast<std::int32_t>(e) >> 23; }
  std::uint32_t by_look[kLooks];

  // As many symbols as can be seen, without what they say: 6 bits to drop (22 at most), 1 end of block, then steps.
  std::uint16_t skip_by_look[kLooks];

  HuffmanCodes codes;

  // Coefficients of more than max_size bits are never in an entry of by_look. `skips`: skip_by_look is needed.
  bool build(const JHUFF_TBL& table, int max_size, bool skips);

 private:
  void build_looks(int max_size);
  void build_skips();

  JHUFF_TBL built_{};
  int max_size_ = -1;
  bool ok_ = false;
  bool skips_ok_ = false;
};

}  // namespace pyfastdl
