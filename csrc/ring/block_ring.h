// BlockRing and BlockWriter: a ring of plain blocks, for batches whose layout only Python knows.
//
// Each slot has one cell of one field: a block. In private memory the owner's own threads fill blocks:
//   acquire() -> write -> publish() -> take() -> the lease dies -> acquire() ...
// In shared memory other processes do: the owner offers free blocks, a BlockWriter claims any of them, writes,
// publishes, and tells the owner the block's number by a message of its own; the owner takes it. A writer that
// dies leaves a block that reap() finds (FORMAT.md, "Deaths").
//
// Threads: every call but acquire() and claim(), which one thread at a time makes, may come from any thread; a
// short lock, never across a wait. In a forked child calls throw Error(state) before they touch the lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/mutex.h"
#include "ring/consumer.h"
#include "ring/lease.h"
#include "ring/producer.h"
#include "ring/segment.h"

namespace pyfastdl {

struct Block {
  std::uint64_t number = 0;  // never used again
  std::byte* data = nullptr;
};

// The tickets of the blocks that this process is filling.
class BlockTickets {
 public:
  Block add(const Producer& producer, const Ticket& ticket);
  // Throws Error(state) for a block that isn't being filled.
  Ticket remove(std::uint64_t number);
  bool contains(std::uint64_t number) const { return tickets_.count(number) != 0; }

 private:
  std::unordered_map<std::uint64_t, Ticket> tickets_;
};

class BlockRing {
 public:
  static RingSpec spec(std::uint32_t blocks, std::uint64_t bytes) { return {blocks, 1, {{bytes}}}; }

  // REQUIRES: a segment of such a spec, made by this process.
  //
  // Shared memory is made private in a child that is forked while it is mapped: what the child does to the batches that
  // it inherits stays with it, and blocks that are leased then keep their bytes.
  explicit BlockRing(std::shared_ptr<Segment> segment);

  // Private memory: a free block, to be written and then published, from any thread. Nothing when all are in use.
  std::optional<Block> acquire();
  // Shared memory: every free block may be claimed from here on.
  void offer();

  // The block is written. A block that was cancelled meanwhile is free from here on.
  void publish(std::uint64_t number);
  // A published block: the memory is the lease's. Throws Error(state) for any other.
  LeaseRef take(std::uint64_t number);
  // A block that nobody will take: free at once, or when its writer publishes it or is proven dead.
  void cancel(std::uint64_t number);
  // Frees what dead writers held.
  void reap();
  // For other writers, when the ones before are gone: whatever they left is free. Leases stay.
  void reset();
  void close() noexcept { consumer_.close(); }

  unsigned leased() const { return consumer_.leased_slots(); }
  unsigned free() const { return consumer_.free_slots(); }
  unsigned quarantined() const { return consumer_.quarantined_slots(); }
  std::uint64_t block_bytes() const { return segment_->spec().fields[0].bytes_per_cell; }

 private:
  void require_own_process() const;

  const std::shared_ptr<Segment> segment_;
  mutable Mutex mutex_;
  Consumer consumer_;
  std::unique_ptr<Producer> producer_;  // private memory only
  BlockTickets tickets_ PYFASTDL_GUARDED_BY(mutex_);
};

// Of another process.
class BlockWriter {
 public:
  // Throws Error as Segment::attach() and Producer::attach().
  explicit BlockWriter(int fd);

  // Nothing when no block is offered, or the ring is closed.
  std::optional<Block> claim();
  void publish(std::uint64_t number, bool ok);

  std::uint64_t block_bytes() const { return producer_->spec().fields[0].bytes_per_cell; }

 private:
  const std::unique_ptr<Producer> producer_;
  BlockTickets tickets_;
};

}  // namespace pyfastdl
