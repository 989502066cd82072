// One producer, one consumer, every state.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "ring/consumer.h"
#include "ring/producer.h"
#include "ring/ring_testing.h"

namespace pyfastdl {
namespace {

using testing::fill;
using testing::holds;
using testing::indices_from;
using testing::kAtOnce;
using testing::patience;
using testing::spec_of;
using testing::until_somebody_sleeps;

template <class Call>
Errc code_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()), "");
    return error.code();
  }
  return Errc::ok;
}

// Every test on both kinds of memory.
class Ring : public ::testing::TestWithParam<bool> {
 protected:
  void make(std::uint32_t slots, std::uint32_t cells) {
    const auto segment = GetParam() ? Segment::create_shared(spec_of(slots, cells))
                                    : Segment::create_private(spec_of(slots, cells));
    consumer.emplace(segment);
    producer = Producer::attach(segment);
  }
  std::uint64_t open(std::size_t cells, std::int64_t first = 100) {
    return consumer->open(indices_from(first, cells));
  }
  void complete_all() {
    while (const auto ticket = producer->try_claim()) {
      fill(*producer, *ticket);
      producer->publish(*ticket, true);
    }
  }

  std::optional<Consumer> consumer;
  std::unique_ptr<Producer> producer;
};
INSTANTIATE_TEST_SUITE_P(Memory, Ring, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "shared" : "private"; });

TEST_P(Ring, ABatchGoesRound) {
  make(2, 3);
  const std::vector<std::int64_t> indices{7, -1, 1ll << 47};
  const std::vector<std::uint32_t> occurrences{0, 4, 2};
  const std::uint64_t batch = consumer->open(indices, occurrences);
  EXPECT_EQ(batch, 0u);
  EXPECT_EQ(consumer->wait(batch, kAtOnce), WaitResult::timed_out);
  const std::uint32_t slot = consumer->slot_of(batch);
  ASSERT_EQ(consumer->cell_count(slot), 3u);
  for (std::uint32_t c = 0; c < 3; ++c) {
    EXPECT_EQ(consumer->cell_state(slot, c), CellState::open);
    Ticket ticket;
    ASSERT_EQ(producer->claim(kAtOnce, &ticket), ClaimResult::claimed);
    EXPECT_EQ(ticket.slot, slot);
    EXPECT_EQ(ticket.cell, c);
    EXPECT_EQ(ticket.batch, batch);
    EXPECT_EQ(ticket.index, indices[c]);
    EXPECT_EQ(ticket.occurrence, occurrences[c]);
    EXPECT_EQ(consumer->cell_state(slot, c), CellState::claimed);
    fill(*producer, ticket);
    producer->publish(ticket, c != 1);
    EXPECT_EQ(consumer->cell_state(slot, c), c != 1 ? CellState::published : CellState::failed);
  }
  EXPECT_FALSE(producer->try_claim());
  EXPECT_EQ(consumer->wait(batch, kAtOnce), WaitResult::ready);
  EXPECT_EQ(consumer->leased_slots(), 0u);
  EXPECT_EQ(consumer->take(batch), slot);
  EXPECT_EQ(consumer->leased_slots(), 1u);
  EXPECT_EQ(consumer->slot_of(batch), slot);
  for (const std::uint32_t c : {0u, 2u}) {
    EXPECT_TRUE(holds(consumer->field(slot, 0), consumer->field(slot, 1), batch, c, indices[c]));
    EXPECT_EQ(consumer->index(slot, c), indices[c]);
    EXPECT_EQ(consumer->occurrence(slot, c), occurrences[c]);
  }
  consumer->release(slot);
  EXPECT_EQ(consumer->free_slots(), 2u);
}

TEST_P(Ring, TicketsCarryTheirBatchsKeyAlsoInAReusedSlot) {
  make(2, 2);
  const std::vector<BatchKey> keys{{~0ull, 7}, {3, ~0u}, {}, {12345678901, 1}};
  for (std::size_t first = 0; first < keys.size(); first += 2) {
    consumer->open(indices_from(0, 2), {}, keys[first]);
    consumer->open(indices_from(0, 1), {}, keys[first + 1]);
    while (const auto ticket = producer->try_claim()) {
      EXPECT_EQ(ticket->key.seed, keys[ticket->batch].seed);
      EXPECT_EQ(ticket->key.epoch, keys[ticket->batch].epoch);
      producer->publish(*ticket, true);
    }
    consumer->release(consumer->take(first));
    consumer->release(consumer->take(first + 1));
  }
}

