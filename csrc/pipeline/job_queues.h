// JobQueues: where jobs wait between the threads of a pipeline.
//
//     decode thread: claims a ticket ── in the page cache ──► decodes it itself (nothing is handed over)
//                          └─ must wait for the disk ─► to_read ─► reader thread ─► to_decode ─► any decode thread
//     decode thread ─ not a native format ─► to_pillow ─► a thread that Python owns
//
// One lock for all: it is taken a few times a sample, never while anything slow is done. Backlogs are bounded by
// may_claim(): while a queue is full, decode threads take no new tickets (replacements may exceed the bound; there is
// at most one per open cell).
//
// Threads: any. The pop_* calls that wait end when there is a job, when stop() is called, or at their deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/mutex.h"
#include "pipeline/job.h"

namespace pyfastdl {

class JobQueues {
 public:
  JobQueues(std::size_t read_limit, std::size_t pillow_limit)
      : read_limit_(read_limit), pillow_limit_(pillow_limit) {}

  // A job for the ticket, with the buffers of an earlier one where there is one.
  JobPtr new_job(const Ticket& ticket) PYFASTDL_EXCLUDES(mutex_);
  // Takes a finished job back for its buffers.
  void recycle(JobPtr job) PYFASTDL_EXCLUDES(mutex_);

  void push_to_read(JobPtr job) PYFASTDL_EXCLUDES(mutex_);
  void push_to_decode(JobPtr job) PYFASTDL_EXCLUDES(mutex_);
  void push_to_pillow(JobPtr job) PYFASTDL_EXCLUDES(mutex_);

  // Waits; nullptr after stop().
  JobPtr pop_to_read() PYFASTDL_EXCLUDES(mutex_);
  // Does not wait.
  JobPtr pop_to_decode() PYFASTDL_EXCLUDES(mutex_);
  // Waits; nullptr after stop() or at the deadline.
  JobPtr pop_to_pillow(std::chrono::steady_clock::time_point deadline) PYFASTDL_EXCLUDES(mutex_);

  // For decode threads: take generation(), look for work, and if there is none wait_for_change(generation): a
  // change in between is not missed.
  std::uint64_t generation() PYFASTDL_EXCLUDES(mutex_);
  void wait_for_change(std::uint64_t seen) PYFASTDL_EXCLUDES(mutex_);
  // New tickets are there.
  void announce() PYFASTDL_EXCLUDES(mutex_);

  bool may_claim() PYFASTDL_EXCLUDES(mutex_);
  bool pillow_is_waiting() PYFASTDL_EXCLUDES(mutex_);

  // Takes out every job that waits.
  std::vector<JobPtr> drain() PYFASTDL_EXCLUDES(mutex_);

  void stop() PYFASTDL_EXCLUDES(mutex_);
  bool stopped() PYFASTDL_EXCLUDES(mutex_);

 private:
  void changed() PYFASTDL_REQUIRES(mutex_);

  // Constant after construction.
  const std::size_t read_limit_;
  const std::size_t pillow_limit_;

  Mutex mutex_;
  CondVar change_;        // decode threads
  CondVar read_ready_;    // reader threads
  CondVar pillow_ready_;  // Python's threads
  std::uint64_t generation_ PYFASTDL_GUARDED_BY(mutex_) = 0;
  bool stopped_ PYFASTDL_GUARDED_BY(mutex_) = false;
  std::deque<JobPtr> to_read_ PYFASTDL_GUARDED_BY(mutex_);
  std::deque<JobPtr> to_decode_ PYFASTDL_GUARDED_BY(mutex_);
  std::deque<JobPtr> to_pillow_ PYFASTDL_GUARDED_BY(mutex_);
  std::vector<JobPtr> spare_ PYFASTDL_GUARDED_BY(mutex_);
};

}  // namespace pyfastdl
