#include "ring/wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <string>

#include "base/status.h"

namespace pyfastdl {
namespace {

int operation(int op, FutexScope scope) {
  return scope == FutexScope::process_private ? op | FUTEX_PRIVATE_FLAG : op;
}

// The kernel sees a plain word.
std::uint32_t* address(std::atomic<std::uint32_t>& word) { return reinterpret_cast<std::uint32_t*>(&word); }

}  // namespace

FutexResult futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, Deadline deadline,
                       FutexScope scope) {
  // Always with a time (absolute, CLOCK_MONOTONIC, which steady_clock is): without one the kernel itself goes
  // on after a handler installed with SA_RESTART.
  using std::chrono::duration_cast;
  const auto since = std::max(deadline.time_since_epoch(), Deadline::duration::zero());
  const auto seconds = duration_cast<std::chrono::seconds>(since);
  timespec time{};
  time.tv_sec = static_cast<time_t>(seconds.count());
  time.tv_nsec = static_cast<long>(duration_cast<std::chrono::nanoseconds>(since - seconds).count());
  if (::syscall(SYS_futex, address(word), operation(FUTEX_WAIT_BITSET, scope), expected, &time, nullptr,
                FUTEX_BITSET_MATCH_ANY) == 0) {
    return FutexResult::woken;
  }
  switch (errno) {
    case EAGAIN:
      return FutexResult::woken;
    case ETIMEDOUT:
      return FutexResult::timed_out;
    case EINTR:
      return FutexResult::interrupted;
    default:
      throw Error(Errc::io, std::string("the kernel refused to wait for a ring: ") + std::strerror(errno),
                  errno);
  }
}

void futex_wake(std::atomic<std::uint32_t>& word, std::uint32_t count, FutexScope scope) {
  const std::uint32_t limited = std::min<std::uint32_t>(count, INT_MAX);
  ::syscall(SYS_futex, address(word), operation(FUTEX_WAKE, scope), limited, nullptr, nullptr, 0);
}

// FORMAT.md, "Waking": these three are sequentially consistent, and their order is the proof.
Sleeper::Sleeper(Event& event, FutexScope scope) : event_(event), scope_(scope) {
  event_.waiters.fetch_add(1, std::memory_order_seq_cst);
  sequence_ = event_.sequence.load(std::memory_order_seq_cst);
}

Sleeper::~Sleeper() { event_.waiters.fetch_sub(1, std::memory_order_relaxed); }

bool notify(Event& event, std::uint32_t count, FutexScope scope) {
  event.sequence.fetch_add(1, std::memory_order_seq_cst);
  if (event.waiters.load(std::memory_order_seq_cst) == 0) return false;
  futex_wake(event.sequence, count, scope);
  return true;
}

}  // namespace pyfastdl
