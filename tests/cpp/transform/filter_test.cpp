#include "transform/filter.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "transform/transform_testing.h"

namespace pyfastdl {
namespace {

constexpr std::int32_t kOne = 1 << kWeightBits;

std::vector<std::int32_t> weights(const Taps& taps, int i) {
  const auto begin = taps.weights.begin() + static_cast<std::ptrdiff_t>(i) * taps.stride;
  return {begin, begin + taps.count[i]};
}

// Halving with the triangle of half-width 2: the four distances 1.5, 0.5, 0.5, 1.5 weigh 1/4, 3/4, 3/4, 1/4, and at the
// edge 3/4, 3/4, 1/4 are made to sum to one.
TEST(Taps, BilinearHalving) {
  Taps taps;
  compute_taps(Filter::bilinear, 8, 4, 0, 4, taps);
  EXPECT_EQ(taps.first, (std::vector<std::int32_t>{0, 1, 3, 5}));
  EXPECT_EQ(taps.count, (std::vector<std::int32_t>{3, 4, 4, 3}));
  EXPECT_EQ(weights(taps, 1), (std::vector<std::int32_t>{kOne / 8, kOne / 8 * 3, kOne / 8 * 3, kOne / 8}));
  EXPECT_EQ(weights(taps, 0), (std::vector<std::int32_t>{1797559, 1797559, 599186}));  // 3/7, 3/7, 1/7
  EXPECT_EQ(taps.longest, 4);
  EXPECT_EQ(taps.begin, 0);
  EXPECT_EQ(taps.end, 8);
}

// Doubling interpolates between neighbours at 1/4 and 3/4; at the edges one neighbour is missing.
TEST(Taps, BilinearDoubling) {
  Taps taps;
  compute_taps(Filter::bilinear, 2, 4, 0, 4, taps);
  EXPECT_EQ(weights(taps, 0), (std::vector<std::int32_t>{kOne}));
  EXPECT_EQ(weights(taps, 1), (std::vector<std::int32_t>{kOne / 4 * 3, kOne / 4}));
  EXPECT_EQ(weights(taps, 2), (std::vector<std::int32_t>{kOne / 4, kOne / 4 * 3}));
  EXPECT_EQ(weights(taps, 3), (std::vector<std::int32_t>{kOne}));
}

TEST(Taps, BoxAveragesBlocks) {
  Taps taps;
  compute_taps(Filter::box, 9, 3, 0, 3, taps);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(taps.first[i], 3 * i);
    EXPECT_EQ(weights(taps, i), (std::vector<std::int32_t>{1398101, 1398101, 1398101}));  // 2^22 / 3
  }
}

// Keys' cubic with a = -1/2 at the distances 1.75, 0.75, 0.25, 1.25.
TEST(Taps, BicubicDoublingHasNegativeLobes) {
  Taps taps;
  compute_taps(Filter::bicubic, 8, 16, 0, 16, taps);
  EXPECT_EQ(weights(taps, 8),
            (std::vector<std::int32_t>{-98304, 950272, 3637248, -294912}));  // x 2^22 / 128: -3 29 111 -9
}

TEST(Taps, LanczosIsSymmetric) {
  Taps taps;
  compute_taps(Filter::lanczos, 30, 15, 0, 15, taps);
  std::vector<std::int32_t> middle = weights(taps, 7);
  EXPECT_EQ(middle.size(), 12u);
  EXPECT_LT(middle[3], 0);
  EXPECT_EQ(middle, std::vector<std::int32_t>(middle.rbegin(), middle.rend()));
}

TEST(Taps, SumToOne) {
  for (const Filter filter : testing::kFilters) {
    for (const auto& [in, out] : {std::pair{330, 224}, {7, 300}, {1000, 3}, {1, 9}, {9, 1}}) {
      Taps taps;
      compute_taps(filter, in, out, 0, out, taps);
      for (int i = 0; i < out; ++i) {
        const std::vector<std::int32_t> w = weights(taps, i);
        EXPECT_NEAR(std::accumulate(w.begin(), w.end(), 0), kOne, taps.count[i]);
      }
    }
  }
}

TEST(Taps, WindowIsPartOfTheWhole) {
  for (const Filter filter : testing::kFilters) {
    Taps all, window;
    compute_taps(filter, 331, 97, 0, 97, all);
    compute_taps(filter, 331, 97, 13, 40, window);
    for (int i = 0; i < 40; ++i) {
      EXPECT_EQ(window.first[i], all.first[i + 13]);
      EXPECT_EQ(weights(window, i), weights(all, i + 13));
    }
    EXPECT_EQ(window.begin, window.first[0]);
    EXPECT_EQ(window.end, window.first[39] + window.count[39]);
    EXPECT_LT(window.end - window.begin, 331 / 2);
  }
}

TEST(VerticalFirst, FollowsPillowsVersions) {
  const Size tall{1001, 10}, square{100, 100};
  EXPECT_FALSE(vertical_first(PassOrder::horizontal_first, tall, {5, 5}));
  EXPECT_TRUE(vertical_first(PassOrder::tall_vertical_first, tall, {1000, 5}));
  EXPECT_FALSE(vertical_first(PassOrder::tall_vertical_first, tall, {1001, 5}));
  EXPECT_FALSE(vertical_first(PassOrder::tall_vertical_first, {1000, 10}, {5, 5}));
  // The height must shrink by more than twice what the width does.
  EXPECT_FALSE(vertical_first(PassOrder::shrink_vertical_first, square, {80, 90}));
  EXPECT_TRUE(vertical_first(PassOrder::shrink_vertical_first, square, {79, 90}));
  EXPECT_TRUE(vertical_first(PassOrder::shrink_vertical_first, square, {99, 100}));
  EXPECT_FALSE(vertical_first(PassOrder::shrink_vertical_first, square, {100, 300}));
  EXPECT_TRUE(vertical_first(PassOrder::shrink_vertical_first, square, {99, 300}));
}

}  // namespace
}  // namespace pyfastdl
