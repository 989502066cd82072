#include "base/stage_clock.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <thread>
#include <vector>

namespace pyfastdl {
namespace {

using std::chrono::nanoseconds;

TEST(StageClocks, AddUpWhatManyThreadsAdd) {
  StageClocks clocks;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&clocks] {
      for (int n = 0; n < 1000; ++n) {
        clocks.add(Stage::decode, nanoseconds(3));
        clocks.add(Stage::wait_batch, nanoseconds(5), 2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const StageSnapshot snapshot = clocks.snapshot();
  EXPECT_EQ(snapshot[Stage::decode].nanoseconds, 12000u);
  EXPECT_EQ(snapshot[Stage::decode].count, 4000u);
  EXPECT_EQ(snapshot[Stage::wait_batch].nanoseconds, 20000u);
  EXPECT_EQ(snapshot[Stage::wait_batch].count, 8000u);
  EXPECT_EQ(snapshot[Stage::read].count, 0u);
}

TEST(StageClocks, AScopeIsOneStretch) {
  StageClocks clocks;
  const auto before = std::chrono::steady_clock::now();
  {
    const ScopedStage stage(clocks, Stage::read);
    while (std::chrono::steady_clock::now() - before < std::chrono::microseconds(50)) {
    }
  }
  const auto most = std::chrono::steady_clock::now() - before;
  const StageTime time = clocks.snapshot()[Stage::read];
  EXPECT_EQ(time.count, 1u);
  EXPECT_GT(time.nanoseconds, 0u);
  EXPECT_LE(time.nanoseconds, static_cast<std::uint64_t>(nanoseconds(most).count()));
}

TEST(StageClocks, NamesEveryStage) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kStages; ++i) names.insert(stage_name(static_cast<Stage>(i)));
  EXPECT_EQ(names.size(), kStages);
  EXPECT_EQ(names.count(""), 0u);
  EXPECT_EQ(stage_name(Stage::wait_batch), "wait_batch");
}

}  // namespace
}  // namespace pyfastdl
