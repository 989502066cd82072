// Transitions: the changes of slot and cell words that more than one side makes. With open() and the claim
// they are all there are.
//
// Each is one compare-exchange, so that a process may die between any two and leave a state that FORMAT.md
// lists.
// Threads: any.
#pragma once

#include <cstdint>

#include "ring/layout.h"
#include "ring/segment.h"

namespace pyfastdl {

// `count` cells of the batch became terminal: counts them off, and the last one makes an open slot ready and
// a quarantined one free. Nothing happens if the slot has moved on. Wakes the consumer.
void settle_cells(const Segment& segment, std::uint32_t slot, std::uint64_t batch, std::uint32_t count);

// Counts afresh from the cells, for when a process died between its cell and the count. REQUIRES: the
// consumer's thread.
void settle_by_cells(const Segment& segment, std::uint32_t slot);

// Leased slot: free. Wakes the consumer.
void release_slot(const Segment& segment, std::uint32_t slot) noexcept;

}  // namespace pyfastdl
