#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace pyfastdl {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The known answers that Random123 ships (tests/kat_vectors, philox4x32 10).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32_10({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The layout of counter and key is part of what a seed means: these are its first blocks, written out.
TEST(SampleRandom, KeysByEveryPartOfTheSample) {
  const SampleKey key{.seed = 0x1122334455667788, .epoch = 3, .index = 0xABCD12345678, .occurrence = 5};
  SampleRandom random(key, Domain::replacement);
  const std::array<std::uint32_t, 2> philox_key{0x55667788, 0x11223344};
  for (std::uint32_t block = 0; block < 3; ++block) {
    const Words want = philox4x32_10({0xABCD0000u | 2u << 12 | block, 0x12345678, 3, 5}, philox_key);
    for (const std::uint32_t word : want) EXPECT_EQ(random.next(), word);
  }
}

TEST(SampleRandom, SharesNoNumbersBetweenSamples) {
  std::set<std::vector<std::uint32_t>> seen;
  int made = 0;
  const auto add = [&](const SampleKey& key, Domain domain) {
    SampleRandom random(key, domain);
    seen.insert({random.next(), random.next(), random.next(), random.next()});
    ++made;
  };
  for (const Domain domain : {Domain::transform, Domain::shuffle, Domain::replacement}) {
    for (const std::uint64_t seed : {0ull, 1ull, 1ull << 32}) {
      for (const std::uint32_t epoch : {0u, 1u}) {
        for (const std::uint64_t index : {0ull, 1ull, 1ull << 32, (1ull << 48) - 1}) {
          for (const std::uint32_t occurrence : {0u, 1u}) add({seed, epoch, index, occurrence}, domain);
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(made));
}

TEST(SampleRandom, UniformIsMadeOf53Bits) {
  SampleRandom words(SampleKey{.seed = 7});
  SampleRandom doubles(SampleKey{.seed = 7});
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t high = words.next() >> 5;
    const std::uint64_t low = words.next() >> 6;
    const double want = static_cast<double>(high << 26 | low) / 9007199254740992.0;
    const double got = doubles.uniform();
    EXPECT_EQ(got, want);
    EXPECT_GE(got, 0.0);
    EXPECT_LT(got, 1.0);
  }
}

// Pearson's test with fixed numbers: it either always passes or never.
void expect_even(std::uint64_t n, int draws_per_value) {
  SampleRandom random(SampleKey{.seed = 11, .index = n});
  std::vector<int> counts(n);
  for (std::uint64_t i = 0; i < n * static_cast<std::uint64_t>(draws_per_value); ++i) {
    // A generator has 16,384 numbers: take new ones well before.
    if (i % 4096 == 0)
      random = SampleRandom(SampleKey{.seed = 11, .epoch = static_cast<std::uint32_t>(i), .index = n});
    const std::uint64_t value = random.below(n);
    ASSERT_LT(value, n);
    ++counts[value];
  }
  double chi2 = 0;
  for (const int count : counts)
    chi2 += (count - draws_per_value) * (count - draws_per_value) / double(draws_per_value);
  const double freedom = static_cast<double>(n - 1);
  EXPECT_LT(chi2, freedom + 5 * std::sqrt(2 * freedom) + 5) << "n = " << n;
}

TEST(SampleRandom, BelowIsEven) {
  for (const std::uint64_t n : {2, 3, 5, 6, 7, 10, 100, 1000}) expect_even(n, 2000);
}

TEST(SampleRandom, BelowHasNoBiasWhereThereIsMuchToReject) {
  // 3 * 2^30: multiply-and-shift alone would give every third value twice as often as its neighbours.
  const std::uint64_t n = 3ull << 30;
  std::array<int, 3> counts{};
  for (std::uint64_t index = 0; index < 30000; ++index) {
    SampleRandom random(SampleKey{.seed = 5, .index = index});
    const std::uint64_t value = random.below(n);
    ASSERT_LT(value, n);
    ++counts[value % 3];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
}

TEST(SampleRandom, BelowTakesNumbersOfMoreThan32Bits) {
  std::set<std::uint64_t> seen;
  for (const std::uint64_t n : {(1ull << 32) - 1, 1ull << 32, (1ull << 32) + 1, (3ull << 62) + 1, ~0ull}) {
    SampleRandom random(SampleKey{.seed = n});
    std::uint64_t most = 0;
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t value = random.below(n);
      ASSERT_LT(value, n);
      most = std::max(most, value);
      seen.insert(value);
    }
    EXPECT_GT(most, n / 2);
  }
  EXPECT_GT(seen.size(), 990u);
  SampleRandom random(SampleKey{});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(random.below(1), 0u);
}

// Pinned, as the others are: a seed means these numbers.
TEST(SampleRandom, AViewHasAKeyOfItsOwn) {
  const auto first = [](const SampleKey& key, Domain domain = Domain::transform) {
    return SampleRandom(key, domain).next();
  };
  const SampleKey key{.seed = 0x0123456789ABCDEF, .epoch = 7, .index = 0x123456789ABC, .occurrence = 3};
  SampleKey second = key;
  second.view = 1;
  // The block at (domain 3, view, 0, 0) under the seed's key is the view's key.
  const auto block = philox4x32_10({3u << 12, 1, 0, 0}, {0x89ABCDEF, 0x01234567});
  SampleKey derived = key;
  derived.seed = std::uint64_t{block[1]} << 32 | block[0];
  EXPECT_EQ(first(second), first(derived));
  std::set<std::uint32_t> seen;
  for (std::uint32_t view = 0; view < 1000; ++view) {
    second.view = view;
    seen.insert(first(second));
  }
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_EQ(seen.count(first(key)), 1u);
}

TEST(NormalNoise, IsAFunctionOfKeyAndPlace) {
  std::array<float, 10> at_once, in_parts;
  NormalNoise(7).fill(at_once.data(), 10);
  NormalNoise noise(7);
  for (std::size_t begin = 0, count = 1; begin < 10; begin += count, ++count)
    noise.fill(in_parts.data() + begin, count);
  EXPECT_EQ(at_once, in_parts);
  NormalNoise(8).fill(in_parts.data(), 10);
  EXPECT_NE(at_once, in_parts);
}

TEST(NormalNoise, HasTheMomentsOfTheNormalDistribution) {
  constexpr int kCount = 200000;
  std::vector<float> values(kCount);
  NormalNoise(1).fill(values.data(), values.size());
  double moments[5] = {};
  for (const float x : values) {
    ASSERT_TRUE(std::isfinite(x));
    for (int k = 1; k <= 4; ++k) moments[k] += std::pow(x, k) / kCount;
  }
  EXPECT_NEAR(moments[1], 0, 0.01);
  EXPECT_NEAR(moments[2], 1, 0.02);
  EXPECT_NEAR(moments[3], 0, 0.04);
  EXPECT_NEAR(moments[4], 3, 0.15);
}

}  // namespace
}  // namespace pyfastdl
