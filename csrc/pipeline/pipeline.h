// Pipeline: the only place that knows the order of the stages. Indices in, finished batches out.
//
//     open(indices) ─► ring ─► decode threads (and readers, and Pillow's) ─► ring ─► next() ─► Batch
//
// It owns the threads and keeps them from epoch to epoch. A batch that is handed over lives on by its lease, also after
// the pipeline is gone.
//
// Threads: the calls may come from any thread; they are serialised (a call waits while another is in next()).
// Fork: a pipeline belongs to the process that made it. In a forked child every call throws Error(state) and the
// destructor does nothing, because the threads and locks that it would need are not there: see Note [fork] in
// csrc/README.md.
//
// Blocking: next() only, until the deadline; close() waits for the threads, each of which ends after the image in its
// hands. One that hangs in a read that never returns is left behind after kStopPatience.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/thread.h"
#include "pipeline/config.h"
#include "pipeline/core.h"
#include "ring/lease.h"

namespace pyfastdl {

struct Batch {
  LeaseRef lease;  // a field of pixels for each view; then targets, then indices, as the config has them
  std::uint32_t size = 0;
  std::vector<std::uint32_t> cells;  // those that it has of the opened ones, in order; empty: all
};

enum class NextResult {
  batch,
  nothing_open,  // open() first
  need_pillow,   // samples wait for Pillow: start threads that serve them
  timed_out,
  interrupted,  // a signal handler ran on this thread
};

inline constexpr std::chrono::seconds kStopPatience{5};

class Pipeline {
 public:
  // Throws Error: invalid_argument, out_of_memory, state (no more threads).
  explicit Pipeline(PipelineConfig config);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Drops what is open; the batches that follow belong to this epoch.
  void start_epoch(std::uint64_t seed, std::uint32_t epoch);

  // Fewer than `prefetch` batches are open, and there is a slot for one more.
  bool wants_batch();

  // Opens a batch. REQUIRES: wants_batch(). Throws Error: invalid_argument for indices that are not in the dataset, or
  // too many of them.
  //
  // occurrences: how often each index came before in the epoch, where the caller counts; empty: counted here, from
  // start_epoch() on.
  void open(std::span<const std::int64_t> indices, std::span<const std::uint32_t> occurrences = {});

  // The oldest open batch. Under ErrorPolicy::raise (or when no replacement was found) throws SampleFailureError for
  // a batch with a failure; the next call goes on with the batch after it.
  NextResult next(Deadline deadline, Batch& batch);

  // Batches opened and not yet handed over.
  std::size_t open_batches();

  // The samples of the oldest open batch that are not there yet, at most `most`: what a timeout is about.
  std::vector<Failure> unfinished(std::size_t most);

  // Failures since they were last taken, in the order of the epoch.
  std::vector<Failure> take_errors();

  // Drops what is open.
  void cancel();

  // Ends the threads. May be called again.
  void close();

  // Whether Python serves next_pillow_job; see NextResult::need_pillow.
  void set_pillow_served();

  // Outlives the pipeline in the hands of a thread that Python owns.
  const std::shared_ptr<Core>& core() const { return core_; }
  const PipelineConfig& config() const { return core_->config(); }

 private:
  enum class Harvest { batch, empty };

  void require_own_process() const;
  void require_running() const PYFASTDL_REQUIRES(mutex_);
  void cancel_locked() PYFASTDL_REQUIRES(mutex_);
  void close_locked() PYFASTDL_REQUIRES(mutex_);
  Harvest harvest(std::uint64_t sequence, Batch& batch) PYFASTDL_REQUIRES(mutex_);
  // Which cells remain.
  std::vector<std::uint32_t> close_gaps(std::uint32_t slot) PYFASTDL_REQUIRES(mutex_);
  std::uint32_t occurrence_of(std::int64_t index) PYFASTDL_REQUIRES(mutex_);

  // Constant after construction.
  std::shared_ptr<Core> core_;
  const pid_t pid_;

  Mutex mutex_;
  std::vector<Thread> threads_ PYFASTDL_GUARDED_BY(mutex_);
  bool closed_ PYFASTDL_GUARDED_BY(mutex_) = false;
  bool pillow_served_ PYFASTDL_GUARDED_BY(mutex_) = false;
  std::uint64_t seed_ PYFASTDL_GUARDED_BY(mutex_) = 0;
  std::uint32_t epoch_ PYFASTDL_GUARDED_BY(mutex_) = 0;
  std::deque<std::uint64_t> open_ PYFASTDL_GUARDED_BY(mutex_);  // oldest first
  std::vector<Failure> errors_ PYFASTDL_GUARDED_BY(mutex_);

  // Repeats of an index within the epoch: a bit for "came before", and a count for the few that came twice.
  std::vector<bool> seen_ PYFASTDL_GUARDED_BY(mutex_);
  std::unordered_map<std::int64_t, std::uint32_t> repeats_ PYFASTDL_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> occurrences_ PYFASTDL_GUARDED_BY(mutex_);  // scratch of open()
};

}  // namespace pyfastdl
