#include "transform/packed_taps.h"

#include <algorithm>
#include <cstddef>

namespace pyfastdl {
namespace {

// Taps of one output, `lead` weights of zero first, as `pairs` pairs of words.
void pack_output(const Taps& taps, int i, int lead, int pairs, std::int32_t* words) {
  const auto weight = [&](int k) { return k >= 0 && k < taps.count[i] ? taps.weight(i, k) : 0; };
  const auto join = [](std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(a) & 0xFFFFu) | static_cast<std::uint32_t>(b)
                                                                                     << 16);
  };
  for (int p = 0; p < pairs; ++p) {
    const std::int32_t a = weight(2 * p - lead);
    const std::int32_t b = weight(2 * p + 1 - lead);
    words[2 * p] = join(a & 0x7FFF, b & 0x7FFF);
    words[2 * p + 1] = join(a >> 15, b >> 15);
  }
}

void reserve(PackedTaps& packed, int size, int longest) {
  packed.size = size;
  packed.pairs = (longest + 1) / 2;
  packed.first.resize(static_cast<std::size_t>(size));
  packed.words.resize(static_cast<std::size_t>(size) * packed.pairs * 2);
}

}  // namespace

void pack_horizontal(const Taps& taps, PackedTaps& packed) {
  reserve(packed, (taps.size() + kOutputGroup - 1) / kOutputGroup * kOutputGroup, taps.longest);
  const int width = taps.end - taps.begin;
  const int last_first = std::max(width - 2 * packed.pairs, 0);
  std::int32_t* words = packed.words.data();
  for (int i = 0; i < packed.size; ++i, words += packed.pairs * 2) {
    const int from = std::min(i, taps.size() - 1);
    const int first = taps.first[from] - taps.begin;
    packed.first[i] = std::min(first, last_first);
    pack_output(taps, from, first - packed.first[i], packed.pairs, words);
  }
}

void pack_vertical(const Taps& taps, PackedTaps& packed) {
  reserve(packed, taps.size(), taps.longest);
  std::int32_t* words = packed.words.data();
  for (int i = 0; i < packed.size; ++i, words += packed.pairs * 2) {
    packed.first[i] = taps.first[i] - taps.begin;
    pack_output(taps, i, 0, packed.pairs, words);
  }
}

}  // namespace pyfastdl
