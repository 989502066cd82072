#include "ring/consumer.h"

#include <algorithm>
#include <climits>
#include <string>
#include <utility>

#include "base/status.h"
#include "ring/process.h"
#include "ring/transitions.h"

namespace pyfastdl {
namespace {

const char* name_of(SlotState state) {
  switch (state) {
    case SlotState::free:
      return "free";
    case SlotState::open:
      return "still being filled";
    case SlotState::ready:
      return "ready";
    case SlotState::leased:
      return "taken";
    case SlotState::quarantined:
      return "cancelled";
  }
  return "unknown";
}

SlotWord load(const SlotHeader& slot) { return SlotWord::unpack(slot.word.load(std::memory_order_acquire)); }

}  // namespace

Consumer::Consumer(std::shared_ptr<Segment> segment) : segment_(std::move(segment)) {
  if (!segment_->in_own_process() || segment_->header().identity.owner != this_process().pack()) {
    throw Error(Errc::state,
                "a ring is consumed by the process that created it; other processes attach producers");
  }
}

Consumer::~Consumer() { close(); }

void Consumer::require_own_process() const {
  if (segment_->in_own_process()) return;
  throw Error(Errc::state, "this ring belongs to the parent process; make a new loader after fork");
}

std::uint32_t Consumer::require(std::uint64_t batch, std::initializer_list<SlotState> states,
                                const char* call) const {
  require_own_process();
  const char* found = "not in the ring (never opened, given back or dropped)";
  for (std::uint32_t s = 0; s < spec().slots; ++s) {
    const SlotWord now = load(segment_->slot(s));
    if (now.batch != batch || now.state == SlotState::free) continue;
    if (std::find(states.begin(), states.end(), now.state) != states.end()) return s;
    found = name_of(now.state);
  }
  throw Error(Errc::state, std::string(call) + ": batch " + std::to_string(batch) + " is " + found);
}

std::optional<std::uint32_t> Consumer::next_slot() const {
  const std::uint64_t batch = segment_->header().head.load(std::memory_order_relaxed);
  std::optional<std::uint32_t> found;
  for (std::uint32_t s = 0; s < spec().slots; ++s) {
    // Acquire: what the last holder did in the slot is over.
    const SlotWord now = load(segment_->slot(s));
    if (now.state == SlotState::free && !found) found = s;
    // Its place in order[] is needed, and claimers still look there.
    if (now.state == SlotState::open && now.batch + spec().slots <= batch) return std::nullopt;
  }
  return found;
}

bool Consumer::can_open() const {
  require_own_process();
  return next_slot().has_value();
}

std::uint64_t Consumer::open(std::span<const std::int64_t> indices,
                             std::span<const std::uint32_t> occurrences, const BatchKey& key) {
  require_own_process();
  if (indices.empty() || indices.size() > spec().cells_per_slot) {
    throw Error(Errc::invalid_argument, "a batch of this ring has 1 to " +
                                            std::to_string(spec().cells_per_slot) + " samples, got " +
                                            std::to_string(indices.size()));
  }
  if (!occurrences.empty() && occurrences.size() != indices.size()) {
    throw Error(Errc::invalid_argument, "got " + std::to_string(occurrences.size()) + " occurrences for " +
                                            std::to_string(indices.size()) + " indices");
  }
  if (closing()) throw Error(Errc::closed, "the ring is closed");
  const std::optional<std::uint32_t> slot = next_slot();
  if (!slot) throw Error(Errc::state, "no slot is free: take and release batches first");
  SegmentHeader& header = segment_->header();
  const std::uint64_t batch = header.head.load(std::memory_order_relaxed);
  if (batch > kMaxBatches) {
    throw Error(Errc::limit, "this ring has seen all the batches it can number; make a new one");
  }

  const auto cells = static_cast<std::uint32_t>(indices.size());
  SlotHeader& slot_header = segment_->slot(*slot);
  slot_header.seed = key.seed;
  slot_header.epoch = key.epoch;
  slot_header.cell_count.store(cells, std::memory_order_relaxed);
  slot_header.word.store(SlotWord{SlotState::open, cells, batch}.pack(), std::memory_order_release);
  for (std::uint32_t c = 0; c < cells; ++c) {
    CellHeader& cell = segment_->cell(*slot, c);
    cell.index = indices[c];
    cell.occurrence = occurrences.empty() ? 0 : occurrences[c];
    // Release, to the claim's acquire: index, occurrence and key, and the end of the slot's former use.
    cell.word.store(CellWord{CellState::open, 0, batch}.pack(), std::memory_order_release);
  }
  // Release, to the claimers' acquire: the cells.
  segment_->order(batch).store(PositionWord{batch, *slot}.pack(), std::memory_order_release);
  header.head.store(batch + 1, std::memory_order_release);
  notify(header.opened, cells, segment_->scope());
  return batch;
}

template <class Done, class Abandoned>
WaitResult Consumer::wait_until(Deadline deadline, Done done, Abandoned abandoned) {
  if (done()) return WaitResult::ready;
  for (;;) {
    Sleeper sleeper(segment_->header().settled, segment_->scope());
    if (done()) return WaitResult::ready;
    Deadline until = deadline;
    const Deadline now = std::chrono::steady_clock::now();
    if (segment_->shared()) {
      if (now >= next_look_) {
        reap();
        next_look_ = now + kPeerLookInterval;
        if (done()) return WaitResult::ready;
      }
      until = std::min(until, next_look_);
    }
    if (closing()) return WaitResult::closed;
    if (abandoned()) return WaitResult::orphaned;
    if (now >= deadline) return WaitResult::timed_out;
    if (sleeper.sleep(until) == FutexResult::interrupted) return WaitResult::interrupted;
  }
}

WaitResult Consumer::wait(std::uint64_t batch, Deadline deadline) {
  const std::uint32_t slot = require(batch, {SlotState::open, SlotState::ready}, "wait");
  return wait_until(
      deadline, [&] { return load(segment_->slot(slot)).state == SlotState::ready; },
      [&] { return abandoned(slot); });
}

WaitResult Consumer::wait_free(Deadline deadline) {
  require_own_process();
  return wait_until(deadline, [&] { return next_slot().has_value(); }, [] { return false; });
}

bool Consumer::abandoned(std::uint32_t slot) const {
  // Acquire, to the detaching store's release: what the producer had published before.
  if (segment_->header().attached.load(std::memory_order_acquire) == 0 || producers() > 0) return false;
  for (std::uint32_t c = 0; c < cell_count(slot); ++c) {
    if (cell_state(slot, c) == CellState::open) return true;
  }
  return false;
}

std::uint32_t Consumer::slot_of(std::uint64_t batch) const {
  return require(batch, {SlotState::open, SlotState::ready, SlotState::leased}, "slot_of");
}

std::uint32_t Consumer::cell_count(std::uint32_t slot) const {
  return segment_->slot(slot).cell_count.load(std::memory_order_relaxed);
}

CellState Consumer::cell_state(std::uint32_t slot, std::uint32_t cell) const {
  if (cell >= cell_count(slot)) return CellState::empty;
  // Acquire: the bytes, where it is published.
  return CellWord::unpack(segment_->cell(slot, cell).word.load(std::memory_order_acquire)).state;
}

std::int64_t Consumer::index(std::uint32_t slot, std::uint32_t cell) const {
  return segment_->cell(slot, cell).index;
}

std::uint32_t Consumer::occurrence(std::uint32_t slot, std::uint32_t cell) const {
  return segment_->cell(slot, cell).occurrence;
}

std::byte* Consumer::field(std::uint32_t slot, std::uint32_t field) const {
  return segment_->field(slot, field);
}

std::uint32_t Consumer::take(std::uint64_t batch) {
  const std::uint32_t slot = require(batch, {SlotState::ready}, "take");
  // A ready slot's word is the consumer's alone.
  segment_->slot(slot).word.store(SlotWord{SlotState::leased, 0, batch}.pack(), std::memory_order_relaxed);
  return slot;
}

void Consumer::release(std::uint32_t slot) noexcept {
  if (segment_->in_own_process()) release_slot(*segment_, slot);
}

void Consumer::cancel(std::uint64_t batch) {
  const std::uint32_t slot = require(batch, {SlotState::open, SlotState::ready}, "cancel");
  SlotHeader& header = segment_->slot(slot);
  const std::uint64_t open_word = CellWord{CellState::open, 0, batch}.pack();
  const std::uint64_t cancelled_word = CellWord{CellState::cancelled, 0, batch}.pack();
  std::uint32_t cancelled = 0;
  for (std::uint32_t c = 0; c < cell_count(slot); ++c) {
    std::uint64_t expected = open_word;
    // Relaxed: nobody reads anything through a cancelled cell. A claimer at the same cell wins or loses
    // whole.
    cancelled += segment_->cell(slot, c).word.compare_exchange_strong(expected, cancelled_word,
                                                                      std::memory_order_relaxed);
  }
  std::uint64_t seen = header.word.load(std::memory_order_relaxed);
  SlotWord next;
  do {
    next = SlotWord::unpack(seen);
    next.remaining -= cancelled;
    next.state = next.remaining == 0 ? SlotState::free : SlotState::quarantined;
    // Acquire: with remaining at zero the writers' last stores come before the slot's next use.
  } while (!header.word.compare_exchange_weak(seen, next.pack(), std::memory_order_acq_rel,
                                              std::memory_order_relaxed));
}

void Consumer::cancel_all() {
  require_own_process();
  for (std::uint32_t s = 0; s < spec().slots; ++s) {
    const SlotWord now = load(segment_->slot(s));
    if (now.state == SlotState::open || now.state == SlotState::ready) cancel(now.batch);
  }
}

void Consumer::lose_cells_of(std::uint32_t producer) {
  for (std::uint32_t s = 0; s < spec().slots; ++s) {
    for (std::uint32_t c = 0; c < cell_count(s); ++c) {
      std::atomic<std::uint64_t>& word = segment_->cell(s, c).word;
      std::uint64_t seen = word.load(std::memory_order_acquire);
      const CellWord now = CellWord::unpack(seen);
      if (now.state != CellState::claimed || now.producer != producer) continue;
      // Its only other writer is dead.
      word.store(CellWord{CellState::lost, producer, now.batch}.pack(), std::memory_order_release);
      settle_cells(*segment_, s, now.batch, 1);
    }
  }
}

unsigned Consumer::reap() {
  require_own_process();
  SegmentHeader& header = segment_->header();
  const std::uint32_t self = ProcessTag::unpack(header.identity.owner).pid;
  unsigned dead = 0;
  for (std::uint32_t i = 0; i < kMaxProducers; ++i) {
    const std::uint64_t tag = header.producers[i].load(std::memory_order_acquire);
    if (tag == 0 || ProcessTag::unpack(tag).pid == self || process_alive(ProcessTag::unpack(tag))) continue;
    lose_cells_of(i + 1);
    // After its cells: from here on the number may be somebody else's.
    header.producers[i].store(0, std::memory_order_release);
    ++dead;
  }
  if (segment_->shared()) {
    for (std::uint32_t s = 0; s < spec().slots; ++s) settle_by_cells(*segment_, s);
  }
  return dead;
}

void Consumer::close() noexcept {
  if (!segment_->in_own_process()) return;
  SegmentHeader& header = segment_->header();
  header.closing.store(1, std::memory_order_release);
  notify(header.opened, INT_MAX, segment_->scope());
  notify(header.settled, INT_MAX, segment_->scope());
}

bool Consumer::closing() const { return segment_->header().closing.load(std::memory_order_acquire) != 0; }

unsigned Consumer::count(SlotState state) const {
  unsigned n = 0;
  for (std::uint32_t s = 0; s < spec().slots; ++s) n += load(segment_->slot(s)).state == state;
  return n;
}

unsigned Consumer::producers() const {
  unsigned n = 0;
  for (const auto& tag : segment_->header().producers) n += tag.load(std::memory_order_acquire) != 0;
  return n;
}

}  // namespace pyfastdl
