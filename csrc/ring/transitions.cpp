#include "ring/transitions.h"

#include "ring/wait.h"

namespace pyfastdl {

void settle_cells(const Segment& segment, std::uint32_t slot, std::uint64_t batch, std::uint32_t count) {
  std::atomic<std::uint64_t>& word = segment.slot(slot).word;
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  SlotWord next;
  do {
    next = SlotWord::unpack(seen);
    const bool filling = next.state == SlotState::open || next.state == SlotState::quarantined;
    // By cells it was found to be complete already, and may long be another batch's.
    if (next.batch != batch || !filling) return;
    next.remaining -= count;
    if (next.remaining == 0) next.state = next.state == SlotState::open ? SlotState::ready : SlotState::free;
    // Release: the cell's bytes and word. Acquire: so that the last one hands on everybody's.
  } while (
      !word.compare_exchange_weak(seen, next.pack(), std::memory_order_acq_rel, std::memory_order_relaxed));
  if (next.remaining == 0) notify(segment.header().settled, 1, segment.scope());
}

void settle_by_cells(const Segment& segment, std::uint32_t slot) {
  SlotHeader& header = segment.slot(slot);
  std::uint64_t seen = header.word.load(std::memory_order_acquire);
  const SlotWord now = SlotWord::unpack(seen);
  if (now.state != SlotState::open && now.state != SlotState::quarantined) return;
  const std::uint32_t cells = header.cell_count.load(std::memory_order_relaxed);
  for (std::uint32_t c = 0; c < cells; ++c) {
    // Acquire: the bytes of whoever made the cell terminal, count or no count.
    if (!is_terminal(CellWord::unpack(segment.cell(slot, c).word.load(std::memory_order_acquire)).state))
      return;
  }
  const SlotState settled = now.state == SlotState::open ? SlotState::ready : SlotState::free;
  const SlotWord next{settled, 0, now.batch};
  // Somebody who still counts makes this fail, and then either he comes to zero or the next look does it.
  header.word.compare_exchange_strong(seen, next.pack(), std::memory_order_acq_rel,
                                      std::memory_order_relaxed);
}

void release_slot(const Segment& segment, std::uint32_t slot) noexcept {
  std::atomic<std::uint64_t>& word = segment.slot(slot).word;
  SlotWord now = SlotWord::unpack(word.load(std::memory_order_relaxed));
  now.state = SlotState::free;
  // A leased slot's word is its holder's alone: late counters leave it be. Release: the holder's last reads
  // and writes, for the next open().
  word.store(now.pack(), std::memory_order_release);
  notify(segment.header().settled, 1, segment.scope());
}

}  // namespace pyfastdl
