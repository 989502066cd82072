// Lease: keeps the memory of one batch alive for whoever looks at it, tensors above all.
//
// Counted references; the last unref() gives the memory back: a SlotLease its slot, a HeapLease its own
// block. A DLPack deleter is `static_cast<Lease*>(tensor->manager_ctx)->unref()`.
//
// Threads: any may ref() and unref(), without the GIL and without a lock; unref() takes no memory.
// Fork: a lease belongs to the process that made it; a child that drops its copy changes nothing in the
// segment.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "ring/layout.h"
#include "ring/mapping.h"
#include "ring/segment.h"

namespace pyfastdl {

class Lease {
 public:
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  void ref() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  // The object may be gone afterwards.
  void unref() noexcept {
    // Release: this holder's reads come before the memory's next use. Acquire: so do all other holders'.
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // The array of a field, cell after cell. REQUIRES: field is one of the batch's.
  std::byte* field(std::uint32_t field) const { return fields_[field]; }

 protected:
  Lease() = default;
  virtual ~Lease() = default;

  std::array<std::byte*, kMaxFields> fields_{};  // constant after construction

 private:
  std::atomic<std::uint32_t> refs_{1};
};

// Holds one reference.
class LeaseRef {
 public:
  LeaseRef() = default;
  // Takes over the reference that the caller holds.
  explicit LeaseRef(Lease* lease) : lease_(lease) {}
  LeaseRef(const LeaseRef& other) : lease_(other.lease_) {
    if (lease_ != nullptr) lease_->ref();
  }
  LeaseRef(LeaseRef&& other) noexcept : lease_(std::exchange(other.lease_, nullptr)) {}
  LeaseRef& operator=(LeaseRef other) noexcept {
    std::swap(lease_, other.lease_);
    return *this;
  }
  ~LeaseRef() {
    if (lease_ != nullptr) lease_->unref();
  }

  Lease* get() const { return lease_; }
  Lease* operator->() const { return lease_; }
  explicit operator bool() const { return lease_ != nullptr; }
  // The reference is the caller's to unref().
  [[nodiscard]] Lease* detach() { return std::exchange(lease_, nullptr); }

 private:
  Lease* lease_ = nullptr;
};

// The memory is a slot of the ring.
class SlotLease final : public Lease {
 public:
  // REQUIRES: Consumer::take() gave the slot; its release passes to the lease. The lease keeps the segment
  // alive, not the consumer. Throws std::bad_alloc (the slot is then still the caller's to release).
  static LeaseRef adopt(std::shared_ptr<Segment> segment, std::uint32_t slot);

 private:
  SlotLease(std::shared_ptr<Segment> segment, std::uint32_t slot);
  ~SlotLease() override;

  const std::shared_ptr<Segment> segment_;
  const std::uint32_t slot_;
};

// The memory is the lease's own: a batch that must not hold a slot.
class HeapLease final : public Lease {
 public:
  // Uninitialised arrays of so many bytes, each 64-byte aligned. Throws Error: out_of_memory, or
  // invalid_argument for more than kMaxFields.
  static LeaseRef create(std::span<const std::uint64_t> bytes_per_field);

  // The fields of a slot's first `cells` cells. REQUIRES: the slot is ready or leased.
  static LeaseRef copy(const Segment& segment, std::uint32_t slot, std::uint32_t cells);

 private:
  HeapLease(Mapping block, std::span<const std::uint64_t> offsets);
  ~HeapLease() override = default;

  const Mapping block_;
};

}  // namespace pyfastdl
