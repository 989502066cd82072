#include "ring/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace pyfastdl {
namespace {

using Range = std::pair<std::uint64_t, std::uint64_t>;  // begin, end

std::vector<Range> ranges_of(const RingLayout& layout) {
  const RingSpec& spec = layout.spec;
  std::vector<Range> ranges{{0, sizeof(SegmentHeader)},
                            {layout.order_offset, layout.order_offset + spec.slots * sizeof(std::uint64_t)}};
  for (std::uint32_t s = 0; s < spec.slots; ++s) {
    ranges.emplace_back(layout.slot_header(s), layout.slot_header(s) + sizeof(SlotHeader));
    for (std::uint32_t c = 0; c < spec.cells_per_slot; ++c) {
      ranges.emplace_back(layout.cell_header(s, c), layout.cell_header(s, c) + sizeof(CellHeader));
    }
    for (std::uint32_t f = 0; f < spec.fields.size(); ++f) {
      ranges.emplace_back(layout.field(s, f),
                          layout.field(s, f) + spec.fields[f].bytes_per_cell * spec.cells_per_slot);
    }
  }
  return ranges;
}

TEST(RingLayout, NothingOverlapsAndAllIsAlignedForRandomSpecs) {
  std::mt19937 random(20240817);
  const auto upto = [&](std::uint64_t n) { return 1 + random() % n; };
  for (int round = 0; round < 300; ++round) {
    RingSpec spec{static_cast<std::uint32_t>(upto(9)), static_cast<std::uint32_t>(upto(40)), {}};
    const std::uint64_t fields = upto(kMaxFields);
    for (std::uint64_t f = 0; f < fields; ++f) spec.fields.push_back({upto(round % 3 == 0 ? 200000 : 97)});
    const RingLayout layout = RingLayout::of(spec);

    std::vector<Range> ranges = ranges_of(layout);
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i) ASSERT_LE(ranges[i - 1].second, ranges[i].first);
    ASSERT_LE(ranges.back().second, layout.total_bytes);
    ASSERT_EQ(layout.total_bytes % 4096, 0u);
    for (std::uint32_t s = 0; s < spec.slots; ++s) {
      ASSERT_EQ(layout.slot_header(s) % alignof(SlotHeader), 0u);
      ASSERT_EQ(layout.cell_header(s, 0) % alignof(CellHeader), 0u);
      for (std::uint32_t f = 0; f < fields; ++f) {
        const bool large = spec.fields[f].bytes_per_cell * spec.cells_per_slot >= 65536;
        ASSERT_EQ(layout.field(s, f) % (large ? 4096 : 64), 0u);
      }
    }
  }
}

TEST(RingLayout, TheSmallestRingIsSmall) {
  const RingLayout layout = RingLayout::of({1, 1, {{1}}});
  EXPECT_LE(layout.total_bytes, 8192u);
}

