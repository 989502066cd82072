#include "ring/layout.h"

#include <string>
#include <type_traits>

#include "base/status.h"

namespace pyfastdl {
namespace {

// What other processes see must not depend on who compiled it.
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(std::atomic<std::uint64_t>) == 8);
static_assert(std::is_standard_layout_v<SegmentHeader> && sizeof(SegmentHeader) == 2880);
static_assert(std::is_standard_layout_v<SlotHeader> && sizeof(SlotHeader) == 64);
static_assert(std::is_standard_layout_v<CellHeader> && sizeof(CellHeader) == 32);
static_assert(kMaxCells < (1u << 20) && kMaxSlots < (1u << 24) && kMaxProducers < (1u << 16));

constexpr std::uint64_t kLine = 64;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLargeField = 16 * kPage;
constexpr std::uint64_t kMaxBytesPerCell = 1ull << 40;
constexpr std::uint64_t kMaxBytes = 1ull << 46;  // what 48-bit addresses leave room for

constexpr std::uint64_t align(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

void within(std::uint64_t low, std::uint64_t high, std::uint64_t got, const char* what) {
  if (low <= got && got <= high) return;
  throw Error(Errc::invalid_argument, std::string("a ring has ") + std::to_string(low) + " to " +
                                          std::to_string(high) + " " + what + ", got " + std::to_string(got));
}

}  // namespace

RingLayout RingLayout::of(const RingSpec& spec) {
  within(1, kMaxSlots, spec.slots, "slots");
  within(1, kMaxCells, spec.cells_per_slot, "cells per slot");
  within(1, kMaxFields, spec.fields.size(), "fields");
  for (const FieldSpec& field : spec.fields) {
    within(1, kMaxBytesPerCell, field.bytes_per_cell, "bytes per cell and field");
  }

  RingLayout layout;
  layout.spec = spec;
  layout.order_offset = sizeof(SegmentHeader);
  layout.slots_offset = align(layout.order_offset + spec.slots * sizeof(std::uint64_t), kLine);
  layout.slot_stride = align(sizeof(SlotHeader) + spec.cells_per_slot * sizeof(CellHeader), kLine);
  layout.data_offset = align(layout.slots_offset + spec.slots * layout.slot_stride, kPage);

  // Nothing here overflows: a field of at most 2^40 * 2^20 bytes behind at most kMaxBytes, and kMaxBytes before the
  // product with the slots.
  std::uint64_t end = 0;
  std::uint64_t alignment = kLine;
  for (std::size_t i = 0; i < spec.fields.size(); ++i) {
    const std::uint64_t bytes = spec.fields[i].bytes_per_cell * spec.cells_per_slot;
    const std::uint64_t to = bytes >= kLargeField ? kPage : kLine;
    if (to > alignment) alignment = to;
    layout.field_offset[i] = align(end, to);
    end = layout.field_offset[i] + bytes;
    within(1, kMaxBytes, end, "bytes a slot");
  }
  layout.data_stride = align(end, alignment);
  within(1, kMaxBytes, layout.data_stride, "bytes a slot");
  layout.total_bytes = align(layout.data_offset + spec.slots * layout.data_stride, kPage);
  within(1, kMaxBytes, layout.total_bytes, "bytes in all");
  return layout;
}

}  // namespace pyfastdl
