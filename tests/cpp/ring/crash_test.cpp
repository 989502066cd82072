// Processes that die: at each instant that FORMAT.md lists, on purpose.
#include <gtest/gtest.h>

#include <memory>

#include "base/status.h"
#include "ring/consumer.h"
#include "ring/process.h"
#include "ring/producer.h"
#include "ring/ring_testing.h"
#include "ring/transitions.h"

namespace pyfastdl {
namespace {

using testing::Child;
using testing::exited_with;
using testing::fill;
using testing::holds;
using testing::indices_from;
using testing::kAtOnce;
using testing::killed;
using testing::patience;
using testing::spec_of;

int die() {
  ::raise(SIGKILL);
  return 0;
}

// The steps of publish(), one by one.
void publish_cell_only(const Segment& segment, const Ticket& ticket) {
  std::atomic<std::uint64_t>& word = segment.cell(ticket.slot, ticket.cell).word;
  CellWord cell = CellWord::unpack(word.load());
  cell.state = CellState::published;
  word.store(cell.pack());
}
void count_only(const Segment& segment, const Ticket& ticket) {
  std::atomic<std::uint64_t>& word = segment.slot(ticket.slot).word;
  SlotWord slot = SlotWord::unpack(word.load());
  slot.remaining -= 1;
  if (slot.remaining == 0) slot.state = slot.state == SlotState::open ? SlotState::ready : SlotState::free;
  word.store(slot.pack());
}

class RingCrash : public ::testing::Test {
 protected:
  void make(std::uint32_t slots, std::uint32_t cells) {
    segment = Segment::create_shared(spec_of(slots, cells));
    consumer = std::make_unique<Consumer>(segment);
  }
  // Runs `body` in a process of its own that has attached; it dies at the end of it at the latest.
  template <class Body>
  void in_a_process_that_dies(Body body) {
    Child child([&] {
      const auto producer = Producer::attach(Segment::attach(segment->fd()));
      body(*producer);
      return die();
    });
    EXPECT_TRUE(killed(child.reap()));
  }
  void expect_usable() { testing::expect_usable(*consumer); }