// The format's numbers: a change of one is a new kRingVersion.
TEST(RingLayout, OffsetsAreThoseOfFormatMd) {
  EXPECT_EQ(offsetof(SegmentIdentity, version), 8u);
  EXPECT_EQ(offsetof(SegmentIdentity, field_count), 12u);
  EXPECT_EQ(offsetof(SegmentIdentity, total_bytes), 16u);
  EXPECT_EQ(offsetof(SegmentIdentity, slots), 24u);
  EXPECT_EQ(offsetof(SegmentIdentity, cells_per_slot), 28u);
  EXPECT_EQ(offsetof(SegmentIdentity, bytes_per_cell), 32u);
  EXPECT_EQ(offsetof(SegmentIdentity, owner), 288u);
  EXPECT_EQ(offsetof(SegmentHeader, closing), 320u);
  EXPECT_EQ(offsetof(SegmentHeader, head), 384u);
  EXPECT_EQ(offsetof(SegmentHeader, cursor), 448u);
  EXPECT_EQ(offsetof(SegmentHeader, opened), 512u);
  EXPECT_EQ(offsetof(SegmentHeader, settled), 640u);
  EXPECT_EQ(offsetof(SegmentHeader, attached), 768u);
  EXPECT_EQ(offsetof(SegmentHeader, producers), 832u);
  EXPECT_EQ(offsetof(SlotHeader, seed), 8u);
  EXPECT_EQ(offsetof(SlotHeader, epoch), 16u);
  EXPECT_EQ(offsetof(SlotHeader, cell_count), 20u);
  EXPECT_EQ(offsetof(CellHeader, index), 8u);
  EXPECT_EQ(offsetof(CellHeader, occurrence), 16u);

  const RingLayout layout = RingLayout::of({3, 5, {{1000}, {8}, {20000}}});
  EXPECT_EQ(layout.order_offset, 2880u);
  EXPECT_EQ(layout.slots_offset, 2944u);
  EXPECT_EQ(layout.slot_stride, 256u);
  EXPECT_EQ(layout.data_offset, 4096u);
  EXPECT_EQ(layout.field_offset[0], 0u);
  EXPECT_EQ(layout.field_offset[1], 5056u);
  EXPECT_EQ(layout.field_offset[2], 8192u);
  EXPECT_EQ(layout.data_stride, 110592u);
  EXPECT_EQ(layout.total_bytes, 335872u);
}

TEST(RingLayout, RefusesSpecsOutOfRangeInWords) {
  const auto message_for = [](const RingSpec& spec) -> std::string {
    try {
      RingLayout::of(spec);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_argument);
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message_for({0, 1, {{1}}}).find("1 to 4096 slots, got 0"), std::string::npos);
  EXPECT_NE(message_for({kMaxSlots + 1, 1, {{1}}}).find("slots, got 4097"), std::string::npos);
  EXPECT_NE(message_for({1, 0, {{1}}}).find("cells per slot, got 0"), std::string::npos);
  EXPECT_NE(message_for({1, kMaxCells + 1, {{1}}}).find("cells per slot"), std::string::npos);
  EXPECT_NE(message_for({1, 1, {}}).find("fields, got 0"), std::string::npos);
  EXPECT_NE(message_for({1, 1, std::vector<FieldSpec>(33, FieldSpec{1})}).find("fields, got 33"),
            std::string::npos);
  EXPECT_NE(message_for({1, 1, {{0}}}).find("bytes per cell and field, got 0"), std::string::npos);
  EXPECT_NE(message_for({1, 1, {{~0ull}}}).find("bytes per cell and field"), std::string::npos);
  EXPECT_NE(
      message_for({1, kMaxCells, std::vector<FieldSpec>(8, FieldSpec{1ull << 40})}).find("bytes a slot"),
      std::string::npos);
  EXPECT_NE(message_for({4096, 1024, {{1ull << 36}}}).find("bytes in all"), std::string::npos);
}

TEST(Words, KeepWhatIsPackedAtTheirLimits) {
  for (const std::uint64_t batch : {std::uint64_t{0}, std::uint64_t{1}, kMaxBatches}) {
    for (const std::uint32_t cells : {0u, 1u, kMaxCells}) {
      const SlotWord slot = SlotWord::unpack(SlotWord{SlotState::quarantined, cells, batch}.pack());
      EXPECT_EQ(slot.state, SlotState::quarantined);
      EXPECT_EQ(slot.remaining, cells);
      EXPECT_EQ(slot.batch, batch);
      const PositionWord place = PositionWord::unpack(PositionWord{batch, cells}.pack());
      EXPECT_EQ(place.batch, batch);
      EXPECT_EQ(place.place, cells);
    }
    for (const std::uint32_t producer : {0u, 1u, kMaxProducers}) {
      const CellWord cell = CellWord::unpack(CellWord{CellState::lost, producer, batch}.pack());
      EXPECT_EQ(cell.state, CellState::lost);
      EXPECT_EQ(cell.producer, producer);
      EXPECT_EQ(cell.batch, batch);
    }
  }
  EXPECT_LT((PositionWord{1, kMaxCells}.pack()), (PositionWord{2, 0}.pack()));
}

}  // namespace
}  // namespace pyfastdl