TEST_P(Ring, TicketsComeInBatchOrderThenCellOrder) {
  make(3, 4);
  open(2);
  open(4);
  open(1);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
  while (const auto ticket = producer->try_claim()) order.emplace_back(ticket->batch, ticket->cell);
  const std::vector<std::pair<std::uint64_t, std::uint32_t>> expected{{0, 0}, {0, 1}, {1, 0}, {1, 1},
                                                                      {1, 2}, {1, 3}, {2, 0}};
  EXPECT_EQ(order, expected);
}

TEST_P(Ring, CellsBeyondTheBatchAreEmptyAlsoInAReusedSlot) {
  make(1, 4);
  open(4);
  complete_all();
  consumer->release(consumer->take(0));
  open(2);
  EXPECT_EQ(consumer->cell_state(0, 1), CellState::open);
  EXPECT_EQ(consumer->cell_state(0, 2), CellState::empty);
  EXPECT_EQ(consumer->cell_state(0, 3), CellState::empty);
  complete_all();
  EXPECT_EQ(consumer->wait(1, kAtOnce), WaitResult::ready);
}

TEST_P(Ring, OpenNeedsAFreeSlotAndSaneBatches) {
  make(2, 2);
  EXPECT_EQ(code_of([&] { open(0); }), Errc::invalid_argument);
  EXPECT_EQ(code_of([&] { open(3); }), Errc::invalid_argument);
  EXPECT_EQ(code_of([&] { consumer->open(indices_from(0, 2), std::vector<std::uint32_t>{1}); }),
            Errc::invalid_argument);
  EXPECT_TRUE(consumer->can_open());
  open(1);
  open(2);
  EXPECT_FALSE(consumer->can_open());
  EXPECT_EQ(code_of([&] { open(1); }), Errc::state);
  EXPECT_EQ(consumer->wait_free(kAtOnce), WaitResult::timed_out);
  complete_all();
  consumer->release(consumer->take(0));
  EXPECT_EQ(consumer->wait_free(kAtOnce), WaitResult::ready);
  EXPECT_EQ(open(1), 2u);
}

TEST_P(Ring, CallsThatDontFitTheStateAreRefused) {
  make(2, 1);
  EXPECT_EQ(code_of([&] { consumer->slot_of(0); }), Errc::state);
  EXPECT_EQ(code_of([&] { consumer->wait(0, kAtOnce); }), Errc::state);
  open(1);
  EXPECT_EQ(code_of([&] { consumer->take(0); }), Errc::state);
  const Ticket ticket = *producer->try_claim();
  producer->publish(ticket, true);
  EXPECT_EQ(code_of([&] { producer->publish(ticket, true); }), Errc::state);
  const std::uint32_t slot = consumer->take(0);
  EXPECT_EQ(code_of([&] { consumer->take(0); }), Errc::state);
  EXPECT_EQ(code_of([&] { consumer->cancel(0); }), Errc::state);
  EXPECT_EQ(code_of([&] { consumer->wait(0, kAtOnce); }), Errc::state);
  consumer->release(slot);
  EXPECT_EQ(code_of([&] { consumer->slot_of(0); }), Errc::state);
}

TEST_P(Ring, BatchesMayBeTakenOutOfOrder) {
  make(3, 1);
  for (int i = 0; i < 3; ++i) open(1);
  const Ticket first = *producer->try_claim();
  complete_all();
  consumer->release(consumer->take(2));
  consumer->release(consumer->take(1));
  // Batch 3's place in the order is still that of batch 0.
  EXPECT_FALSE(consumer->can_open());
  EXPECT_EQ(code_of([&] { open(1); }), Errc::state);
  producer->publish(first, true);
  EXPECT_TRUE(consumer->can_open());
  EXPECT_EQ(open(1), 3u);
  // Batch 0, untaken, is still found beside it.
  EXPECT_EQ(consumer->wait(0, kAtOnce), WaitResult::ready);
  EXPECT_NE(consumer->slot_of(0), consumer->slot_of(3));
}

