// RingLayout: where every byte of a ring stands, and what the bits of its words mean. FORMAT.md is the long
// version.
//
// A segment is, in this order: SegmentHeader, order[], slot headers each followed by its cell headers, then
// the data of the slots. Nothing in it is a pointer, so that each process may map it elsewhere. Offsets are
// computed from the RingSpec by whoever creates or attaches: none is ever read out of the memory.
//
// Threads: plain values and pure functions; the atomics' rules are those of transitions.h.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pyfastdl {

inline constexpr std::uint32_t kMaxFields = 32;
inline constexpr std::uint32_t kMaxSlots = 4096;
inline constexpr std::uint32_t kMaxCells = (1u << 20) - 1;
inline constexpr std::uint32_t kMaxProducers = 256;
// A ring ends here rather than let a number mean two batches: 35 years at 1,000 batches a second.
inline constexpr std::uint64_t kMaxBatches = (1ull << 40) - 1;

// One field is an array over the cells of a slot, without gaps: images, labels, indices.
struct FieldSpec {
  std::uint64_t bytes_per_cell = 0;
};

struct RingSpec {
  std::uint32_t slots = 0;
  std::uint32_t cells_per_slot = 0;
  std::vector<FieldSpec> fields;
};

enum class SlotState : std::uint32_t {
  free = 0,     // nobody's
  open,         // a batch is being filled
  ready,        // every cell is terminal; the consumer may take it
  leased,       // handed out; whoever holds the lease reads (and may write) the data
  quarantined,  // cancelled, but writers are still at work in it
};

enum class CellState : std::uint32_t {
  empty = 0,  // not part of the batch
  open,       // to be claimed
  claimed,    // a producer is writing
  published,  // terminal: the data are good
  failed,     // terminal: the producer gave up on this sample
  cancelled,  // terminal: nobody had claimed it when its batch was cancelled
  lost,       // terminal: its writer died
};

inline bool is_terminal(CellState s) { return s >= CellState::published; }

// Each word carries its batch, so that a compare-exchange by someone who slept through the slot's reuse
// fails.
struct SlotWord {  // batch (40 bits) | cells that are not terminal (20) | state (4)
  SlotState state = SlotState::free;
  std::uint32_t remaining = 0;
  std::uint64_t batch = 0;

  std::uint64_t pack() const {
    return batch << 24 | std::uint64_t{remaining} << 4 | static_cast<std::uint64_t>(state);
  }
  static SlotWord unpack(std::uint64_t w) {
    return {static_cast<SlotState>(w & 0xF), static_cast<std::uint32_t>(w >> 4 & 0xFFFFF), w >> 24};
  }
};

struct CellWord {  // batch (40 bits) | producer (16) | state (8)
  CellState state = CellState::empty;
  std::uint32_t producer = 0;  // who claimed it: number in the table of producers; 0 while nobody has
  std::uint64_t batch = 0;

  std::uint64_t pack() const {
    return batch << 24 | std::uint64_t{producer} << 8 | static_cast<std::uint64_t>(state);
  }
  static CellWord unpack(std::uint64_t w) {
    return {static_cast<CellState>(w & 0xFF), static_cast<std::uint32_t>(w >> 8 & 0xFFFF), w >> 24};
  }
};

// batch (40 bits) | slot or cell number (24): compares like the pair.
struct PositionWord {
  std::uint64_t batch = 0;
  std::uint32_t place = 0;

  std::uint64_t pack() const { return batch << 24 | place; }
  static PositionWord unpack(std::uint64_t w) { return {w >> 24, static_cast<std::uint32_t>(w & 0xFFFFFF)}; }
};

// What sleepers sleep on (wait.h). Wakers write the one line and read the other.
struct Event {
  alignas(64) std::atomic<std::uint32_t> sequence{0};
  alignas(64) std::atomic<std::uint32_t> waiters{0};
};

inline constexpr std::uint64_t kRingMagic = 0x31474E49524C4450ull;  // "PDLRING1" in memory order
inline constexpr std::uint32_t kRingVersion = 2;

// Constant once the segment is created; an attaching process checks all of it.
struct SegmentIdentity {
  std::uint64_t magic = kRingMagic;
  std::uint32_t version = kRingVersion;
  std::uint32_t field_count = 0;
  std::uint64_t total_bytes = 0;
  std::uint32_t slots = 0;
  std::uint32_t cells_per_slot = 0;
  std::uint64_t bytes_per_cell[kMaxFields] = {};
  std::uint64_t owner = 0;  // the consumer's ProcessTag, packed
};

struct SegmentHeader {
  SegmentIdentity identity;
  alignas(64) std::atomic<std::uint32_t> closing;
  // The next batch to open; all below were opened.
  alignas(64) std::atomic<std::uint64_t> head;
  // PositionWord: no cell before it is open. A hint that only grows.
  alignas(64) std::atomic<std::uint64_t> cursor;
  // Producers sleep here: cells were opened, or the ring closes.
  Event opened;
  // The consumer sleeps here: a batch is ready, a slot is free, or the ring closes.
  Event settled;
  // Producers that ever attached.
  alignas(64) std::atomic<std::uint32_t> attached;
  // Producer n is producers[n - 1]: its packed ProcessTag, 0 where free.
  alignas(64) std::atomic<std::uint64_t> producers[kMaxProducers];
};

struct alignas(64) SlotHeader {
  std::atomic<std::uint64_t> word;  // SlotWord
  std::uint64_t seed;               // the BatchKey: written by open(), read under a claim
  std::uint32_t epoch;              // likewise
  // Cells of this batch. Atomic, because late claimers may look at a slot that is used again.
  std::atomic<std::uint32_t> cell_count;
};

struct alignas(32) CellHeader {
  std::atomic<std::uint64_t> word;  // CellWord
  std::int64_t index;               // written by open(), read under a claim or by the consumer
  std::uint32_t occurrence;         // likewise
};

struct RingLayout {
  // Throws Error(invalid_argument) naming what is out of range.
  static RingLayout of(const RingSpec& spec);

  RingSpec spec;
  std::uint64_t order_offset =
      0;  // std::atomic<uint64>[slots], PositionWords: batch b is in order[b % slots]
  std::uint64_t slots_offset = 0;  // SlotHeader, CellHeader[cells_per_slot]; again for the next slot
  std::uint64_t slot_stride = 0;
  std::uint64_t data_offset = 0;  // data of slot s: data_offset + s * data_stride
  std::uint64_t data_stride = 0;
  std::array<std::uint64_t, kMaxFields> field_offset{};  // from the start of a slot's data
  std::uint64_t total_bytes = 0;

  std::uint64_t slot_header(std::uint32_t slot) const { return slots_offset + slot * slot_stride; }
  std::uint64_t cell_header(std::uint32_t slot, std::uint32_t cell) const {
    return slot_header(slot) + sizeof(SlotHeader) + cell * sizeof(CellHeader);
  }
  std::uint64_t field(std::uint32_t slot, std::uint32_t field) const {
    return data_offset + slot * data_stride + field_offset[field];
  }
};

}  // namespace pyfastdl
