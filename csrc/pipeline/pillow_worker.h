// PillowWorker: the native half of a thread that Python owns and that decodes with Pillow.
//
// Fetch a job (next), look at its bytes, then complete() or fail() it. A job that is neither when the worker dies
// fails. Belongs to one thread, and to the process that made it: a forked child, where Python may clear away what the
// parent's threads held, changes nothing.
//
// It keeps the core, not the pipeline: dropping the pipeline is what ends the wait in next().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "pipeline/core.h"
#include "ring/wait.h"

namespace pyfastdl {

class DecodeWorker;

class PillowWorker {
 public:
  explicit PillowWorker(std::shared_ptr<Core> core);
  ~PillowWorker();
  PillowWorker(const PillowWorker&) = delete;
  PillowWorker& operator=(const PillowWorker&) = delete;

  // Waits for a job: until the deadline, or the pipeline's end. False when there is none.
  bool next(Deadline deadline);
  bool stopped() { return core_->queues().stopped(); }

  // These throw Error(state) unless next() gave a job.
  const Job& job() const;
  // Before memory is taken for its pixels: waits until other threads leave room for that. Throws Error(limit) when it
  // can never be had, Error(closed) after the pipeline's end. Given back when the job ends.
  void reserve(std::uint64_t bytes);
  void complete(const std::uint8_t* rgb, Size size);
  void fail(const Status& status);

 private:
  JobPtr take();

  std::shared_ptr<Core> core_;
  std::unique_ptr<DecodeWorker> worker_;
  JobPtr job_;
  const pid_t pid_;
};

}  // namespace pyfastdl
