// What the ring's tests share: rings, cells that prove who wrote them, child processes, bounded patience.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "ring/consumer.h"
#include "ring/producer.h"
#include "ring/segment.h"

namespace pyfastdl::testing {

// No test expects a deadline of this kind to be met: it only turns a hang into a failure.
inline Deadline patience() { return std::chrono::steady_clock::now() + std::chrono::seconds(120); }
inline constexpr Deadline kAtOnce = Deadline::min();

// Field 0 is long and odd, so that torn or mixed cells show; field 1 is one word.
inline constexpr std::uint64_t kBodyBytes = 1501;
inline RingSpec spec_of(std::uint32_t slots, std::uint32_t cells) {
  return {slots, cells, {{kBodyBytes}, {sizeof(std::int64_t)}}};
}

inline std::uint64_t mix(std::uint64_t x) {  // splitmix64's finaliser
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

// The bytes that belong to a cell, and to no other cell of any batch.
inline std::vector<std::byte> body_of(std::uint64_t batch, std::uint32_t cell, std::int64_t index) {
  std::vector<std::byte> body(kBodyBytes);
  const std::uint64_t seed = mix(mix(mix(batch + 1) + cell) + static_cast<std::uint64_t>(index));
  for (std::size_t i = 0; i < body.size(); ++i)
    body[i] = static_cast<std::byte>(mix(seed + i / 8) >> i % 8 * 8);
  return body;
}

inline void fill(const Producer& producer, const Ticket& ticket) {
  const std::vector<std::byte> body = body_of(ticket.batch, ticket.cell, ticket.index);
  std::memcpy(producer.cell(ticket, 0), body.data(), body.size());
  std::memcpy(producer.cell(ticket, 1), &ticket.index, sizeof(ticket.index));
}

// `field0`, `field1`: the arrays over the cells.
inline bool holds(const std::byte* field0, const std::byte* field1, std::uint64_t batch, std::uint32_t cell,
                  std::int64_t index) {
  const std::vector<std::byte> body = body_of(batch, cell, index);
  return std::memcmp(field0 + cell * kBodyBytes, body.data(), body.size()) == 0 &&
         std::memcmp(field1 + cell * sizeof(index), &index, sizeof(index)) == 0;
}

inline std::vector<std::int64_t> indices_from(std::int64_t first, std::size_t count) {
  std::vector<std::int64_t> indices(count);
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

inline void until_somebody_sleeps(const Event& event) {
  while (event.waiters.load() == 0) std::this_thread::yield();
}

// A forked child that runs `body` and ends with its value, without the parent's destructors and exit
// handlers. Fork before starting threads: ThreadSanitizer asks for it.
class Child {
 public:
  explicit Child(const std::function<int()>& body) : pid_(::fork()) {
    if (pid_ == 0) {
      int code = 101;
      try {
        code = body();
      } catch (...) {
      }
      ::_exit(code);
    }
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (pid_ > 0) {
      kill();
      reap();
    }
  }

  pid_t pid() const { return pid_; }
  void kill() const { ::kill(pid_, SIGKILL); }
  // The exit status as wait(2) has it; the process is gone afterwards.
  int reap() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }
  // Returns once the child is dead but still a zombie.
  void until_zombie() const {
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
  }

 private:
  pid_t pid_;
};

inline bool exited_with(int status, int code) { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
inline bool killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

// After whatever happened: a fresh producer of this process fills batches, and every slot comes back.
inline void expect_usable(Consumer& consumer) {
  const auto producer = Producer::attach(consumer.segment());
  ASSERT_EQ(consumer.wait_free(patience()), WaitResult::ready);
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t batch = consumer.open(indices_from(i, consumer.spec().cells_per_slot));
    while (const auto ticket = producer->try_claim()) {
      fill(*producer, *ticket);
      producer->publish(*ticket, true);
    }
    ASSERT_EQ(consumer.wait(batch, patience()), WaitResult::ready);
    const std::uint32_t slot = consumer.take(batch);
    for (std::uint32_t c = 0; c < consumer.cell_count(slot); ++c) {
      ASSERT_TRUE(holds(consumer.field(slot, 0), consumer.field(slot, 1), batch, c, i + c));
    }
    consumer.release(slot);
  }
  consumer.cancel_all();
  consumer.reap();
  EXPECT_EQ(consumer.free_slots(), consumer.spec().slots);
  EXPECT_EQ(consumer.producers(), 1u);
}

}  // namespace pyfastdl::testing
