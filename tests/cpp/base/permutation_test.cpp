#include "base/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/random.h"

namespace pyfastdl {
namespace {

std::vector<std::int64_t> shuffled(std::size_t n, std::uint64_t seed, std::uint32_t epoch) {
  std::vector<std::int64_t> order(n, -1);
  permutation(order, seed, epoch);
  return order;
}

TEST(Permutation, HasEveryIndexOnce) {
  for (const std::size_t n : {0, 1, 2, 3, 1023, 1024, 1025, 2048, 20000}) {
    std::vector<std::int64_t> order = shuffled(n, 1, 2);
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(order[i], static_cast<std::int64_t>(i));
  }
}

// What a seed means must not change: these orders are for ever.
TEST(Permutation, IsPinned) {
  EXPECT_EQ(shuffled(10, 0, 0), (std::vector<std::int64_t>{3, 4, 0, 6, 9, 1, 7, 5, 8, 2}));
  EXPECT_EQ(shuffled(10, 0, 1), (std::vector<std::int64_t>{2, 3, 7, 1, 5, 4, 0, 8, 6, 9}));
  EXPECT_EQ(shuffled(10, 1ull << 40, 0), (std::vector<std::int64_t>{3, 1, 4, 5, 6, 2, 9, 0, 7, 8}));
  // Across the seams between generators: FNV-1a over all numbers.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::int64_t index : shuffled(5000, 42, 7)) {
    hash = (hash ^ static_cast<std::uint64_t>(index)) * 0x100000001b3;
  }
  EXPECT_EQ(hash, 18038301001843888611u);
}

// The same order from the definition: step `last` takes its number from the generator last / 1024.
TEST(Permutation, IsFisherYatesOverOneGeneratorPer1024Steps) {
  constexpr std::size_t kCount = 2500;
  std::vector<std::int64_t> want(kCount);
  for (std::size_t i = 0; i < kCount; ++i) want[i] = static_cast<std::int64_t>(i);
  for (std::size_t generator = 3; generator-- > 0;) {
    SampleRandom random({.seed = 9, .epoch = 4, .index = generator}, Domain::shuffle);
    for (std::size_t last = std::min(kCount, (generator + 1) * 1024) - 1;
         last > 0 && last / 1024 == generator; --last) {
      std::swap(want[last], want[random.below(last + 1)]);
    }
  }
  EXPECT_EQ(shuffled(kCount, 9, 4), want);
}

TEST(Permutation, MakesEveryOrderEquallyOften) {
  std::map<std::vector<std::int64_t>, int> counts;
  for (std::uint32_t epoch = 0; epoch < 24000; ++epoch) ++counts[shuffled(4, 3, epoch)];
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 160);
}

}  // namespace
}  // namespace pyfastdl
