#include "pipeline/pipeline.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "pipeline/decode_worker.h"

namespace pyfastdl {
namespace {

// How long next() sleeps before it looks for samples that wait for Pillow while no thread serves them (nothing wakes it
// for those), and lets its caller look for signals.
constexpr std::chrono::milliseconds kLook{20};

void check(const PipelineConfig& config) {
  const auto require = [](bool ok, const std::string& message) {
    if (!ok) throw Error(Errc::invalid_argument, message);
  };
  require(config.paths != nullptr && config.paths->size() > 0,
          "a pipeline needs samples: the list of files is empty");
  require(config.targets == nullptr || config.targets->size() == config.paths->size(),
          "there must be one target a sample");
  require(!config.views.empty(), "a pipeline needs a plan");
  require(config.views.size() <= kMaxViews, "a transform has at most " + std::to_string(kMaxViews) +
                                                " views, got " + std::to_string(config.views.size()));
  for (const View& view : config.views) {
    require(view.plan != nullptr, "a pipeline needs a plan");
    require(view.cell_size.height > 0 && view.cell_size.width > 0, "the size of a cell must be positive");
  }
  require(config.batch_size > 0, "batch_size must be positive, got 0");
  require(config.prefetch > 0, "prefetch_factor must be positive, got 0");
  require(config.held > 0 && config.held <= config.prefetch,
          "the consumer holds at least one batch, and at most as many as are open");
  require(config.decode_threads > 0, "num_workers must be positive, got 0");
  require(config.read_threads > 0, "a pipeline needs a reader thread");
}

// Skipped or replaced, a sample for which there was no memory would be a good one lost.
void refuse_lack_of_memory(const std::vector<Core::CellFailure>& failures) {
  for (const Core::CellFailure& f : failures) {
    if (f.failure.code != Errc::out_of_memory) continue;
    throw Error(Errc::out_of_memory,
                "sample " + std::to_string(f.failure.index) + " (" + f.failure.path +
                    "): " + f.failure.reason +
                    ": lower max_memory, num_workers, batch_size or prefetch_factor, or leave the file out");
  }
}

}  // namespace

Pipeline::Pipeline(PipelineConfig config) : pid_(::getpid()) {
  check(config);
  core_ = std::make_shared<Core>(std::move(config));
  const std::shared_ptr<Core> core = core_;
  MutexLock lock(mutex_);
  try {
    threads_.resize(this->config().decode_threads + this->config().read_threads);
    std::size_t next = 0;
    for (unsigned i = 0; i < this->config().decode_threads; ++i) {
      // Made here, so that a lack of memory is this call's error and not the end of a thread.
      auto worker = std::make_shared<DecodeWorker>(*core);
      threads_[next++].start("fastdl-dec-" + std::to_string(i),
                             [core, worker] { core->decode_loop(*worker); });
    }
    for (unsigned i = 0; i < this->config().read_threads; ++i) {
      threads_[next++].start("fastdl-read-" + std::to_string(i), [core] { core->read_loop(); });
    }
  } catch (...) {
    close_locked();
    throw;
  }
}

Pipeline::~Pipeline() {
  if (::getpid() != pid_) {
    // The core holds a ring whose end would be seen by nobody, and locks that may be held by threads which don't
    // exist here: it is left as it is.
    new std::shared_ptr<Core>(core_);
    return;
  }
  close();
}

void Pipeline::require_own_process() const {
  if (::getpid() == pid_) return;
  throw Error(Errc::state, "this loader's iterator was made in process " + std::to_string(pid_) +
                               " and is used in its forked child " + std::to_string(::getpid()) +
                               ", where its threads don't exist: call iter(loader) in the child");
}

void Pipeline::require_running() const {
  if (closed_) throw Error(Errc::closed, "the loader was closed: make a new one");
}

void Pipeline::start_epoch(std::uint64_t seed, std::uint32_t epoch) {
  require_own_process();
  MutexLock lock(mutex_);
  require_running();
  cancel_locked();
  seed_ = seed;
  epoch_ = epoch;
  seen_.assign(config().paths->size(), false);
  repeats_.clear();
}

std::uint32_t Pipeline::occurrence_of(std::int64_t index) {
  auto seen = seen_[static_cast<std::size_t>(index)];
  if (seen) return ++repeats_[index];
  seen = true;
  return 0;
}

bool Pipeline::wants_batch() {
  require_own_process();
  MutexLock lock(mutex_);
  require_running();
  return open_.size() < config().prefetch && core_->ring()->can_open();
}

void Pipeline::open(std::span<const std::int64_t> indices, std::span<const std::uint32_t> occurrences) {
  require_own_process();
  MutexLock lock(mutex_);
  require_running();
  const auto samples = static_cast<std::int64_t>(config().paths->size());
  if (seen_.empty()) throw Error(Errc::state, "start_epoch() comes before open()");
  if (indices.size() > config().batch_size) {
    throw Error(Errc::invalid_argument, "the batch has " + std::to_string(indices.size()) +
                                            " samples, the pipeline was made for " +
                                            std::to_string(config().batch_size));
  }
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= samples) {
      throw Error(Errc::invalid_argument, "the sampler gave index " + std::to_string(index) +
                                              ", but the dataset has " + std::to_string(samples) +
                                              " samples (0 to " + std::to_string(samples - 1) + ")");
    }
  }
  if (occurrences.empty()) {
    occurrences_.clear();
    for (const std::int64_t index : indices) occurrences_.push_back(occurrence_of(index));
  } else if (occurrences.size() == indices.size()) {
    occurrences_.assign(occurrences.begin(), occurrences.end());
  } else {
    throw Error(Errc::invalid_argument, "there are " + std::to_string(occurrences.size()) +
                                            " occurrences for " + std::to_string(indices.size()) +
                                            " indices: give one an index, or none");
  }
  open_.push_back(core_->ring()->open(indices, occurrences_, {seed_, epoch_}));
  core_->queues().announce();
}