TEST_P(Ring, ALeaseHeldForLongDoesNotDisturbTheOthers) {
  make(3, 2);
  open(2);
  complete_all();
  const std::uint32_t kept = consumer->take(0);
  for (std::uint64_t batch = 1; batch < 50; ++batch) {
    ASSERT_EQ(open(2), batch);
    complete_all();
    ASSERT_EQ(consumer->wait(batch, kAtOnce), WaitResult::ready);
    ASSERT_NE(consumer->take(batch), kept);
    consumer->release(consumer->slot_of(batch));
  }
  EXPECT_EQ(consumer->slot_of(0), kept);
  EXPECT_TRUE(holds(consumer->field(kept, 0), consumer->field(kept, 1), 0, 1, 101));
}

TEST_P(Ring, CancelFreesWhatNobodyClaimed) {
  make(2, 3);
  open(3);
  open(2);
  consumer->cancel(0);
  EXPECT_EQ(consumer->free_slots(), 1u);
  const auto ticket = producer->try_claim();
  ASSERT_TRUE(ticket);
  EXPECT_EQ(ticket->batch, 1u);
}

TEST_P(Ring, CancelQuarantinesASlotUntilItsLastWriterPublishes) {
  make(2, 3);
  open(3);
  const Ticket a = *producer->try_claim();
  const Ticket b = *producer->try_claim();
  consumer->cancel(0);
  EXPECT_EQ(consumer->cell_state(a.slot, 2), CellState::cancelled);
  EXPECT_EQ(consumer->quarantined_slots(), 1u);
  EXPECT_EQ(consumer->free_slots(), 1u);
  EXPECT_FALSE(producer->try_claim());
  EXPECT_EQ(code_of([&] { consumer->cancel(0); }), Errc::state);
  // The other slot works on, and is never mistaken for this one.
  EXPECT_EQ(open(1), 1u);
  EXPECT_NE(consumer->slot_of(1), a.slot);
  fill(*producer, a);
  producer->publish(a, true);
  EXPECT_EQ(consumer->quarantined_slots(), 1u);
  producer->publish(b, false);
  EXPECT_EQ(consumer->quarantined_slots(), 0u);
  EXPECT_EQ(consumer->free_slots(), 1u);
  EXPECT_EQ(open(1), 2u);
}

TEST_P(Ring, CancelAllDropsOpenAndReadyBatchesAndLeavesLeases) {
  make(4, 1);
  for (int i = 0; i < 4; ++i) open(1);
  const Ticket first = *producer->try_claim();
  producer->publish(first, true);
  const std::uint32_t leased = consumer->take(0);
  producer->publish(*producer->try_claim(), true);
  const Ticket busy = *producer->try_claim();
  consumer->cancel_all();
  EXPECT_EQ(consumer->leased_slots(), 1u);
  EXPECT_EQ(consumer->quarantined_slots(), 1u);
  EXPECT_EQ(consumer->free_slots(), 2u);
  producer->publish(busy, true);
  consumer->release(leased);
  EXPECT_EQ(consumer->free_slots(), 4u);
  EXPECT_FALSE(producer->try_claim());
}

TEST_P(Ring, CloseEndsClaimsAndWaits) {
  make(2, 2);
  open(2);
  const Ticket ticket = *producer->try_claim();
  consumer->close();
  consumer->close();
  EXPECT_TRUE(consumer->closing());
  Ticket unused;
  EXPECT_EQ(producer->claim(patience(), &unused), ClaimResult::closed);
  EXPECT_FALSE(producer->try_claim());
  EXPECT_EQ(consumer->wait(0, patience()), WaitResult::closed);
  EXPECT_EQ(code_of([&] { open(1); }), Errc::closed);
  EXPECT_EQ(code_of([&] { Producer::attach(consumer->segment()); }), Errc::closed);
  producer->publish(ticket, true);  // what is under way still ends well
  consumer->cancel_all();
  EXPECT_EQ(consumer->free_slots(), 2u);
}

TEST_P(Ring, OpenCloseAndDeadlineWakeAProducer) {
  make(1, 1);
  for (const bool closes : {false, true}) {
    ClaimResult result{};
    Ticket ticket;
    std::thread thread([&] { result = producer->claim(patience(), &ticket); });
    until_somebody_sleeps(consumer->segment()->header().opened);
    closes ? consumer->close() : static_cast<void>(open(1));
    thread.join();
    EXPECT_EQ(result, closes ? ClaimResult::closed : ClaimResult::claimed);
    if (!closes) producer->publish(ticket, true);
  }
  make(1, 1);
  Ticket ticket;
  EXPECT_EQ(producer->claim(std::chrono::steady_clock::now() + std::chrono::milliseconds(2), &ticket),
            ClaimResult::timed_out);
}

