// Core: what the threads of a pipeline share, and what they do with a job. Pipeline owns it; each thread holds it
// too, so that a thread stuck in a read that never returns can be left behind without pulling memory from under it.
//
// Threads: decode_loop and read_loop are run by native threads and return after stop(); the rest may be called by
// any of them and by the threads that Python owns. Nothing here takes the GIL.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/byte_budget.h"
#include "base/mutex.h"
#include "base/stage_clock.h"
#include "pipeline/config.h"
#include "pipeline/counters.h"
#include "pipeline/failure.h"
#include "pipeline/job_queues.h"
#include "ring/consumer.h"
#include "ring/producer.h"

namespace pyfastdl {

class DecodeWorker;

// The key of a sample's random numbers.
SampleKey key_of(const Job& job);

class Core {
 public:
  explicit Core(PipelineConfig config);

  // Run until stop().
  void decode_loop(DecodeWorker& worker);
  void read_loop();

  // The pixels of all views are written: adds target and index, publishes.
  void finish(JobPtr job);
  // The sample can't be loaded: its replacement is sent on its way, or the cell is published as failed. Where memory ran
  // out, the file isn't to blame: that is no failure to pass over, and ends the batch whatever the policy is.
  void fail(JobPtr job, const Status& status);
  void hand_to_pillow(JobPtr job, std::string reason);

  // Where view `view` of the job's sample goes.
  std::byte* pixels(const Job& job, std::size_t view) {
    return producer_->cell(job.ticket, static_cast<std::uint32_t>(view));
  }

  // Nobody will want what is open: queued jobs are dropped, failures forgotten.
  void cancel();
  void stop();

  // The failures of one batch, in cell order; taken out.
  struct CellFailure {
    std::uint32_t cell = 0;
    Failure failure;
  };
  std::vector<CellFailure> take_failures(std::uint64_t batch);

  const PipelineConfig& config() const { return config_; }
  const std::shared_ptr<Consumer>& ring() const { return ring_; }
  JobQueues& queues() { return queues_; }
  Counters& counters() { return counters_; }
  StageClocks& clocks() { return clocks_; }
  ByteBudget& memory() { return memory_; }

  // The fields of a batch: the pixels of view v are field v; then targets, then indices.
  int target_field() const { return target_field_; }  // -1: none
  int index_field() const { return index_field_; }    // -1: none

 private:
  JobPtr next_job();
  void publish(JobPtr job, bool ok);
  void note_failure(const Job& job, const Status& status) PYFASTDL_EXCLUDES(failures_mutex_);
  void note_replacement(const Job& job) PYFASTDL_EXCLUDES(failures_mutex_);

  // Constant after construction.
  const PipelineConfig config_;
  int target_field_ = -1;
  int index_field_ = -1;
  std::shared_ptr<Consumer> ring_;
  std::unique_ptr<Producer> producer_;

  ByteBudget memory_;  // before the queues, whose jobs hold parts of it
  JobQueues queues_;
  Counters counters_;
  StageClocks clocks_;

  Mutex failures_mutex_;
  std::map<std::uint64_t, std::vector<CellFailure>> failures_ PYFASTDL_GUARDED_BY(failures_mutex_);
};

}  // namespace pyfastdl
