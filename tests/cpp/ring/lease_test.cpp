#include "ring/lease.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "base/status.h"
#include "ring/ring_testing.h"

namespace pyfastdl {
namespace {

using testing::Child;
using testing::exited_with;
using testing::fill;
using testing::holds;
using testing::indices_from;
using testing::kAtOnce;
using testing::patience;
using testing::spec_of;
using testing::until_somebody_sleeps;

// Opens, fills and takes the next batch.
std::uint32_t take_one(Consumer& consumer, std::uint32_t cells) {
  const auto producer = Producer::attach(consumer.segment());
  const std::uint64_t batch = consumer.open(indices_from(10, cells));
  while (const auto ticket = producer->try_claim()) {
    fill(*producer, *ticket);
    producer->publish(*ticket, true);
  }
  EXPECT_EQ(consumer.wait(batch, kAtOnce), WaitResult::ready);
  return consumer.take(batch);
}

TEST(SlotLease, TheLastReferenceReleasesTheSlot) {
  Consumer consumer(Segment::create_private(spec_of(2, 2)));
  LeaseRef lease = SlotLease::adopt(consumer.segment(), take_one(consumer, 2));
  EXPECT_TRUE(holds(lease->field(0), lease->field(1), 0, 1, 11));
  LeaseRef second = lease;
  Lease* third = LeaseRef(lease).detach();
  lease = LeaseRef();
  EXPECT_EQ(consumer.leased_slots(), 1u);
  second = LeaseRef();
  EXPECT_EQ(consumer.leased_slots(), 1u);
  third->unref();
  EXPECT_EQ(consumer.leased_slots(), 0u);
  EXPECT_EQ(consumer.free_slots(), 2u);
}

TEST(SlotLease, ReleasesFromAnyThreadAndWakesTheConsumer) {
  Consumer consumer(Segment::create_private(spec_of(1, 2)));
  for (int round = 0; round < 20; ++round) {
    LeaseRef lease = SlotLease::adopt(consumer.segment(), take_one(consumer, 2));
    std::thread thread([&consumer, lease = std::move(lease)]() mutable {
      until_somebody_sleeps(consumer.segment()->header().settled);
      lease = LeaseRef();
    });
    EXPECT_EQ(consumer.wait_free(patience()), WaitResult::ready);
    thread.join();
  }
}

TEST(SlotLease, KeepsTheMemoryAfterTheRing) {
  LeaseRef lease;
  {
    Consumer consumer(Segment::create_private(spec_of(1, 3)));
    lease = SlotLease::adopt(consumer.segment(), take_one(consumer, 3));
  }
  for (std::uint32_t c = 0; c < 3; ++c) EXPECT_TRUE(holds(lease->field(0), lease->field(1), 0, c, 10 + c));
}

TEST(SlotLease, IsInertInAForkedChild) {
  for (const bool shared : {false, true}) {
    const auto segment =
        shared ? Segment::create_shared(spec_of(2, 2)) : Segment::create_private(spec_of(2, 2));
    auto consumer = std::make_unique<Consumer>(segment);
    LeaseRef lease = SlotLease::adopt(segment, take_one(*consumer, 2));
    const auto producer = Producer::attach(segment);
    Child child([&] {
      const bool readable = holds(lease->field(0), lease->field(1), 0, 0, 10);
      consumer->release(0);
      lease = LeaseRef();
      const bool still_leased = consumer->leased_slots() == 1;
      // The others refuse, in words.
      int refused = 0;
      const auto expect_state = [&](auto&& call) {
        try {
          call();
        } catch (const Error& error) {
          refused += error.code() == Errc::state;
        }
      };
      expect_state([&] { consumer->open(indices_from(0, 1)); });
      expect_state([&] { consumer->wait_free(kAtOnce); });
      expect_state([&] { consumer->slot_of(0); });
      expect_state([&] { consumer->cancel_all(); });
      expect_state([&] { consumer->can_open(); });
      expect_state([&] { Consumer again(segment); });
      expect_state([&] { Producer::attach(segment); });
      expect_state([&] { producer->try_claim(); });
      Ticket ticket;
      expect_state([&] { producer->claim(kAtOnce, &ticket); });
      expect_state([&] { producer->publish(ticket, true); });
      consumer.reset();
      return readable && still_leased && refused == 10 ? 0 : 1;
    });
    EXPECT_TRUE(exited_with(child.reap(), 0));
    EXPECT_EQ(consumer->leased_slots(), 1u);
    EXPECT_EQ(consumer->producers(), 1u);
    EXPECT_FALSE(consumer->closing());
    EXPECT_TRUE(holds(lease->field(0), lease->field(1), 0, 0, 10));
    lease = LeaseRef();
    EXPECT_EQ(consumer->free_slots(), 2u);
  }
}

TEST(HeapLease, IsACopyThatHoldsNoSlot) {
  Consumer consumer(Segment::create_private(spec_of(1, 4)));
  const std::uint32_t slot = take_one(consumer, 4);
  LeaseRef copy = HeapLease::copy(*consumer.segment(), slot, 3);
  consumer.release(slot);
  take_one(consumer, 4);  // the slot is written over
  for (std::uint32_t c = 0; c < 3; ++c) EXPECT_TRUE(holds(copy->field(0), copy->field(1), 0, c, 10 + c));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy->field(1)) % 64, 0u);
  std::thread([copy = std::move(copy)]() mutable { copy = LeaseRef(); }).join();
}

TEST(HeapLease, FieldsStandApart) {
  const std::vector<std::uint64_t> sizes{1, 0, 65, 3 << 20, 64};
  const LeaseRef lease = HeapLease::create(sizes);
  for (std::uint32_t f = 0; f < sizes.size(); ++f) {
    if (sizes[f] > 0) std::memset(lease->field(f), static_cast<int>(f + 1), sizes[f]);
  }
  for (std::uint32_t f = 0; f < sizes.size(); ++f) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lease->field(f)) % 64, 0u);
    if (sizes[f] == 0) continue;
    EXPECT_EQ(lease->field(f)[0], static_cast<std::byte>(f + 1));
    EXPECT_EQ(lease->field(f)[sizes[f] - 1], static_cast<std::byte>(f + 1));
  }
}

TEST(HeapLease, RefusesWhatCantBe) {
  EXPECT_THROW(HeapLease::create(std::vector<std::uint64_t>(kMaxFields + 1, 8)), Error);
  EXPECT_THROW(HeapLease::create(std::vector<std::uint64_t>{~0ull}), Error);
  EXPECT_THROW(HeapLease::create(std::vector<std::uint64_t>{1ull << 56}), Error);
}

}  // namespace
}  // namespace pyfastdl