TEST_P(Ring, PublishReleaseCloseAndDeadlineWakeTheConsumer) {
  make(1, 1);
  open(1);
  const Ticket ticket = *producer->try_claim();
  const auto after = [&](auto&& act, auto&& wait) {
    WaitResult result{};
    std::thread thread([&] { result = wait(); });
    until_somebody_sleeps(consumer->segment()->header().settled);
    act();
    thread.join();
    return result;
  };
  EXPECT_EQ(consumer->wait(0, std::chrono::steady_clock::now() + std::chrono::milliseconds(2)),
            WaitResult::timed_out);
  EXPECT_EQ(after([&] { producer->publish(ticket, true); }, [&] { return consumer->wait(0, patience()); }),
            WaitResult::ready);
  const std::uint32_t slot = consumer->take(0);
  EXPECT_EQ(after([&] { consumer->release(slot); }, [&] { return consumer->wait_free(patience()); }),
            WaitResult::ready);
  open(1);
  EXPECT_EQ(after([&] { consumer->close(); }, [&] { return consumer->wait(1, patience()); }),
            WaitResult::closed);
}

TEST_P(Ring, TheLastWriterOfAQuarantinedSlotWakesTheConsumer) {
  make(1, 2);
  open(2);
  const Ticket ticket = *producer->try_claim();
  consumer->cancel(0);
  WaitResult result{};
  std::thread thread([&] { result = consumer->wait_free(patience()); });
  until_somebody_sleeps(consumer->segment()->header().settled);
  producer->publish(ticket, true);
  thread.join();
  EXPECT_EQ(result, WaitResult::ready);
}

TEST_P(Ring, WaitEndsWhenTheLastProducerLeavesCellsUnclaimed) {
  make(1, 2);
  open(2);
  producer->publish(*producer->try_claim(), true);
  WaitResult result{};
  std::thread thread([&] { result = consumer->wait(0, patience()); });
  until_somebody_sleeps(consumer->segment()->header().settled);
  producer.reset();
  thread.join();
  EXPECT_EQ(result, WaitResult::orphaned);
  producer = Producer::attach(consumer->segment());
  complete_all();
  EXPECT_EQ(consumer->wait(0, kAtOnce), WaitResult::ready);
}

TEST_P(Ring, WaitBeforeTheFirstProducerIsNotOrphaned) {
  Consumer early(GetParam() ? Segment::create_shared(spec_of(1, 1)) : Segment::create_private(spec_of(1, 1)));
  early.open(indices_from(0, 1));
  EXPECT_EQ(early.wait(0, kAtOnce), WaitResult::timed_out);
}

TEST_P(Ring, ProducersComeAndGoUpToTheTablesSize) {
  make(1, 1);
  std::vector<std::unique_ptr<Producer>> all;
  for (std::uint32_t i = 1; i < kMaxProducers; ++i) all.push_back(Producer::attach(consumer->segment()));
  EXPECT_EQ(consumer->producers(), kMaxProducers);
  EXPECT_EQ(code_of([&] { Producer::attach(consumer->segment()); }), Errc::state);
  all.pop_back();
  all.push_back(Producer::attach(consumer->segment()));
  open(1);
  producer = nullptr;
  producer = std::move(all.back());
  complete_all();
  EXPECT_EQ(consumer->wait(0, kAtOnce), WaitResult::ready);
}

TEST_P(Ring, AProducerThatLeavesWithATicketKeepsItsName) {
  make(1, 1);
  open(1);
  ASSERT_TRUE(producer->try_claim());
  producer.reset();
  // Its cell stays attributed to this live process: neither lost nor the next producer's.
  EXPECT_EQ(consumer->producers(), 1u);
  EXPECT_EQ(consumer->reap(), 0u);
  EXPECT_EQ(consumer->cell_state(0, 0), CellState::claimed);
}

TEST_P(Ring, ARingThatHasCountedToItsEndSaysSo) {
  make(1, 1);
  consumer->segment()->header().head.store(kMaxBatches);
  EXPECT_EQ(open(1), kMaxBatches);
  complete_all();
  consumer->release(consumer->take(kMaxBatches));
  EXPECT_EQ(code_of([&] { open(1); }), Errc::limit);
}

}  // namespace
}  // namespace pyfastdl
