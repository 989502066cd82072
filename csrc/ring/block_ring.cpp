#include "ring/block_ring.h"

#include <pthread.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

#include "base/status.h"

namespace pyfastdl {
namespace {

constexpr std::array<std::int64_t, 1> kOneCell = {0};

// The shared segments of this process, for the handler in a forked child, which may neither lock nor allocate.
constexpr std::size_t kMaxGuarded = 256;
std::array<std::atomic<const Segment*>, kMaxGuarded> guarded;

// The child's mapping of the owner's memory becomes a copy, at the same addresses.
void keep_private(const Segment& segment) {
  auto* base = reinterpret_cast<std::byte*>(&segment.header());
  const RingLayout& layout = segment.layout();
  if (::mmap(base, layout.total_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, segment.fd(), 0) ==
      MAP_FAILED) {
    return;  // it stays shared: no worse than without
  }
  constexpr std::uint64_t kPage = 4096;
  for (std::uint32_t s = 0; s < layout.spec.slots; ++s) {
    if (SlotWord::unpack(segment.slot(s).word.load(std::memory_order_acquire)).state != SlotState::leased)
      continue;
    // A write makes the page the child's own; until then it would show what the owner's workers write there next.
    volatile std::byte* data = segment.field(s, 0);
    for (std::uint64_t at = 0; at < layout.spec.fields[0].bytes_per_cell; at += kPage) data[at] = data[at];
  }
}

void in_forked_child() {
  const int saved = errno;
  for (const auto& entry : guarded) {
    if (const Segment* segment = entry.load(std::memory_order_acquire)) keep_private(*segment);
  }
  errno = saved;
}

// The same segment; as long as somebody holds it, a forked child's copy is private.
std::shared_ptr<Segment> guard(std::shared_ptr<Segment> segment) {
  static const int registered = ::pthread_atfork(nullptr, nullptr, &in_forked_child);
  if (!segment->shared() || registered != 0) return segment;
  for (auto& entry : guarded) {
    const Segment* nobody = nullptr;
    if (!entry.compare_exchange_strong(nobody, segment.get(), std::memory_order_acq_rel)) continue;
    Segment* raw = segment.get();
    return {raw, [&entry, held = std::move(segment)](Segment*) mutable {
              entry.store(nullptr, std::memory_order_release);
              held.reset();
            }};
  }
  return segment;  // more loaders at once than anybody has
}

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

BlockRing::BlockRing(std::shared_ptr<Segment> segment)
    : segment_(guard(std::move(segment))), consumer_(segment_) {
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

void BlockRing::reset() {
  require_own_process();
  const MutexLock lock(mutex_);
  consumer_.reap();
  consumer_.cancel_all();
}

BlockWriter::BlockWriter(int fd) : producer_(Producer::attach(Segment::attach(fd))) {}

std::optional<Block> BlockWriter::claim() {
  const std::optional<Ticket> ticket = producer_->try_claim();
  if (!ticket) return std::nullopt;
  return tickets_.add(*producer_, *ticket);
}

void BlockWriter::publish(std::uint64_t number, bool ok) { producer_->publish(tickets_.remove(number), ok); }

}  // namespace pyfastdl
