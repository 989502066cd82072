#include "pipeline/core.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "pipeline/decode_worker.h"
#include "pipeline/replacement.h"
#include "read/file_reader.h"

namespace pyfastdl {
namespace {

// Files that wait for readers, per reader: enough to keep a disk's queue filled, few enough to bound their memory.
constexpr std::size_t kReadBacklogPerThread = 8;
constexpr std::size_t kPillowBacklog = 64;

RingSpec ring_spec(const PipelineConfig& config) {
  RingSpec spec{slots_of(config), config.batch_size, {}};
  for (const View& view : config.views) spec.fields.push_back({view.plan->cell_bytes(view.cell_size)});
  if (config.targets != nullptr) spec.fields.push_back({config.targets->row_bytes()});
  if (config.return_index) spec.fields.push_back({sizeof(std::int64_t)});
  return spec;
}

}  // namespace

SampleKey key_of(const Job& job) {
  // The ticket's index, not the replacement's: the numbers belong to the place in the epoch.
  return {job.ticket.key.seed, job.ticket.key.epoch, static_cast<std::uint64_t>(job.ticket.index),
          job.ticket.occurrence};
}

Core::Core(PipelineConfig config)
    : config_(std::move(config)),
      ring_(std::make_shared<Consumer>(Segment::create_private(ring_spec(config_)))),
      producer_(Producer::attach(ring_->segment())),
      memory_(config_.max_memory),
      queues_(config_.read_threads * kReadBacklogPerThread, kPillowBacklog) {
  auto fields = static_cast<int>(config_.views.size());
  if (config_.targets != nullptr) target_field_ = fields++;
  if (config_.return_index) index_field_ = fields++;
}

void Core::decode_loop(DecodeWorker& worker) {
  while (JobPtr job = next_job()) worker.process(std::move(job));
}

void Core::read_loop() {
  while (JobPtr job = queues_.pop_to_read()) {
    Status status;
    try {
      ScopedStage time(clocks_, Stage::read);
      config_.paths->path(static_cast<std::size_t>(job->index), job->path);
      status = read_file(job->path, job->bytes, config_.max_file_bytes);
    } catch (const std::bad_alloc&) {
      status = Status(Errc::out_of_memory, "not enough memory to read the file");
    }
    if (!status.ok()) {
      fail(std::move(job), status);
      continue;
    }
    add(counters_.waited_reads, 1);
    add(counters_.file_bytes, job->bytes.size());
    queues_.push_to_decode(std::move(job));
  }
}

JobPtr Core::next_job() {
  for (;;) {
    const std::uint64_t seen = queues_.generation();
    if (queues_.stopped()) return nullptr;
    if (JobPtr job = queues_.pop_to_decode()) return job;
    const std::optional<Ticket> ticket = queues_.may_claim() ? producer_->try_claim() : std::nullopt;
    if (!ticket) {
      ScopedStage time(clocks_, Stage::wait_work);
      queues_.wait_for_change(seen);
      continue;
    }
    JobPtr job = queues_.new_job(*ticket);
    Status status;
    ReadOutcome outcome = ReadOutcome::failed;
    try {
      ScopedStage time(clocks_, Stage::read);
      config_.paths->path(static_cast<std::size_t>(job->index), job->path);
      outcome = read_cached(job->path, job->bytes, status, config_.max_file_bytes);
    } catch (const std::bad_alloc&) {
      status = Status(Errc::out_of_memory, "not enough memory to read the file");
    }
    switch (outcome) {
      case ReadOutcome::done:
        add(counters_.cached_reads, 1);
        add(counters_.file_bytes, job->bytes.size());
        return job;
      case ReadOutcome::would_block:
        queues_.push_to_read(std::move(job));
        break;
      case ReadOutcome::failed:
        fail(std::move(job), status);
        break;
    }
  }
}

void Core::publish(JobPtr job, bool ok) {
  job->memory.release();
  producer_->publish(job->ticket, ok);
  queues_.recycle(std::move(job));
}

void Core::finish(JobPtr job) {
  if (target_field_ >= 0) {
    config_.targets->copy_row(static_cast<std::size_t>(job->index),
                              producer_->cell(job->ticket, static_cast<std::uint32_t>(target_field_)));
  }
  if (index_field_ >= 0) {
    std::memcpy(producer_->cell(job->ticket, static_cast<std::uint32_t>(index_field_)), &job->index,
                sizeof(job->index));
  }
  if (job->attempt > 0) note_replacement(*job);
  add(counters_.samples, 1);
  publish(std::move(job), true);
}

void Core::fail(JobPtr job, const Status& status) {
  note_failure(*job, status);
  if (status.code() == Errc::out_of_memory) return publish(std::move(job), false);
  add(counters_.failed_samples, 1);
  if (config_.on_error == ErrorPolicy::replace) {
    if (const auto other = replacement(key_of(*job), config_.paths->size(), job->attempt)) {
      job->index = *other;
      ++job->attempt;
      job->reason.clear();
      job->memory.release();
      queues_.push_to_read(std::move(job));
      return;
    }
  }
  publish(std::move(job), false);
}

void Core::hand_to_pillow(JobPtr job, std::string reason) {
  job->reason = std::move(reason);
  queues_.push_to_pillow(std::move(job));
}

void Core::note_failure(const Job& job, const Status& status) {
  std::string path = config_.paths->path(static_cast<std::size_t>(job.index));
  MutexLock lock(failures_mutex_);
  failures_[job.ticket.batch].push_back(
      {job.ticket.cell, {job.index, std::move(path), status.message(), -1, status.code()}});
}

void Core::note_replacement(const Job& job) {
  MutexLock lock(failures_mutex_);
  for (CellFailure& f : failures_[job.ticket.batch]) {
    if (f.cell == job.ticket.cell) f.failure.replaced_by = job.index;
  }
}

std::vector<Core::CellFailure> Core::take_failures(std::uint64_t batch) {
  std::vector<CellFailure> failures;
  {
    MutexLock lock(failures_mutex_);
    // Batches are asked for in order: what is older belongs to cancelled ones, whose last writers came late.
    failures_.erase(failures_.begin(), failures_.lower_bound(batch));
    if (auto node = failures_.extract(batch); !node.empty()) failures = std::move(node.mapped());
  }
  // Stable: the failures of one cell stay in the order in which replacements were tried.
  std::stable_sort(failures.begin(), failures.end(),
                   [](const CellFailure& a, const CellFailure& b) { return a.cell < b.cell; });
  return failures;
}

void Core::cancel() {
  ring_->cancel_all();
  for (JobPtr& job : queues_.drain()) publish(std::move(job), false);
}

void Core::stop() {
  ring_->close();
  memory_.stop();
  queues_.stop();
}

}  // namespace pyfastdl