NextResult Pipeline::next(Deadline deadline, Batch& batch) {
  require_own_process();
  MutexLock lock(mutex_);
  ScopedStage time(core_->clocks(), Stage::wait_batch);
  for (;;) {
    require_running();
    if (open_.empty() && core_->ring()->can_open()) return NextResult::nothing_open;
    if (!pillow_served_ && core_->queues().pillow_is_waiting()) return NextResult::need_pillow;
    const Deadline look = std::min(deadline, std::chrono::steady_clock::now() + kLook);
    const WaitResult result =
        open_.empty() ? core_->ring()->wait_free(look) : core_->ring()->wait(open_.front(), look);
    switch (result) {
      case WaitResult::ready: {
        if (open_.empty()) break;  // a slot came back from the last epoch's late writers
        const std::uint64_t sequence = open_.front();
        open_.pop_front();
        if (harvest(sequence, batch) == Harvest::batch) return NextResult::batch;
        break;  // every sample of it was skipped
      }
      case WaitResult::timed_out:
        if (std::chrono::steady_clock::now() >= deadline) return NextResult::timed_out;
        break;
      case WaitResult::interrupted:
        return NextResult::interrupted;
      case WaitResult::closed:
      case WaitResult::orphaned:
        throw Error(Errc::closed, "the loader was closed while a batch was waited for");
    }
  }
}

