// Consumer: the side of the ring that opens batches, waits for them and takes them. One per segment, in the
// process that created it.
//
// Threads: calls are made by one thread at a time (the caller serialises), except release(), close(),
// closing() and the counters, which any thread may call at any time. In a forked child every call but the
// destructor throws Error(state); release() and the destructor do nothing there.
//
// Blocking: wait() and wait_free() block, without spinning, until what they wait for, the deadline, close(),
// or a signal handler on the calling thread. A signal that comes just before they sleep is not seen: a caller
// that must answer signals gives deadlines of a fraction of a second. With shared memory they look ten times
// a second whether producer processes died (nothing else wakes for a death).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include "ring/layout.h"
#include "ring/segment.h"
#include "ring/ticket.h"
#include "ring/wait.h"

namespace pyfastdl {

enum class WaitResult {
  ready,
  timed_out,
  interrupted,  // a signal handler ran; call again
  closed,       // close() was called and what was waited for hasn't come
  orphaned,     // cells are still to be claimed, producers had attached, and none is left
};

class Consumer {
 public:
  // Throws Error(state) when another process owns the segment.
  explicit Consumer(std::shared_ptr<Segment> segment);
  // Closes the ring; leases that are alive keep the memory.
  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // A slot is free, and the batch spec().slots before the next one is no longer open (it can only be when
  // batches are taken out of order).
  bool can_open() const;

  // Opens the next batch, one cell an index, and returns its sequence number: 0, 1, 2, ... `occurrences` is
  // empty (all zero) or as long as `indices`. Throws Error: state without can_open(), closed after close(),
  // invalid_argument for no or too many cells.
  std::uint64_t open(std::span<const std::int64_t> indices, std::span<const std::uint32_t> occurrences = {},
                     const BatchKey& key = {});

  // Waits until every cell of the batch is terminal. REQUIRES: the batch was opened and neither taken nor
  // cancelled (else Error(state); so for all that take a batch).
  WaitResult wait(std::uint64_t batch, Deadline deadline);

  // Waits until can_open().
  WaitResult wait_free(Deadline deadline);

  // The slot of an open, ready or leased batch. Throws Error(state) for any other.
  std::uint32_t slot_of(std::uint64_t batch) const;

  std::uint32_t cell_count(std::uint32_t slot) const;
  // empty for cells beyond cell_count(slot).
  CellState cell_state(std::uint32_t slot, std::uint32_t cell) const;
  std::int64_t index(std::uint32_t slot, std::uint32_t cell) const;
  std::uint32_t occurrence(std::uint32_t slot, std::uint32_t cell) const;
  // The array of a field. The bytes of a cell are its writer's until the cell is terminal.
  std::byte* field(std::uint32_t slot, std::uint32_t field) const;

  // Ready batch: its slot becomes leased, until release(slot). Throws Error(state) for a batch that isn't
  // ready.
  std::uint32_t take(std::uint64_t batch);

  // Any thread; no lock, no allocation. REQUIRES: the slot is leased, and this is its only release.
  void release(std::uint32_t slot) noexcept;

  // Drops a batch that is open or ready, whatever it has come to: what nobody claimed is cancelled; its slot
  // is free at once, or (quarantined) when the last writer publishes or is proven dead.
  void cancel(std::uint64_t batch);
  void cancel_all();

  // Marks as lost what dead processes had claimed. wait() and wait_free() do it by themselves. Returns how
  // many producers were found dead.
  unsigned reap();

  // No further claims; wakes everybody. May be called again.
  void close() noexcept;
  bool closing() const;

  unsigned free_slots() const { return count(SlotState::free); }
  unsigned leased_slots() const { return count(SlotState::leased); }
  unsigned quarantined_slots() const { return count(SlotState::quarantined); }
  // Producers attached now, as far as known (dead ones until they are reaped).
  unsigned producers() const;

  const std::shared_ptr<Segment>& segment() const { return segment_; }
  const RingSpec& spec() const { return segment_->spec(); }

 private:
  unsigned count(SlotState state) const;
  // The slot of a batch whose state is one of `states`; throws Error(state) naming the call and the state.
  std::uint32_t require(std::uint64_t batch, std::initializer_list<SlotState> states, const char* call) const;
  void require_own_process() const;
  // The slot that open() would take, if can_open().
  std::optional<std::uint32_t> next_slot() const;
  void lose_cells_of(std::uint32_t producer);
  bool abandoned(std::uint32_t slot) const;
  template <class Done, class Abandoned>
  WaitResult wait_until(Deadline deadline, Done done, Abandoned abandoned);

  const std::shared_ptr<Segment> segment_;
  Deadline next_look_ = Deadline::min();  // when to look for dead producers again
};

}  // namespace pyfastdl
