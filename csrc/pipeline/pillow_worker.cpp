#include "pipeline/pillow_worker.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "pipeline/decode_worker.h"

namespace pyfastdl {

PillowWorker::PillowWorker(std::shared_ptr<Core> core)
    : core_(std::move(core)), worker_(std::make_unique<DecodeWorker>(*core_)), pid_(::getpid()) {}

PillowWorker::~PillowWorker() {
  if (::getpid() != pid_) {
    // Locks of the parent's threads may be held for ever here: nothing is touched, nothing is freed.
    new std::shared_ptr<Core>(std::move(core_));
    worker_.release();
    job_.release();
    return;
  }
  if (job_ != nullptr) {
    fail({Errc::bad_data, "the thread that decodes with Pillow ended before the image was decoded"});
  }
}

bool PillowWorker::next(Deadline deadline) {
  if (job_ != nullptr) throw Error(Errc::state, "the last image is neither completed nor failed");
  job_ = core_->queues().pop_to_pillow(deadline);
  return job_ != nullptr;
}

const Job& PillowWorker::job() const {
  if (job_ == nullptr) throw Error(Errc::state, "there is no image: next() comes first");
  return *job_;
}

JobPtr PillowWorker::take() {
  (void)job();
  return std::move(job_);
}

void PillowWorker::reserve(std::uint64_t bytes) {
  (void)job();
  const Status status = core_->memory().reserve(bytes, job_->memory);
  if (!status.ok()) throw Error(status);
}

void PillowWorker::complete(const std::uint8_t* rgb, Size size) {
  worker_->process_pixels(take(), rgb, size);
}

void PillowWorker::fail(const Status& status) { core_->fail(take(), status); }

}  // namespace pyfastdl
