#include "ring/wait.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "ring/ring_testing.h"

namespace pyfastdl {
namespace {

using testing::patience;
using testing::until_somebody_sleeps;

class Wait : public ::testing::TestWithParam<FutexScope> {};
INSTANTIATE_TEST_SUITE_P(Scope, Wait,
                         ::testing::Values(FutexScope::process_private, FutexScope::process_shared),
                         [](const auto& info) {
                           return info.param == FutexScope::process_private ? "private" : "shared";
                         });

TEST_P(Wait, TheKernelIsAskedOnlyWhenSomebodySleeps) {
  Event event;
  EXPECT_FALSE(notify(event, 1, GetParam()));
  EXPECT_EQ(event.sequence.load(), 1u);
  {
    const Sleeper sleeper(event, GetParam());
    EXPECT_TRUE(notify(event, 1, GetParam()));
  }
  EXPECT_FALSE(notify(event, 1, GetParam()));
}

TEST_P(Wait, ANotificationBeforeTheSleepIsNotLost) {
  Event event;
  Sleeper sleeper(event, GetParam());
  notify(event, 1, GetParam());
  EXPECT_EQ(sleeper.sleep(patience()), FutexResult::woken);
}

TEST_P(Wait, AnOldNotificationDoesNotEndIt) {
  Event event;
  notify(event, 1, GetParam());
  Sleeper sleeper(event, GetParam());
  EXPECT_EQ(sleeper.sleep(Deadline::min()), FutexResult::timed_out);
}

TEST_P(Wait, DeadlinesPastAndNearEndIt) {
  Event event;
  Sleeper sleeper(event, GetParam());
  EXPECT_EQ(sleeper.sleep(Deadline::min()), FutexResult::timed_out);
  EXPECT_EQ(sleeper.sleep(Deadline{}), FutexResult::timed_out);
  const Deadline near = std::chrono::steady_clock::now() + std::chrono::milliseconds(3);
  EXPECT_EQ(sleeper.sleep(near), FutexResult::timed_out);
  EXPECT_GE(std::chrono::steady_clock::now(), near);
}

TEST_P(Wait, EverySleeperIsWoken) {
  Event event;
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!go.load()) {
        Sleeper sleeper(event, GetParam());
        if (!go.load()) sleeper.sleep(kNoDeadline);
      }
    });
  }
  while (event.waiters.load() < 4) std::this_thread::yield();
  go.store(true);
  notify(event, 4, GetParam());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(event.waiters.load(), 0u);
}

// Also with SA_RESTART, and without a deadline, where the kernel would go on by itself.
TEST_P(Wait, ASignalHandlerEndsIt) {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  struct sigaction before = {};
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  Event event;
  std::atomic<bool> done{false};
  FutexResult result{};
  std::thread thread([&] {
    Sleeper sleeper(event, GetParam());
    result = sleeper.sleep(kNoDeadline);
    done.store(true);
  });
  until_somebody_sleeps(event);
  // A signal that comes before the sleep is not seen, so: until it is.
  while (!done.load()) {
    ::pthread_kill(thread.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  thread.join();
  EXPECT_EQ(result, FutexResult::interrupted);
  ::sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace pyfastdl
