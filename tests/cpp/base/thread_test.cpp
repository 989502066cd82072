#include "base/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"

namespace pyfastdl {
namespace {

using Clock = std::chrono::steady_clock;

class Gate {
 public:
  void open() {
    MutexLock lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void pass() {
    MutexLock lock(mutex_);
    while (!open_) opened_.wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar opened_;
  bool open_ PYFASTDL_GUARDED_BY(mutex_) = false;
};

TEST(Thread, RunsItsBodyUnderItsName) {
  Thread thread;
  EXPECT_FALSE(thread.joinable());
  std::string name;
  thread.start("fastdl-decode-17-and-more", [&] {
    char text[16] = {};
    pthread_getname_np(pthread_self(), text, sizeof text);
    name = text;
  });
  EXPECT_TRUE(thread.joinable());
  thread.join();
  EXPECT_FALSE(thread.joinable());
  EXPECT_EQ(name, "fastdl-decode-1");
  thread.join();
}

TEST(Thread, HandlesNoSignalOfTheProcess) {
  sigset_t before, inside, after;
  sigemptyset(&inside);
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  Thread thread;
  thread.start("signals", [&] { pthread_sigmask(SIG_SETMASK, nullptr, &inside); });
  thread.join();
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int blocked :
       {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGALRM, SIGUSR1, SIGUSR2, SIGPIPE, SIGPROF, SIGWINCH}) {
    EXPECT_EQ(sigismember(&inside, blocked), 1) << blocked;
  }
  for (const int open : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) EXPECT_EQ(sigismember(&inside, open), 0) << open;
  for (int i = 1; i < SIGRTMAX; ++i) EXPECT_EQ(sigismember(&before, i), sigismember(&after, i)) << i;
}

TEST(Thread, JoinUntilGivesUpAtTheDeadlineAndCanBeCalledAgain) {
  Gate gate;
  Thread thread;
  thread.start("gate", [&] { gate.pass(); });
  EXPECT_FALSE(thread.join_until(Clock::now() - std::chrono::seconds(1)));
  EXPECT_FALSE(thread.join_until(Clock::now() + std::chrono::milliseconds(5)));
  EXPECT_TRUE(thread.joinable());
  gate.open();
  EXPECT_TRUE(thread.join_until(Clock::now() + std::chrono::hours(1)));
  EXPECT_FALSE(thread.joinable());
  EXPECT_TRUE(thread.join_until(Clock::now()));
}

TEST(Thread, TheDestructorJoinsAndAMovedThreadIsOneThread) {
  std::atomic<int> ran{0};
  {
    Thread first;
    first.start("moved", [&] { ran.fetch_add(1); });
    const Thread second(std::move(first));
    EXPECT_FALSE(first.joinable());  // NOLINT(bugprone-use-after-move): that is what it shows
    EXPECT_TRUE(second.joinable());
  }
  EXPECT_EQ(ran.load(), 1);
}

TEST(Thread, WhatTheBodyOwnsDiesOnItsThread) {
  std::thread::id ran, freed;
  Thread thread;
  std::shared_ptr<void> owned(nullptr, [&](void*) { freed = std::this_thread::get_id(); });
  thread.start("owner", [&ran, owned = std::move(owned)] { ran = std::this_thread::get_id(); });
  thread.join();
  EXPECT_NE(ran, std::this_thread::get_id());
  EXPECT_EQ(freed, ran);
}

TEST(Thread, StartsAgain) {
  Thread thread;
  int runs = 0;
  for (int i = 0; i < 3; ++i) {
    thread.start("again", [&] { ++runs; });
    thread.join();
  }
  EXPECT_EQ(runs, 3);
}

// A forked child has the Thread's bytes but not the thread: joining it there would never end.
TEST(Thread, IsInertInAForkedChild) {
  Gate gate;
  auto thread = std::make_unique<Thread>();
  thread->start("parent", [&] { gate.pass(); });
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const bool joined = thread->join_until(Clock::now() + std::chrono::hours(1));
    thread.reset();
    _exit(joined ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  gate.open();
  thread->join();
}

}  // namespace
}  // namespace pyfastdl
