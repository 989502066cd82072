#include "ring/lease.h"

#include <cstring>
#include <string>
#include <vector>

#include "base/status.h"
#include "ring/transitions.h"

namespace pyfastdl {

LeaseRef SlotLease::adopt(std::shared_ptr<Segment> segment, std::uint32_t slot) {
  return LeaseRef(new SlotLease(std::move(segment), slot));
}

SlotLease::SlotLease(std::shared_ptr<Segment> segment, std::uint32_t slot)
    : segment_(std::move(segment)), slot_(slot) {
  for (std::uint32_t f = 0; f < segment_->spec().fields.size(); ++f) fields_[f] = segment_->field(slot, f);
}

SlotLease::~SlotLease() {
  if (segment_->in_own_process()) release_slot(*segment_, slot_);
}

LeaseRef HeapLease::create(std::span<const std::uint64_t> bytes_per_field) {
  if (bytes_per_field.size() > kMaxFields) {
    throw Error(Errc::invalid_argument, "a batch has at most " + std::to_string(kMaxFields) +
                                            " fields, got " + std::to_string(bytes_per_field.size()));
  }
  std::array<std::uint64_t, kMaxFields> offsets{};
  std::uint64_t end = 0;
  for (std::size_t f = 0; f < bytes_per_field.size(); ++f) {
    offsets[f] = end;
    if (bytes_per_field[f] > UINT64_MAX / 2 / kMaxFields) {
      throw Error(Errc::out_of_memory,
                  "a field of " + std::to_string(bytes_per_field[f]) + " bytes fits no memory");
    }
    end += (bytes_per_field[f] + 63) / 64 * 64;
  }
  Mapping block = Mapping::anonymous(end == 0 ? 64 : end);
  return LeaseRef(new HeapLease(std::move(block), std::span(offsets).first(bytes_per_field.size())));
}

HeapLease::HeapLease(Mapping block, std::span<const std::uint64_t> offsets) : block_(std::move(block)) {
  for (std::size_t f = 0; f < offsets.size(); ++f) fields_[f] = block_.data() + offsets[f];
}

LeaseRef HeapLease::copy(const Segment& segment, std::uint32_t slot, std::uint32_t cells) {
  const std::vector<FieldSpec>& fields = segment.spec().fields;
  std::array<std::uint64_t, kMaxFields> bytes{};
  for (std::size_t f = 0; f < fields.size(); ++f) bytes[f] = fields[f].bytes_per_cell * cells;
  LeaseRef lease = create(std::span(bytes).first(fields.size()));
  for (std::uint32_t f = 0; f < fields.size(); ++f) {
    std::memcpy(lease->field(f), segment.field(slot, f), bytes[f]);
  }
  return lease;
}

}  // namespace pyfastdl
