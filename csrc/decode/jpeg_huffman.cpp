#include "decode/jpeg_huffman.h"

#include <algorithm>
#include <cstring>

namespace pyfastdl {
namespace {

constexpr std::uint32_t kLookMask = kLooks - 1;
constexpr int kZeroRun =
    15;  // a size of 0 with this run is sixteen zeros, with any other the end of the block

bool same(const JHUFF_TBL& a, const JHUFF_TBL& b) {
  return std::memcmp(a.bits, b.bits, sizeof(a.bits)) == 0 &&
         std::memcmp(a.huffval, b.huffval, sizeof(a.huffval)) == 0;
}

// A symbol at the top of `look`, of whose bits `known` are real.
struct Seen {
  int run = 0;
  int size = 0;
  int code_bits = 0;  // 0: the code isn't in sight
  int bits() const { return code_bits + size; }
  bool end_of_block() const { return code_bits > 0 && size == 0 && run != kZeroRun; }
};

Seen see(const HuffmanCodes& codes, std::uint32_t look, int known) {
  const std::uint16_t entry = codes.by_look[look];
  const int length = entry >> 8;
  if (length == 0 || length > known) return {};
  return {(entry & 0xFF) >> 4, entry & 15, length};
}

// The number behind a symbol. REQUIRES: seen.bits() <= kLookBits.
int number(std::uint32_t look, const Seen& seen) {
  const std::uint32_t bits = look >> (kLookBits - seen.bits()) & ((1u << seen.size) - 1);
  return extend(bits, seen.size);
}

}  // namespace

bool HuffmanCodes::build(const JHUFF_TBL& table) {
  std::memset(by_look, 0, sizeof(by_look));
  std::copy_n(table.huffval, 256, symbols);
  std::uint32_t code = 0;  // the next one, of the length at hand
  int first_symbol = 0;
  for (int length = 1; length <= 16; ++length) {
    const int count = table.bits[length];
    // As in libjpeg, no code may be all ones.
    if (first_symbol + count > 256 || code + static_cast<std::uint32_t>(count) >= (1u << length))
      return false;
    offset[length] = first_symbol - static_cast<std::int32_t>(code);
    if (length <= kLookBits) {
      const int spare = kLookBits - length;
      for (int i = 0; i < count; ++i) {
        const auto entry = static_cast<std::uint16_t>(length << 8 | symbols[first_symbol + i]);
        std::fill_n(by_look + ((code + static_cast<std::uint32_t>(i)) << spare), std::size_t{1} << spare,
                    entry);
      }
    }
    first_symbol += count;
    code += static_cast<std::uint32_t>(count);
    limit[length] = code << (16 - length);
    code <<= 1;
  }
  return true;
}

bool DcTable::build(const JHUFF_TBL& table) {
  if (ok_ && same(built_, table)) return true;
  built_ = table;
  ok_ = codes.build(table);
  int symbols = 0;
  for (int length = 1; length <= 16; ++length) symbols += table.bits[length];
  ok_ = ok_ && std::all_of(table.huffval, table.huffval + symbols, [](int size) { return size <= 15; });
  if (!ok_) return false;
  for (std::uint32_t look = 0; look < kLooks; ++look) {
    const Seen seen = see(codes, look, kLookBits);
    by_look[look] =
        seen.code_bits == 0 || seen.bits() > kLookBits
            ? kSlow
            : static_cast<std::uint32_t>(number(look, seen)) << 16 | static_cast<std::uint32_t>(seen.bits());
  }
  return true;
}

bool AcTable::build(const JHUFF_TBL& table, int max_size, bool skips) {
  if (!ok_ || !same(built_, table)) {
    built_ = table;
    max_size_ = -1;
    skips_ok_ = false;
    ok_ = codes.build(table);
  }
  if (!ok_) return false;
  if (max_size_ != max_size) {
    build_looks(max_size);
    max_size_ = max_size;
  }
  if (skips && !skips_ok_) {
    build_skips();
    skips_ok_ = true;
  }
  return true;
}

void AcTable::build_looks(int max_size) {
  const int max_first = std::min(max_size, 8);
  const int max_second = std::min(max_size, 6);
  for (std::uint32_t look = 0; look < kLooks; ++look) {
    std::uint32_t& entry = by_look[look];
    const auto pack = [](int bits, bool end, int steps, int more_steps, int one, int two) {
      return static_cast<std::uint32_t>(bits) | (end ? kEnd : 0u) | static_cast<std::uint32_t>(steps) << 7 |
             static_cast<std::uint32_t>(more_steps) << 13 | (static_cast<std::uint32_t>(two) & 127) << 16 |
             static_cast<std::uint32_t>(one) << 23;
    };
    const Seen one = see(codes, look, kLookBits);
    if (one.code_bits == 0 || one.bits() > kLookBits || one.size > max_first) {
      entry = kNowhere << 7;
      continue;
    }
    if (one.size == 0) {
      const bool end = one.end_of_block();
      entry = pack(one.bits(), end, end ? 1 : 16, 0, 0, 0);
      continue;
    }
    int bits = one.bits();
    int more_steps = 0, second = 0;
    std::uint32_t rest = look << bits & kLookMask;
    Seen next = see(codes, rest, kLookBits - bits);
    if (next.code_bits > 0 && next.size > 0 && next.size <= max_second && next.run < 7 &&
        bits + next.bits() <= kLookBits) {
      more_steps = next.run + 1;
      second = number(rest, next);
      bits += next.bits();
      rest = look << bits & kLookMask;
      next = see(codes, rest, kLookBits - bits);
    }
    const bool end = next.end_of_block();
    if (end) bits += next.code_bits;
    entry = pack(bits, end, one.run + 1, more_steps, number(look, one), second);
  }
}

void AcTable::build_skips() {
  constexpr int kMostBits = (56 - kLookBits) / 2;  // so that a DC symbol and two looks go with one refill
  for (std::uint32_t look = 0; look < kLooks; ++look) {
    int bits = 0, steps = 0;
    bool end = false;
    while (!end && bits < kLookBits) {
      const Seen seen = see(codes, look << bits & kLookMask, kLookBits - bits);
      if (seen.code_bits == 0 || bits + seen.bits() > kMostBits) break;
      const int more = seen.end_of_block() ? 0 : seen.run + 1;
      if (steps + more > 62) break;
      end = seen.end_of_block();
      bits += seen.bits();
      steps += more;
    }
    skip_by_look[look] =
        static_cast<std::uint16_t>(bits == 0 ? kNowhere << 7
                                             : static_cast<std::uint32_t>(bits) | (end ? kEnd : 0u) |
                                                   static_cast<std::uint32_t>(steps) << 7);
  }
}

}  // namespace pyfastdl