Pipeline::Harvest Pipeline::harvest(std::uint64_t sequence, Batch& batch) {
  Consumer& ring = *core_->ring();
  // Before this batch is counted: what the training loop holds already.
  const unsigned held = ring.leased_slots();
  const std::uint32_t slot = ring.take(sequence);
  LeaseRef lease = SlotLease::adopt(ring.segment(), slot);

  std::uint32_t size = ring.cell_count(slot);
  batch.cells.clear();
  std::vector<Core::CellFailure> failures = core_->take_failures(sequence);
  for (const Core::CellFailure& f : failures) {
    if (f.failure.code != Errc::out_of_memory) errors_.push_back(f.failure);
  }
  refuse_lack_of_memory(failures);
  if (!failures.empty()) {
    const auto lost = std::find_if(failures.begin(), failures.end(),
                                   [](const Core::CellFailure& f) { return f.failure.replaced_by < 0; });
    if (lost != failures.end()) {
      if (config().on_error == ErrorPolicy::raise) throw SampleFailureError(lost->failure);
      if (config().on_error == ErrorPolicy::replace) {
        Failure failure = lost->failure;
        const auto tried = std::count_if(failures.begin(), failures.end(),
                                         [&](const Core::CellFailure& f) { return f.cell == lost->cell; });
        failure.reason +=
            "; no replacement was found: " + std::to_string(tried - 1) + " other samples failed too";
        throw SampleFailureError(std::move(failure));
      }
      batch.cells = close_gaps(slot);
      size = static_cast<std::uint32_t>(batch.cells.size());
      if (size == 0) return Harvest::empty;
    }
  }

  add(core_->counters().batches, 1);
  if (held > config().held) {
    // The training loop keeps batches: this one gets memory of its own, so that the ring keeps its slots.
    lease = HeapLease::copy(*ring.segment(), slot, size);
    add(core_->counters().copied_batches, 1);
  }
  batch.lease = std::move(lease);
  batch.size = size;
  return Harvest::batch;
}

std::vector<std::uint32_t> Pipeline::close_gaps(std::uint32_t slot) {
  Consumer& ring = *core_->ring();
  const std::vector<FieldSpec>& fields = ring.spec().fields;
  const std::uint32_t cells = ring.cell_count(slot);
  std::vector<std::uint32_t> remaining;
  for (std::uint32_t from = 0; from < cells; ++from) {
    if (ring.cell_state(slot, from) != CellState::published) continue;
    const auto to = static_cast<std::uint32_t>(remaining.size());
    if (to != from) {
      for (std::uint32_t f = 0; f < fields.size(); ++f) {
        const std::size_t bytes = fields[f].bytes_per_cell;
        std::byte* field = ring.field(slot, f);
        std::memcpy(field + to * bytes, field + from * bytes, bytes);
      }
    }
    remaining.push_back(from);
  }
  return remaining;
}

std::size_t Pipeline::open_batches() {
  require_own_process();
  MutexLock lock(mutex_);
  return open_.size();
}

std::vector<Failure> Pipeline::unfinished(std::size_t most) {
  require_own_process();
  MutexLock lock(mutex_);
  std::vector<Failure> samples;
  if (open_.empty() || closed_) return samples;
  const Consumer& ring = *core_->ring();
  const std::uint32_t slot = ring.slot_of(open_.front());
  for (std::uint32_t cell = 0; cell < ring.cell_count(slot) && samples.size() < most; ++cell) {
    if (is_terminal(ring.cell_state(slot, cell))) continue;
    const std::int64_t index = ring.index(slot, cell);
    samples.push_back({index, config().paths->path(static_cast<std::size_t>(index)), "not loaded yet"});
  }
  return samples;
}

std::vector<Failure> Pipeline::take_errors() {
  require_own_process();
  MutexLock lock(mutex_);
  return std::exchange(errors_, {});
}

void Pipeline::set_pillow_served() {
  require_own_process();
  MutexLock lock(mutex_);
  pillow_served_ = true;
}

void Pipeline::cancel_locked() {
  core_->cancel();
  open_.clear();
}

void Pipeline::cancel() {
  require_own_process();
  MutexLock lock(mutex_);
  if (!closed_) cancel_locked();
}

void Pipeline::close() {
  if (::getpid() != pid_) return;
  MutexLock lock(mutex_);
  close_locked();
}

void Pipeline::close_locked() {
  if (closed_) return;
  closed_ = true;
  core_->stop();
  const auto deadline = std::chrono::steady_clock::now() + kStopPatience;
  for (Thread& thread : threads_) {
    if (!thread.join_until(deadline)) thread.leave();
  }
  threads_.clear();
}

}  // namespace pyfastdl
