// Segment: the memory of a ring, private to this process or shared by a descriptor. Typed access, no
// behaviour.
//
// Private: anonymous memory; a forked child has a copy of its own. Shared: a sealed memfd (no name that could
// leak, not bound by the size of /dev/shm, can't be cut short under a reader); its pages are reserved at
// creation, so that a lack of memory is an error here and no SIGBUS later. Other processes of this PID
// namespace attach by descriptor (inherited, sent over a socket, or opened through /proc/<pid>/fd).
//
// Threads: constant after construction; any thread. Whoever uses the memory holds a shared_ptr. Nothing
// blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/unique_fd.h"
#include "ring/layout.h"
#include "ring/mapping.h"
#include "ring/wait.h"

namespace pyfastdl {

class Segment {
 public:
  // Throws Error: invalid_argument for the spec, out_of_memory naming the bytes that were wanted.
  static std::shared_ptr<Segment> create_private(const RingSpec& spec);
  static std::shared_ptr<Segment> create_shared(const RingSpec& spec);

  // In two steps, for workers that start before the size is known: they are given the descriptor, and attach once
  // is_complete() says so. The descriptor stays the caller's.
  static UniqueFd reserve_shared();
  static std::shared_ptr<Segment> create_shared_in(int fd, const RingSpec& spec);
  static bool is_complete(int fd);

  // Maps the segment behind `fd`, which stays the caller's. Throws Error(invalid_argument) for anything that
  // isn't a whole segment of this version.
  static std::shared_ptr<Segment> attach(int fd);

  const RingLayout& layout() const { return layout_; }
  const RingSpec& spec() const { return layout_.spec; }
  bool shared() const { return shared_; }
  FutexScope scope() const { return shared() ? FutexScope::process_shared : FutexScope::process_private; }
  // What other processes attach to (close-on-exec); -1 for private memory and for a segment that was
  // attached.
  int fd() const { return fd_.get(); }
  // False in a forked child of the process that created or attached it.
  bool in_own_process() const { return mapping_.in_own_process(); }

  SegmentHeader& header() const { return at<SegmentHeader>(0); }
  std::atomic<std::uint64_t>& order(std::uint64_t batch) const {
    return at<std::atomic<std::uint64_t>>(layout_.order_offset +
                                          batch % spec().slots * sizeof(std::uint64_t));
  }
  SlotHeader& slot(std::uint32_t slot) const { return at<SlotHeader>(layout_.slot_header(slot)); }
  CellHeader& cell(std::uint32_t slot, std::uint32_t cell) const {
    return at<CellHeader>(layout_.cell_header(slot, cell));
  }
  // The array of a field over the slot's cells.
  std::byte* field(std::uint32_t slot, std::uint32_t field) const {
    return mapping_.data() + layout_.field(slot, field);
  }

 private:
  Segment(RingLayout layout, Mapping mapping, bool shared, UniqueFd fd);
  void initialise();

  template <class T>
  T& at(std::uint64_t offset) const {
    return *reinterpret_cast<T*>(mapping_.data() + offset);
  }

  const RingLayout layout_;
  const Mapping mapping_;
  const bool shared_;
  const UniqueFd fd_;
};

}  // namespace pyfastdl
