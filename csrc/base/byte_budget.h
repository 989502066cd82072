// ByteBudget: how many bytes all threads of a pipeline may take together for images that must be held whole.
//
// A thread reserves before it allocates. What doesn't fit waits until others have given back enough, in the order of
// arrival, so that a large request isn't passed by small ones for ever. What could never fit is refused. A thread that
// holds a reservation must not ask for a second one (two that each wait for the other's would never go on): ask once,
// for everything.
//
// Any thread. reserve() blocks until the bytes are there or stop() was called; the rest doesn't. The budget outlives
// its reservations.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"

namespace pyfastdl {

class ByteBudget {
 public:
  // Bytes that are held; given back by release() or at the end of life.
  class Reservation {
   public:
    Reservation() = default;
    ~Reservation() { release(); }
    Reservation(Reservation&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation& operator=(Reservation&& other) noexcept {
      if (this == &other) return *this;
      release();
      budget_ = std::exchange(other.budget_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
      return *this;
    }

    std::uint64_t bytes() const { return bytes_; }
    void release();

   private:
    friend class ByteBudget;
    ByteBudget* budget_ = nullptr;
    std::uint64_t bytes_ = 0;
  };

  struct Usage {
    std::uint64_t held = 0;
    std::uint64_t peak = 0;             // the most that was held at a time
    std::uint64_t waiting = 0;          // threads that wait now
    std::chrono::nanoseconds waited{};  // added up over the threads, of waits that are over
  };

  explicit ByteBudget(std::uint64_t capacity) : capacity_(capacity) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  std::uint64_t capacity() const { return capacity_; }

  // `into` holds the bytes afterwards. Errc::limit when they are more than the whole budget, Errc::closed after stop();
  // then `into` holds nothing. What it held before is given back first.
  Status reserve(std::uint64_t bytes, Reservation& into) PYFASTDL_EXCLUDES(mutex_);

  // Ends all waits; nothing is granted any more.
  void stop() PYFASTDL_EXCLUDES(mutex_);

  Usage usage() const PYFASTDL_EXCLUDES(mutex_);

 private:
  void give_back(std::uint64_t bytes) PYFASTDL_EXCLUDES(mutex_);
  bool fits(std::uint64_t bytes) const PYFASTDL_REQUIRES(mutex_) { return bytes <= capacity_ - usage_.held; }

  const std::uint64_t capacity_;
  mutable Mutex mutex_;
  CondVar changed_;
  Usage usage_ PYFASTDL_GUARDED_BY(mutex_);
  // Requests that can't be granted at once are numbered: first_waiting_ is the next to go on.
  std::uint64_t first_waiting_ PYFASTDL_GUARDED_BY(mutex_) = 0;
  bool stopped_ PYFASTDL_GUARDED_BY(mutex_) = false;
};

}  // namespace pyfastdl
