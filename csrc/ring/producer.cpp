#include "ring/producer.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/status.h"
#include "ring/process.h"
#include "ring/transitions.h"

namespace pyfastdl {
namespace {

bool closing(const Segment& segment) { return segment.header().closing.load(std::memory_order_acquire) != 0; }

bool owner_alive(const Segment& segment) {
  return process_alive(ProcessTag::unpack(segment.header().identity.owner));
}

// Relaxed: the position is a hint, and one that is behind costs a few looks.
void advance(std::atomic<std::uint64_t>& cursor, std::uint64_t to) {
  std::uint64_t seen = cursor.load(std::memory_order_relaxed);
  while (seen < to && !cursor.compare_exchange_weak(seen, to, std::memory_order_relaxed)) {
  }
}

}  // namespace

std::unique_ptr<Producer> Producer::attach(std::shared_ptr<Segment> segment) {
  if (!segment->in_own_process()) {
    throw Error(Errc::state,
                "this ring was mapped by the parent process; attach to its descriptor in this one");
  }
  if (closing(*segment)) throw Error(Errc::closed, "the ring is closed");
  if (segment->shared() && !owner_alive(*segment)) {
    throw Error(Errc::peer_died, "the process that owns the ring is gone");
  }
  const std::uint64_t tag = this_process().pack();
  SegmentHeader& header = segment->header();
  for (std::uint32_t i = 0; i < kMaxProducers; ++i) {
    std::uint64_t expected = 0;
    // Acquire, to the release of whoever had the number before: all its cells are settled.
    if (header.producers[i].compare_exchange_strong(expected, tag, std::memory_order_acq_rel,
                                                    std::memory_order_relaxed)) {
      // After the entry: one that counts but isn't in the table would look like one that left.
      header.attached.fetch_add(1, std::memory_order_release);
      return std::unique_ptr<Producer>(new Producer(std::move(segment), i + 1, tag));
    }
  }
  throw Error(Errc::state, "the ring has its " + std::to_string(kMaxProducers) +
                               " producers already; let the threads of a process share one");
}

Producer::Producer(std::shared_ptr<Segment> segment, std::uint32_t number, std::uint64_t tag)
    : segment_(std::move(segment)), number_(number), tag_(tag) {}

Producer::~Producer() {
  if (!segment_->in_own_process() || outstanding_.load(std::memory_order_acquire) != 0) return;
  SegmentHeader& header = segment_->header();
  std::uint64_t expected = tag_;
  header.producers[number_ - 1].compare_exchange_strong(expected, 0, std::memory_order_release,
                                                        std::memory_order_relaxed);
  // The consumer may be waiting for cells that nobody is left to claim.
  notify(header.settled, 1, segment_->scope());
}

void Producer::require_own_process() const {
  if (segment_->in_own_process()) return;
  throw Error(Errc::state,
              "this producer belongs to the parent process; attach to the ring's descriptor in this one");
}

std::optional<Ticket> Producer::find_and_claim() {
  SegmentHeader& header = segment_->header();
  // Acquire, to open()'s release: order[] and the cells of all batches below.
  const std::uint64_t head = header.head.load(std::memory_order_acquire);
  PositionWord at = PositionWord::unpack(header.cursor.load(std::memory_order_relaxed));
  // Cancelled batches may leave the cursor far behind; what order[] no longer holds has no open cells.
  if (at.batch + spec().slots < head) at = {head - spec().slots, 0};
  for (; at.batch < head; at = {at.batch + 1, 0}) {
    const PositionWord place =
        PositionWord::unpack(segment_->order(at.batch).load(std::memory_order_acquire));
    // Overwritten: no cell of that batch has been open for a while. The bound is for damaged memory.
    if (place.batch != at.batch || place.place >= spec().slots) continue;
    const std::uint32_t cells = std::min(
        segment_->slot(place.place).cell_count.load(std::memory_order_relaxed), spec().cells_per_slot);
    const std::uint64_t open_word = CellWord{CellState::open, 0, at.batch}.pack();
    const std::uint64_t claimed_word = CellWord{CellState::claimed, number_, at.batch}.pack();
    for (; at.place < cells; ++at.place) {
      CellHeader& cell = segment_->cell(place.place, at.place);
      std::uint64_t expected = open_word;
      if (cell.word.load(std::memory_order_relaxed) != open_word) continue;
      // Acquire, to open()'s release: index, occurrence and key, and that the slot's former use is over.
      if (!cell.word.compare_exchange_strong(expected, claimed_word, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
        continue;
      }
      outstanding_.fetch_add(1, std::memory_order_relaxed);
      advance(header.cursor, PositionWord{at.batch, at.place + 1}.pack());
      const SlotHeader& slot = segment_->slot(place.place);
      return Ticket{place.place, at.place, at.batch, cell.index, cell.occurrence, {slot.seed, slot.epoch}};
    }
  }
  return std::nullopt;
}

std::optional<Ticket> Producer::try_claim() {
  require_own_process();
  if (closing(*segment_)) return std::nullopt;
  return find_and_claim();
}

ClaimResult Producer::claim(Deadline deadline, Ticket* ticket) {
  require_own_process();
  Deadline next_look = Deadline::min();
  const auto attempt = [&]() -> std::optional<ClaimResult> {
    if (closing(*segment_)) return ClaimResult::closed;
    const std::optional<Ticket> found = find_and_claim();
    if (!found) return std::nullopt;
    *ticket = *found;
    return ClaimResult::claimed;
  };
  if (const auto result = attempt()) return *result;
  for (;;) {
    Sleeper sleeper(segment_->header().opened, segment_->scope());
    if (const auto result = attempt()) return *result;
    const Deadline now = std::chrono::steady_clock::now();
    Deadline until = deadline;
    if (segment_->shared()) {
      if (now >= next_look) {
        if (!owner_alive(*segment_)) return ClaimResult::owner_died;
        next_look = now + kPeerLookInterval;
      }
      until = std::min(until, next_look);
    }
    if (now >= deadline) return ClaimResult::timed_out;
    if (sleeper.sleep(until) == FutexResult::interrupted) return ClaimResult::interrupted;
  }
}

std::byte* Producer::cell(const Ticket& ticket, std::uint32_t field) const {
  return segment_->field(ticket.slot, field) + ticket.cell * spec().fields[field].bytes_per_cell;
}

void Producer::publish(const Ticket& ticket, bool ok) {
  require_own_process();
  std::uint64_t expected = CellWord{CellState::claimed, number_, ticket.batch}.pack();
  const CellState state = ok ? CellState::published : CellState::failed;
  // Release, to the consumer's acquire: the bytes.
  if (!segment_->cell(ticket.slot, ticket.cell)
           .word.compare_exchange_strong(expected, CellWord{state, number_, ticket.batch}.pack(),
                                         std::memory_order_release, std::memory_order_relaxed)) {
    throw Error(Errc::state, "a ticket is published once, by the producer that claimed it");
  }
  settle_cells(*segment_, ticket.slot, ticket.batch, 1);
  outstanding_.fetch_sub(1, std::memory_order_release);
}

}  // namespace pyfastdl
