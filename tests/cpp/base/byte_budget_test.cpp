#include "base/byte_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace pyfastdl {
namespace {

using Reservation = ByteBudget::Reservation;

void await_waiting(const ByteBudget& budget, std::uint64_t threads) {
  while (budget.usage().waiting != threads) std::this_thread::yield();
}

TEST(ByteBudget, GrantsWhatFitsAndTakesItBack) {
  ByteBudget budget(100);
  {
    Reservation a, b;
    ASSERT_TRUE(budget.reserve(60, a).ok());
    ASSERT_TRUE(budget.reserve(40, b).ok());
    EXPECT_EQ(budget.usage().held, 100u);
    EXPECT_EQ(a.bytes(), 60u);
    a.release();
    a.release();  // once is enough
    EXPECT_EQ(budget.usage().held, 40u);
  }
  EXPECT_EQ(budget.usage().held, 0u);
  EXPECT_EQ(budget.usage().peak, 100u);
  EXPECT_EQ(budget.usage().waited.count(), 0);
}

TEST(ByteBudget, RefusesWhatCouldNeverFit) {
  ByteBudget budget(100);
  Reservation a;
  ASSERT_TRUE(budget.reserve(100, a).ok());
  const Status status = budget.reserve(101, a);
  EXPECT_EQ(status.code(), Errc::limit);
  EXPECT_NE(status.message().find("max_memory"), std::string::npos) << status.message();
  EXPECT_EQ(a.bytes(), 0u);  // what it held is given back
  EXPECT_EQ(budget.usage().held, 0u);
}

TEST(ByteBudget, MovedReservationsGiveBackOnce) {
  ByteBudget budget(100);
  Reservation a;
  ASSERT_TRUE(budget.reserve(70, a).ok());
  Reservation b(std::move(a));
  EXPECT_EQ(budget.usage().held, 70u);
  Reservation c;
  ASSERT_TRUE(budget.reserve(20, c).ok());
  c = std::move(b);
  EXPECT_EQ(budget.usage().held, 70u);
  EXPECT_EQ(c.bytes(), 70u);
}

TEST(ByteBudget, ReservingAgainGivesBackFirst) {
  ByteBudget budget(100);
  Reservation a;
  ASSERT_TRUE(budget.reserve(80, a).ok());
  ASSERT_TRUE(budget.reserve(90, a).ok());  // would wait for itself otherwise
  EXPECT_EQ(budget.usage().held, 90u);
}

TEST(ByteBudget, WaitsUntilThereIsRoom) {
  ByteBudget budget(100);
  Reservation a;
  ASSERT_TRUE(budget.reserve(60, a).ok());
  std::atomic<bool> granted{false};
  std::thread other([&] {
    Reservation b;
    EXPECT_TRUE(budget.reserve(50, b).ok());
    granted = true;
  });
  await_waiting(budget, 1);
  EXPECT_FALSE(granted);
  a.release();
  other.join();
  EXPECT_TRUE(granted);
  EXPECT_EQ(budget.usage().held, 0u);
}

TEST(ByteBudget, ALargeRequestIsNotPassedBySmallOnes) {
  ByteBudget budget(100);
  Reservation first;
  ASSERT_TRUE(budget.reserve(60, first).ok());
  std::atomic<bool> large_done{false};
  std::thread large([&] {
    Reservation b;
    EXPECT_TRUE(budget.reserve(100, b).ok());
    large_done = true;  // before it gives back, so before the small one goes on
  });
  await_waiting(budget, 1);
  std::thread small([&] {
    Reservation b;
    EXPECT_TRUE(budget.reserve(10, b).ok());  // would fit, but the large one was there before
    EXPECT_TRUE(large_done);
  });
  await_waiting(budget, 2);
  first.release();
  large.join();
  small.join();
}

TEST(ByteBudget, StopEndsAllWaits) {
  ByteBudget budget(10);
  Reservation a;
  ASSERT_TRUE(budget.reserve(10, a).ok());
  std::vector<std::thread> threads;
  std::atomic<int> closed{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Reservation b;
      if (budget.reserve(5, b).code() == Errc::closed) ++closed;
      EXPECT_EQ(b.bytes(), 0u);
    });
  }
  await_waiting(budget, 4);
  budget.stop();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(closed, 4);
  Reservation c;
  EXPECT_EQ(budget.reserve(0, c).code(), Errc::closed);
}

// Never more than the budget, never a wait without an end.
TEST(ByteBudget, ManyThreadsShareIt) {
  constexpr std::uint64_t kCapacity = 1000;
  ByteBudget budget(kCapacity);
  std::atomic<std::uint64_t> in_use{0}, most{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::uint32_t state = t + 1;
      for (int i = 0; i < 2000; ++i) {
        state = state * 1664525u + 1013904223u;
        const std::uint64_t bytes = (state >> 8) % (kCapacity + 1);
        Reservation r;
        ASSERT_TRUE(budget.reserve(bytes, r).ok());
        const std::uint64_t now = in_use.fetch_add(bytes) + bytes;
        for (std::uint64_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        in_use.fetch_sub(bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, kCapacity);
  EXPECT_LE(budget.usage().peak, kCapacity);
  EXPECT_EQ(budget.usage().held, 0u);
}

}  // namespace
}  // namespace pyfastdl
