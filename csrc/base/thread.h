// Thread: an owned native thread with a name, on which no signal of the host process is handled.
//
// Signals meant for the process (SIGINT, SIGTERM, SIGCHLD, timers…) go to the threads that Python owns; only those
// that a thread raises by its own fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS) stay open, so that
// faulthandler and the sanitizers can report them.
//
// One thread owns a Thread and calls its members. join() blocks until the function returns; join_until() until
// then or the deadline. The destructor joins: whoever owns it has told the function to end. In a forked child
// the thread doesn't exist: there join() and the destructor return at once.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace pyfastdl {

class Thread {
 public:
  Thread();
  ~Thread();
  Thread(Thread&&) noexcept;
  Thread& operator=(Thread&&) = delete;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // `name` is cut to 15 bytes, the kernel's limit. An exception out of `body` ends the process, as with
  // std::thread. Throws Error (Errc::state) when the system refuses another thread. REQUIRES: not joinable().
  void start(const std::string& name, std::function<void()> body);

  bool joinable() const { return state_ != nullptr; }

  // Does nothing when not joinable().
  void join();

  // False when the deadline passed first: the thread then still runs and is still to be joined, or left.
  bool join_until(std::chrono::steady_clock::time_point deadline);

  // Lets it run on by itself, whatever it hangs in: what its body captured stays alive until it ends.
  void leave();

 private:
  struct State;

  static void* run(void* state);
  bool in_owner() const;
  void abandon();

  std::unique_ptr<State> state_;  // outlives the thread, which is joined before
  pthread_t handle_{};
  pid_t owner_ = 0;  // the process that started it
};

}  // namespace pyfastdl
