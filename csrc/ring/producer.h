// Producer: the side of the ring that fills cells: claim one, write its fields, publish it. Many threads of a
// process share one; other processes attach to the segment and have their own.
//
// Tickets come in batch order, then cell order. A ticket is published exactly once, by any thread of this
// process, also after the batch was cancelled (then it is dropped silently) or the ring closed: until then
// its slot isn't used again. If the process dies instead, the consumer finds out.
//
// It belongs to the process that attached it: in a forked child the calls throw Error(state) and the
// destructor does nothing; a child attaches afresh.
//
// Blocking: only claim(), without spinning.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "ring/segment.h"
#include "ring/ticket.h"
#include "ring/wait.h"

namespace pyfastdl {

enum class ClaimResult {
  claimed,
  timed_out,
  interrupted,  // a signal handler ran on this thread; call again
  closed,       // the ring is closed: no more tickets, ever
  owner_died,   // the consumer's process is gone
};

class Producer {
 public:
  // Throws Error: closed, peer_died, or state when kMaxProducers are attached.
  static std::unique_ptr<Producer> attach(std::shared_ptr<Segment> segment);

  // Detaches. REQUIRES: no thread is in a call. Should tickets be outstanding, the consumer takes their cells
  // as claimed until this process ends.
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Nothing when no cell is open or the ring is closed.
  std::optional<Ticket> try_claim();

  // Waits for a cell. A deadline in the past makes it a try_claim() that says why not.
  ClaimResult claim(Deadline deadline, Ticket* ticket);

  // Where to write: spec().fields[field].bytes_per_cell bytes. REQUIRES: the ticket is claimed and not yet
  // published.
  std::byte* cell(const Ticket& ticket, std::uint32_t field) const;

  // ok: the fields are written. Otherwise the cell is failed, its bytes anything.
  void publish(const Ticket& ticket, bool ok);

  const std::shared_ptr<Segment>& segment() const { return segment_; }
  const RingSpec& spec() const { return segment_->spec(); }

 private:
  Producer(std::shared_ptr<Segment> segment, std::uint32_t number, std::uint64_t tag);

  void require_own_process() const;
  std::optional<Ticket> find_and_claim();

  const std::shared_ptr<Segment> segment_;
  const std::uint32_t number_;  // in the segment's table, from 1
  const std::uint64_t tag_;
  std::atomic<std::uint32_t> outstanding_{0};
};

}  // namespace pyfastdl
