#include "decode/jpeg_huffman.h"

#include <algorithm>
#include <cstring>

namespace pyfastdl {
namespace {

constexpr int kZeroRun =
    15;  // a size of 0 with this run is sixteen zeros, with any other the end of the block

bool same(const JHUFF_TBL& a, const JHUFF_TBL& b) {
  return std::memcmp(a.bits, b.bits, sizeof(a.bits)) == 0 &&
         std::memcmp(a.huffval, b.huffval, sizeof(a.huffval)) == 0;
}

// A code, and how many bits it takes with the number behind it.
struct Code {
  std::uint32_t code;
  int length;
  int run;
  int size;
  int bits() const { return length + size; }
  bool end_of_block() const { return size == 0 && run != kZeroRun; }
};

// The codes of at most kLookBits bits, shortest first.
struct ShortCodes {
  Code codes[256];
  int count = 0;
  const Code* begin() const { return codes; }
  const Code* end() const { return codes + count; }
};

ShortCodes short_codes(const JHUFF_TBL& table) {
  ShortCodes out;
  std::uint32_t code = 0;
  int symbol = 0;
  for (int length = 1; length <= kLookBits; ++length, code <<= 1) {
    for (int i = 0; i < table.bits[length]; ++i, ++code, ++symbol) {
      out.codes[out.count++] = {code, length, table.huffval[symbol] >> 4, table.huffval[symbol] & 15};
    }
  }
  return out;
}

// Entries by their next `known` bits, one table behind the other: that for n bits begins at 1 << n.
template <class Entry, int kMostKnown>
struct ByKnownBits {
  Entry entries[2 << kMostKnown];
  Entry* known(int bits) { return entries + (1 << bits); }
};

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
  std::fill_n(by_look, kLooks, kSlow);
  for (const Code& c : short_codes(table)) {
    if (c.bits() > kLookBits) continue;
    const int spare = kLookBits - c.bits();
    for (std::uint32_t number = 0; number < 1u << c.size; ++number) {
      const std::uint32_t entry =
          static_cast<std::uint32_t>(extend(number, c.size)) << 16 | static_cast<std::uint32_t>(c.bits());
      std::fill_n(by_look + ((c.code << c.size | number) << spare), std::size_t{1} << spare, entry);
    }
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
  const ShortCodes all = short_codes(built_);

  // What may follow the first coefficient: a second one, the end of the block, both or nothing that can be seen.
  constexpr int kMostKnown = kLookBits - 2;
  ByKnownBits<std::uint32_t, kMostKnown> tails;
  std::memset(tails.entries, 0, sizeof(tails.entries));
  const Code* ends[kMostKnown + 1];
  int end_count = 0;
  for (const Code& c : all) {
    if (c.end_of_block() && c.length <= kMostKnown && end_count <= kMostKnown) ends[end_count++] = &c;
  }
  for (int known = 1; known <= kMostKnown; ++known) {
    std::uint32_t* tail = tails.known(known);
    for (const Code& c : all) {
      if (c.length > known) break;
      if (c.end_of_block()) {
        const int spare = known - c.length;
        std::fill_n(tail + (c.code << spare), std::size_t{1} << spare,
                    kEnd | static_cast<std::uint32_t>(c.length));
        continue;
      }
      if (c.size == 0 || c.size > max_second || c.run > 6 || c.bits() > known) continue;
      const int spare = known - c.bits();
      for (std::uint32_t bits = 0; bits < 1u << c.size; ++bits) {
        const std::uint32_t entry = static_cast<std::uint32_t>(c.bits()) |
                                    static_cast<std::uint32_t>(c.run + 1) << 13 |
                                    (static_cast<std::uint32_t>(extend(bits, c.size)) & 127) << 16;
        std::uint32_t* place = tail + ((c.code << c.size | bits) << spare);
        std::fill_n(place, std::size_t{1} << spare, entry);
        for (int e = 0; e < end_count; ++e) {
          const int rest = spare - ends[e]->length;
          if (rest < 0) continue;
          std::fill_n(place + (ends[e]->code << rest), std::size_t{1} << rest,
                      (entry + static_cast<std::uint32_t>(ends[e]->length)) | kEnd);
        }
      }
    }
  }

  std::fill_n(by_look, kLooks, kNowhere << 7);
  for (const Code& c : all) {
    if (c.bits() > kLookBits || c.size > max_first) continue;
    const int spare = kLookBits - c.bits();
    if (c.size == 0) {
      const std::uint32_t entry =
          static_cast<std::uint32_t>(c.length) | (c.end_of_block() ? kEnd | 1u << 7 : 16u << 7);
      std::fill_n(by_look + (c.code << spare), std::size_t{1} << spare, entry);
      continue;
    }
    for (std::uint32_t bits = 0; bits < 1u << c.size; ++bits) {
      const std::uint32_t entry = static_cast<std::uint32_t>(c.bits()) |
                                  static_cast<std::uint32_t>(c.run + 1) << 7 |
                                  static_cast<std::uint32_t>(extend(bits, c.size)) << 23;
      const std::uint32_t* tail = tails.known(spare);
      std::uint32_t* place = by_look + ((c.code << c.size | bits) << spare);
      for (int i = 0; i < 1 << spare; ++i) place[i] = entry + tail[i];
    }
  }
}

void AcTable::build_skips() {
  constexpr int kMostBits = (56 - kLookBits) / 2;  // so that a DC symbol and two looks go with one refill
  constexpr std::uint32_t kMostSteps = 62;
  const ShortCodes all = short_codes(built_);
  ByKnownBits<std::uint16_t, kLookBits> table;
  std::memset(table.entries, 0, sizeof(table.entries));
  for (int known = 1; known <= kLookBits; ++known) {
    for (const Code& c : all) {
      if (c.length > known) break;
      if (c.bits() > kMostBits) continue;
      const std::uint32_t one =
          static_cast<std::uint32_t>(c.bits()) |
          (c.end_of_block() ? std::uint32_t{kEnd} : static_cast<std::uint32_t>(c.run + 1) << 7);
      const int spare = known - c.length;
      std::uint16_t* place = table.known(known) + (c.code << spare);
      if (c.end_of_block() || c.size >= spare) {
        std::fill_n(place, std::size_t{1} << spare, static_cast<std::uint16_t>(one));
        continue;
      }
      // What follows is the same for each number.
      const int rest = spare - c.size;
      const std::uint16_t* next = table.known(rest);
      for (int i = 0; i < 1 << rest; ++i) {
        const std::uint32_t both = one + next[i];
        place[i] =
            static_cast<std::uint16_t>((both & 63) <= kMostBits && both >> 7 <= kMostSteps ? both : one);
      }
      for (int number = 1; number < 1 << c.size; ++number)
        std::copy_n(place, std::size_t{1} << rest, place + (number << rest));
    }
  }
  const std::uint16_t* last = table.known(kLookBits);
  for (int look = 0; look < kLooks; ++look) skip_by_look[look] = last[look] != 0 ? last[look] : kNowhere << 7;
}

}  // namespace pyfastdl
