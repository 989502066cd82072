#include "transform/packed_taps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "transform/transform_testing.h"

namespace pyfastdl {
namespace {

constexpr std::pair<int, int> kStretches[] = {{330, 224}, {7, 300}, {1000, 3}, {1, 9},
                                              {9, 1},     {5, 5},   {64, 63}};

// Weight `k` of an output, put together from its halves.
std::int32_t weight(const PackedTaps& packed, int i, int k) {
  const std::int32_t* pair = packed.output(i) + k / 2 * 2;
  const auto half = [k](std::int32_t word) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(word) >> (k % 2 * 16) & 0xFFFF);
  };
  EXPECT_LT(half(pair[0]), 1 << 15);
  return half(pair[0]) + static_cast<std::int16_t>(half(pair[1])) * (1 << 15);
}

// Every source position has the weight that Taps gives it, and zero where Taps gives none.
void expect_weights(const Taps& taps, int from, const PackedTaps& packed, int i) {
  for (int k = 0; k < 2 * packed.pairs; ++k) {
    const int tap = packed.first[i] + taps.begin + k - taps.first[from];
    const std::int32_t expected = tap >= 0 && tap < taps.count[from] ? taps.weight(from, tap) : 0;
    ASSERT_EQ(weight(packed, i, k), expected) << "output " << i << ", tap " << k;
  }
  EXPECT_LE(packed.first[i] + taps.begin, taps.first[from]);
  EXPECT_GE(packed.first[i] + taps.begin + 2 * packed.pairs, taps.first[from] + taps.count[from]);
}

TEST(PackedTaps, HorizontalKeepsWeightsAndStaysInsideTheRow) {
  for (const Filter filter : testing::kFilters) {
    for (const auto& [in, out] : kStretches) {
      for (const int begin : {0, out / 2}) {
        Taps taps;
        compute_taps(filter, in, out, begin, out - begin, taps);
        PackedTaps packed;
        pack_horizontal(taps, packed);
        ASSERT_EQ(packed.size % kOutputGroup, 0);
        ASSERT_GE(packed.size, taps.size());
        const int width = taps.end - taps.begin;
        for (int i = 0; i < packed.size; ++i) {
          expect_weights(taps, std::min(i, taps.size() - 1), packed, i);
          EXPECT_GE(packed.first[i], 0);
          EXPECT_LE(packed.first[i] + 2 * packed.pairs, std::max(width, 2 * packed.pairs));
        }
        EXPECT_LE(2 * packed.pairs, width + 1);
      }
    }
  }
}

TEST(PackedTaps, VerticalBeginsWithTheFirstTap) {
  for (const Filter filter : testing::kFilters) {
    for (const auto& [in, out] : kStretches) {
      Taps taps;
      compute_taps(filter, in, out, out / 3, out - out / 3, taps);
      PackedTaps packed;
      pack_vertical(taps, packed);
      ASSERT_EQ(packed.size, taps.size());
      for (int i = 0; i < packed.size; ++i) {
        EXPECT_EQ(packed.first[i], taps.first[i] - taps.begin);
        expect_weights(taps, i, packed, i);
      }
    }
  }
}

}  // namespace
}  // namespace pyfastdl
