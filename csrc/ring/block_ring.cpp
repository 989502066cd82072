#include "ring/block_ring.h"

#include <array>
#include <string>
#include <utility>

#include "base/status.h"

namespace pyfastdl {
namespace {

constexpr std::array<std::int64_t, 1> kOneCell = {0};

}  // namespace

Block BlockTickets::add(const Producer& producer, const Ticket& ticket) {
  tickets_.emplace(ticket.batch, ticket);
  return {ticket.batch, producer.cell(ticket, 0)};
}

Ticket BlockTickets::remove(std::uint64_t number) {
  const auto found = tickets_.find(number);
  if (found == tickets_.end()) {
    throw Error(Errc::state, "block " + std::to_string(number) + " isn't being filled here");
  }
  const Ticket ticket = found->second;
  tickets_.erase(found);
  return ticket;
}

BlockRing::BlockRing(std::shared_ptr<Segment> segment) : segment_(std::move(segment)), consumer_(segment_) {
  if (!segment_->shared()) producer_ = Producer::attach(segment_);
}

void BlockRing::require_own_process() const {
  if (!segment_->in_own_process()) {
    throw Error(Errc::state, "this ring is the parent process's: call iter(loader) in the forked child");
  }
}

std::optional<Block> BlockRing::acquire() {
  require_own_process();
  const MutexLock lock(mutex_);
  if (producer_ == nullptr || !consumer_.can_open()) return std::nullopt;
  consumer_.open(kOneCell);
  const std::optional<Ticket> ticket = producer_->try_claim();
  if (!ticket) return std::nullopt;  // closed
  return tickets_.add(*producer_, *ticket);
}

void BlockRing::offer() {
  require_own_process();
  const MutexLock lock(mutex_);
  while (!consumer_.closing() && consumer_.can_open()) consumer_.open(kOneCell);
}

void BlockRing::publish(std::uint64_t number) {
  require_own_process();
  const MutexLock lock(mutex_);
  producer_->publish(tickets_.remove(number), true);
}

LeaseRef BlockRing::take(std::uint64_t number) {
  require_own_process();
  const MutexLock lock(mutex_);
  const std::uint32_t slot = consumer_.take(number);
  try {
    return SlotLease::adopt(segment_, slot);
  } catch (...) {
    consumer_.release(slot);
    throw;
  }
}

void BlockRing::cancel(std::uint64_t number) {
  require_own_process();
  const MutexLock lock(mutex_);
  consumer_.cancel(number);
}

void BlockRing::reap() {
  require_own_process();
  const MutexLock lock(mutex_);
  consumer_.reap();
}

BlockWriter::BlockWriter(int fd) : producer_(Producer::attach(Segment::attach(fd))) {}

std::optional<Block> BlockWriter::claim() {
  const std::optional<Ticket> ticket = producer_->try_claim();
  if (!ticket) return std::nullopt;
  return tickets_.add(*producer_, *ticket);
}

void BlockWriter::publish(std::uint64_t number, bool ok) { producer_->publish(tickets_.remove(number), ok); }

}  // namespace pyfastdl
