// Mutex, MutexLock, CondVar: the standard ones, annotated so that clang checks which lock guards what.
//
// No lock is held across fork, and a forked child never touches a lock of its parent: see Note [fork] in
// csrc/README.md.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define PYFASTDL_TSA(x) __attribute__((x))
#else
#define PYFASTDL_TSA(x)
#endif

#define PYFASTDL_GUARDED_BY(m) PYFASTDL_TSA(guarded_by(m))
#define PYFASTDL_REQUIRES(...) PYFASTDL_TSA(requires_capability(__VA_ARGS__))
#define PYFASTDL_EXCLUDES(...) PYFASTDL_TSA(locks_excluded(__VA_ARGS__))

namespace pyfastdl {

class CondVar;

class PYFASTDL_TSA(capability("mutex")) Mutex {
 public:
  void lock() PYFASTDL_TSA(acquire_capability()) { m_.lock(); }
  void unlock() PYFASTDL_TSA(release_capability()) { m_.unlock(); }

 private:
  friend class CondVar;
  std::mutex m_;
};

class PYFASTDL_TSA(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& m) PYFASTDL_TSA(acquire_capability(m)) : m_(m) { m_.lock(); }
  ~MutexLock() PYFASTDL_TSA(release_capability()) { m_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& m_;
};

class CondVar {
 public:
  void wait(Mutex& m) PYFASTDL_REQUIRES(m) {
    std::unique_lock<std::mutex> lock(m.m_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }
  // False when the time ran out.
  template <class Clock, class Duration>
  bool wait_until(Mutex& m, std::chrono::time_point<Clock, Duration> end) PYFASTDL_REQUIRES(m) {
    std::unique_lock<std::mutex> lock(m.m_, std::adopt_lock);
    const bool in_time = cv_.wait_until(lock, end) == std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }
  void notify_one() { cv_.notify_one(); }
  void notify_all() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace pyfastdl