  std::shared_ptr<Segment> segment;
  std::unique_ptr<Consumer> consumer;
};

TEST_F(RingCrash, BetweenClaimAndPublishTheCellIsLost) {
  make(2, 3);
  const std::uint64_t batch = consumer->open(indices_from(0, 3));
  in_a_process_that_dies([](Producer& producer) {
    producer.publish(*producer.try_claim(), true);
    fill(producer, *producer.try_claim());
    producer.publish(*producer.try_claim(), false);
  });
  ASSERT_EQ(consumer->wait(batch, patience()), WaitResult::ready);
  const std::uint32_t slot = consumer->take(batch);
  EXPECT_EQ(consumer->cell_state(slot, 0), CellState::published);
  EXPECT_EQ(consumer->cell_state(slot, 1), CellState::lost);
  EXPECT_EQ(consumer->cell_state(slot, 2), CellState::failed);
  consumer->release(slot);
  expect_usable();
}

TEST_F(RingCrash, BetweenTheCellAndTheCountTheBatchStillCompletes) {
  make(2, 2);
  const std::uint64_t batch = consumer->open(indices_from(0, 2));
  in_a_process_that_dies([&](Producer& producer) {
    const Ticket ticket = *producer.try_claim();
    fill(producer, ticket);
    publish_cell_only(*segment, ticket);
  });
  // What a dead process didn't count doesn't hinder those that live, either.
  const auto producer = Producer::attach(segment);
  const Ticket ticket = *producer->try_claim();
  fill(*producer, ticket);
  consumer->reap();
  producer->publish(ticket, true);
  ASSERT_EQ(consumer->wait(batch, patience()), WaitResult::ready);
  const std::uint32_t slot = consumer->take(batch);
  for (std::uint32_t c = 0; c < 2; ++c) {
    EXPECT_EQ(consumer->cell_state(slot, c), CellState::published);
    EXPECT_TRUE(holds(consumer->field(slot, 0), consumer->field(slot, 1), batch, c, c));
  }
}

TEST_F(RingCrash, BetweenTheCountAndTheWakeTheConsumerLooksByItself) {
  make(1, 1);
  const std::uint64_t batch = consumer->open(indices_from(0, 1));
  // Published while the consumer sleeps already; nobody wakes it.
  Child child([&] {
    const auto producer = Producer::attach(Segment::attach(segment->fd()));
    const Ticket ticket = *producer->try_claim();
    testing::until_somebody_sleeps(segment->header().settled);
    publish_cell_only(*segment, ticket);
    count_only(*segment, ticket);
    return die();
  });
  EXPECT_EQ(consumer->wait(batch, patience()), WaitResult::ready);
  EXPECT_TRUE(killed(child.reap()));
  consumer->release(consumer->take(batch));
  expect_usable();
}

TEST_F(RingCrash, WhileTheConsumerWaits) {
  make(1, 1);
  const std::uint64_t batch = consumer->open(indices_from(0, 1));
  Child child([&] {
    const auto producer = Producer::attach(Segment::attach(segment->fd()));
    producer->try_claim();
    testing::until_somebody_sleeps(segment->header().settled);
    return die();
  });
  // The child stays a zombie meanwhile: dead is dead.
  ASSERT_EQ(consumer->wait(batch, patience()), WaitResult::ready);
  EXPECT_EQ(consumer->cell_state(consumer->slot_of(batch), 0), CellState::lost);
  consumer->release(consumer->take(batch));
  expect_usable();
}

TEST_F(RingCrash, WritersOfAQuarantinedSlotGiveItBack) {
  make(1, 3);
  consumer->open(indices_from(0, 3));
  in_a_process_that_dies([&](Producer& producer) {
    producer.try_claim();
    publish_cell_only(*segment, *producer.try_claim());
  });
  consumer->cancel(0);
  EXPECT_EQ(consumer->quarantined_slots(), 1u);
  EXPECT_EQ(consumer->reap(), 1u);
  EXPECT_EQ(consumer->quarantined_slots(), 0u);
  EXPECT_EQ(consumer->free_slots(), 1u);
  expect_usable();
}

TEST_F(RingCrash, WaitFreeFindsTheDeadWritersOfTheOnlySlot) {
  make(1, 1);
  consumer->open(indices_from(0, 1));
  in_a_process_that_dies([&](Producer& producer) { producer.try_claim(); });
  consumer->cancel(0);
  EXPECT_EQ(consumer->wait_free(patience()), WaitResult::ready);
  expect_usable();
}

TEST_F(RingCrash, ALiveWritersSlotIsNotGivenBackByAnothersDeath) {
  make(1, 2);
  consumer->open(indices_from(0, 2));
  const auto producer = Producer::attach(segment);
  const Ticket ticket = *producer->try_claim();
  in_a_process_that_dies([&](Producer& dying) { dying.try_claim(); });
  consumer->cancel(0);
  EXPECT_EQ(consumer->reap(), 1u);
  EXPECT_EQ(consumer->quarantined_slots(), 1u);
  EXPECT_EQ(consumer->cell_state(0, 0), CellState::claimed);
  producer->publish(ticket, true);
  EXPECT_EQ(consumer->free_slots(), 1u);
}

TEST_F(RingCrash, ACountThatComesLateDoesNotTouchTheNextBatch) {
  make(1, 2);
  const auto producer = Producer::attach(segment);
  const std::uint64_t batch = consumer->open(indices_from(0, 2));
  const Ticket a = *producer->try_claim();
  const Ticket b = *producer->try_claim();
  publish_cell_only(*segment, a);
  publish_cell_only(*segment, b);
  consumer->reap();  // by its cells the batch is complete
  ASSERT_EQ(consumer->wait(batch, kAtOnce), WaitResult::ready);
  settle_cells(*segment, a.slot, batch, 1);
  consumer->release(consumer->take(batch));
  const std::uint64_t next = consumer->open(indices_from(0, 2));
  settle_cells(*segment, b.slot, batch, 1);
  EXPECT_EQ(SlotWord::unpack(segment->slot(0).word.load()).remaining, 2u);
  EXPECT_EQ(consumer->wait(next, kAtOnce), WaitResult::timed_out);
}

TEST_F(RingCrash, AfterItsEntryBeforeItIsCounted) {
  make(1, 1);
  const std::uint64_t batch = consumer->open(indices_from(0, 1));
  Child child([&] {
    segment->header().producers[0].store(this_process().pack());
    return die();
  });
  EXPECT_TRUE(killed(child.reap()));
  EXPECT_EQ(consumer->wait(batch, kAtOnce), WaitResult::timed_out);
  EXPECT_EQ(consumer->producers(), 0u);
  consumer->cancel(batch);
  expect_usable();
}

TEST_F(RingCrash, AsleepItLeavesOnlyASuperfluousWake) {
  make(1, 1);
  Child child([&] {
    const auto producer = Producer::attach(Segment::attach(segment->fd()));
    Ticket ticket;
    producer->claim(patience(), &ticket);
    return 0;
  });
  testing::until_somebody_sleeps(segment->header().opened);
  child.kill();
  EXPECT_TRUE(killed(child.reap()));
  expect_usable();
}

TEST_F(RingCrash, WithNobodyLeftTheConsumerIsTold) {
  make(1, 2);
  const std::uint64_t batch = consumer->open(indices_from(0, 2));
  in_a_process_that_dies([&](Producer& producer) { producer.try_claim(); });
  EXPECT_EQ(consumer->wait(batch, patience()), WaitResult::orphaned);
  EXPECT_EQ(consumer->producers(), 0u);
  // Somebody new takes over.
  in_a_process_that_dies([&](Producer& producer) { producer.publish(*producer.try_claim(), true); });
  EXPECT_EQ(consumer->wait(batch, patience()), WaitResult::ready);
  EXPECT_EQ(consumer->cell_state(0, 0), CellState::lost);
  EXPECT_EQ(consumer->cell_state(0, 1), CellState::published);
  consumer->release(consumer->take(batch));
  expect_usable();
}

TEST_F(RingCrash, ProducersNoticeTheOwnersDeath) {
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  // The owner hands its descriptor to a child of its own, which reports through the pipe.
  Child owner([&] {
    const auto ring = Segment::create_shared(spec_of(1, 1));
    Consumer own(ring);
    if (::fork() == 0) {
      const auto producer = Producer::attach(Segment::attach(ring->fd()));
      Ticket ticket;
      const char asleep = 'a';
      bool ok = ::write(fds[1], &asleep, 1) == 1;
      const ClaimResult result = producer->claim(patience(), &ticket);
      bool refused = false;
      try {
        Producer::attach(Segment::attach(ring->fd()));
      } catch (const Error& error) {
        refused = error.code() == Errc::peer_died;
      }
      const char verdict = result == ClaimResult::owner_died && refused ? 'y' : 'n';
      ok = ok && ::write(fds[1], &verdict, 1) == 1;
      ::_exit(ok ? 0 : 1);
    }
    ::pause();
    return 0;
  });
  ::close(fds[1]);
  char said = 0;
  ASSERT_EQ(::read(fds[0], &said, 1), 1);
  owner.kill();
  EXPECT_TRUE(killed(owner.reap()));
  ASSERT_EQ(::read(fds[0], &said, 1), 1);
  EXPECT_EQ(said, 'y');
  ::close(fds[0]);
}

}  // namespace
}  // namespace pyfastdl
