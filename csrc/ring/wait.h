// Waiting on an Event, within a process or across processes: a futex that is asked only when someone has to
// sleep.
//
// std::atomic::wait doesn't cross processes and has no deadline. A sleeper announces itself, reads the
// sequence, looks whether there is still nothing to do, and only then sleeps; a waker changes the state
// first, then the sequence, then looks for sleepers. FORMAT.md ("Waking") says why no wake-up is lost.
//
// Threads: any, in any number.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "ring/layout.h"

namespace pyfastdl {

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();

// How long the death of another process may go unnoticed, as nothing wakes for it.
inline constexpr std::chrono::milliseconds kPeerLookInterval{100};

enum class FutexScope { process_private, process_shared };
enum class FutexResult { woken, timed_out, interrupted };

// Sleeps while `word` is `expected`: until a wake, the deadline, or a signal whose handler ran on this thread
// (SA_RESTART or not). `woken` may be spurious.
FutexResult futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, Deadline deadline,
                       FutexScope scope);
void futex_wake(std::atomic<std::uint32_t>& word, std::uint32_t count, FutexScope scope);

// Announces a sleeper for its lifetime:
//   Sleeper sleeper(event, scope);
//   if (nothing_to_do()) sleeper.sleep(deadline);
class Sleeper {
 public:
  Sleeper(Event& event, FutexScope scope);
  ~Sleeper();
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  FutexResult sleep(Deadline deadline) { return futex_wait(event_.sequence, sequence_, deadline, scope_); }

 private:
  Event& event_;
  const FutexScope scope_;
  std::uint32_t sequence_;
};

// Wakes up to `count` sleepers. REQUIRES: the state that they wait for was changed before. True if the kernel
// was asked.
bool notify(Event& event, std::uint32_t count, FutexScope scope);

}  // namespace pyfastdl
