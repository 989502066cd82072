// Many threads, many small batches: every cell exactly once, never a torn or mixed one, nothing left behind.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "ring/consumer.h"
#include "ring/lease.h"
#include "ring/producer.h"
#include "ring/ring_testing.h"

namespace pyfastdl {
namespace {

using testing::Child;
using testing::exited_with;
using testing::fill;
using testing::holds;
using testing::indices_from;
using testing::patience;
using testing::spec_of;

// Which samples fail, by their index alone.
bool fails(std::int64_t index) { return testing::mix(static_cast<std::uint64_t>(index)) % 23 == 0; }

// Claims and publishes until the ring closes. Returns 0, or what went wrong.
int produce(Producer& producer) {
  std::int64_t last = -1;
  for (;;) {
    Ticket ticket;
    switch (producer.claim(patience(), &ticket)) {
      case ClaimResult::claimed:
        break;
      case ClaimResult::interrupted:
        continue;
      case ClaimResult::closed:
        return 0;
      case ClaimResult::timed_out:
        return 2;
      case ClaimResult::owner_died:
        return 3;
    }
    // Each thread's tickets come in order, whatever the others do.
    const auto position = static_cast<std::int64_t>(ticket.batch << 20 | ticket.cell);
    if (position <= last) return 4;
    last = position;
    if (ticket.occurrence != static_cast<std::uint32_t>(ticket.index % 3)) return 5;
    if (!fails(ticket.index)) fill(producer, ticket);
    producer.publish(ticket, !fails(ticket.index));
  }
}

// Takes leases from the consumer, verifies each again and drops them in any order, from several threads.
class Keepers {
 public:
  explicit Keepers(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this, i] { run(i); });
  }
  ~Keepers() { stop(); }

  struct Kept {
    LeaseRef lease;
    std::uint64_t batch;
    std::vector<std::int64_t> indices;
  };
  void keep(Kept kept) {
    const MutexLock lock(mutex_);
    kept_.push_back(std::move(kept));
    changed_.notify_one();
  }
  // Drops what is left and ends the threads. Returns the number of wrong cells.
  unsigned stop() {
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return wrong_.load();
  }

 private:
  void run(unsigned seed) {
    std::mt19937 random(seed);
    for (;;) {
      Kept kept;
      {
        const MutexLock lock(mutex_);
        while (kept_.empty() && !stopping_) changed_.wait(mutex_);
        if (kept_.empty()) return;
        std::swap(kept_[random() % kept_.size()], kept_.back());
        kept = std::move(kept_.back());
        kept_.pop_back();
      }
      for (std::uint32_t c = 0; c < kept.indices.size(); ++c) {
        if (fails(kept.indices[c])) continue;
        wrong_ += !holds(kept.lease->field(0), kept.lease->field(1), kept.batch, c, kept.indices[c]);
      }
    }
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<Kept> kept_ PYFASTDL_GUARDED_BY(mutex_);
  bool stopping_ PYFASTDL_GUARDED_BY(mutex_) = false;
  std::atomic<unsigned> wrong_{0};
  std::vector<std::thread> threads_;
};

struct Opened {
  std::uint64_t batch;
  std::vector<std::int64_t> indices;
};

// Opens `batches` batches of random sizes, cancels some, takes the others and checks every cell.
void consume(Consumer& consumer, Keepers& keepers, int batches, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Opened> ahead;
  std::int64_t next_index = 0;
  for (int opened = 0; opened < batches || !ahead.empty();) {
    while (opened < batches && consumer.can_open()) {
      Opened batch{0, indices_from(next_index, 1 + random() % consumer.spec().cells_per_slot)};
      next_index += static_cast<std::int64_t>(batch.indices.size());
      std::vector<std::uint32_t> occurrences;
      for (const std::int64_t index : batch.indices)
        occurrences.push_back(static_cast<std::uint32_t>(index % 3));
      batch.batch = consumer.open(batch.indices, occurrences);
      ahead.push_back(std::move(batch));
      ++opened;
    }
    if (ahead.empty()) {
      ASSERT_EQ(consumer.wait_free(patience()), WaitResult::ready);
      continue;
    }
    const Opened batch = std::move(ahead.front());
    ahead.erase(ahead.begin());
    if (random() % 7 == 0) {
      consumer.cancel(batch.batch);
      continue;
    }
    ASSERT_EQ(consumer.wait(batch.batch, patience()), WaitResult::ready);
    const std::uint32_t slot = consumer.take(batch.batch);
    ASSERT_EQ(consumer.cell_count(slot), batch.indices.size());
    LeaseRef lease = SlotLease::adopt(consumer.segment(), slot);
    for (std::uint32_t c = 0; c < batch.indices.size(); ++c) {
      const std::int64_t index = batch.indices[c];
      ASSERT_EQ(consumer.index(slot, c), index);
      ASSERT_EQ(consumer.cell_state(slot, c), fails(index) ? CellState::failed : CellState::published);
      ASSERT_TRUE(fails(index) || holds(lease->field(0), lease->field(1), batch.batch, c, index));
    }
    // Some are dropped at once, some by others and later.
    if (random() % 3 != 0) keepers.keep({std::move(lease), batch.batch, batch.indices});
  }
}

struct Shape {
  std::uint32_t slots;
  std::uint32_t cells;
  unsigned producers;
};

class RingStress : public ::testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, RingStress,
                         ::testing::Values(Shape{1, 1, 1}, Shape{1, 1, 4}, Shape{1, 5, 1}, Shape{2, 1, 3},
                                           Shape{2, 7, 2}, Shape{3, 4, 8}, Shape{6, 16, 4}),
                         [](const auto& info) {
                           return std::to_string(info.param.slots) + "Slots" +
                                  std::to_string(info.param.cells) + "Cells" +
                                  std::to_string(info.param.producers) + "Producers";
                         });

TEST_P(RingStress, ThreadsOfOneProcess) {
  const Shape shape = GetParam();
  Consumer consumer(Segment::create_private(spec_of(shape.slots, shape.cells)));
  const auto producer = Producer::attach(consumer.segment());
  std::vector<int> results(shape.producers, -1);
  std::vector<std::thread> threads;
  for (int& result : results) threads.emplace_back([&] { result = produce(*producer); });
  {
    Keepers keepers(2);
    consume(consumer, keepers, 1500, shape.slots * 100 + shape.cells);
    EXPECT_EQ(keepers.stop(), 0u);
  }
  consumer.close();
  for (std::thread& thread : threads) thread.join();
  for (const int result : results) EXPECT_EQ(result, 0);
  EXPECT_EQ(consumer.free_slots(), shape.slots);
  EXPECT_EQ(consumer.segment()->header().opened.waiters.load(), 0u);
  EXPECT_EQ(consumer.segment()->header().settled.waiters.load(), 0u);
}

TEST_P(RingStress, ProcessesAttachedByDescriptor) {
  const Shape shape = GetParam();
  const auto segment = Segment::create_shared(spec_of(shape.slots, shape.cells));
  const unsigned processes = std::min(shape.producers, 4u);
  std::vector<Child> children;
  for (unsigned i = 0; i < processes; ++i) {
    children.emplace_back([&] {
      const auto producer = Producer::attach(Segment::attach(segment->fd()));
      int first = -1;
      std::thread thread([&] { first = produce(*producer); });
      const int second = produce(*producer);
      thread.join();
      return first != 0 ? first : second;
    });
  }
  Consumer consumer(segment);
  {
    Keepers keepers(2);
    consume(consumer, keepers, 500, shape.slots * 100 + shape.cells);
    EXPECT_EQ(keepers.stop(), 0u);
  }
  // Whoever is late to attach would find the ring closed.
  while (consumer.segment()->header().attached.load() < processes) std::this_thread::yield();
  consumer.close();
  for (Child& child : children) EXPECT_TRUE(exited_with(child.reap(), 0));
  EXPECT_EQ(consumer.free_slots(), shape.slots);
  EXPECT_EQ(consumer.producers(), 0u);
}

// The smallest ring, where each side must wait for the other at every step: nobody may miss a wake-up.
TEST(RingHandshake, OneSlotOneCellThousandsOfTimes) {
  for (const bool shared : {false, true}) {
    Consumer consumer(shared ? Segment::create_shared(spec_of(1, 1))
                             : Segment::create_private(spec_of(1, 1)));
    const auto producer = Producer::attach(consumer.segment());
    int result = -1;
    std::thread thread([&] { result = produce(*producer); });
    for (std::int64_t i = 0; i < 3000; ++i) {
      ASSERT_EQ(consumer.wait_free(patience()), WaitResult::ready);
      const std::uint64_t batch =
          consumer.open(indices_from(i, 1), std::vector<std::uint32_t>{static_cast<std::uint32_t>(i % 3)});
      ASSERT_EQ(consumer.wait(batch, patience()), WaitResult::ready);
      consumer.release(consumer.take(batch));
    }
    consumer.close();
    thread.join();
    EXPECT_EQ(result, 0);
  }
}

// The producer is slower than the consumer, then the other way round: each side is found asleep at every
// step.
TEST(RingHandshake, SlowProducerThenSlowConsumer) {
  for (const std::uint32_t slots : {1u, 2u}) {
    Consumer consumer(Segment::create_private(spec_of(slots, 2)));
    const auto producer = Producer::attach(consumer.segment());
    Event& settled = consumer.segment()->header().settled;
    Event& opened = consumer.segment()->header().opened;
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t batch = consumer.open(indices_from(i, 2));
      WaitResult result{};
      std::thread waiting([&] { result = consumer.wait(batch, patience()); });
      testing::until_somebody_sleeps(settled);
      while (const auto ticket = producer->try_claim()) producer->publish(*ticket, true);
      waiting.join();
      ASSERT_EQ(result, WaitResult::ready);
      consumer.release(consumer.take(batch));
    }
    for (int i = 0; i < 50; ++i) {
      Ticket ticket;
      ClaimResult result{};
      std::thread claiming([&] { result = producer->claim(patience(), &ticket); });
      testing::until_somebody_sleeps(opened);
      const std::uint64_t batch = consumer.open(indices_from(i, 1));
      claiming.join();
      ASSERT_EQ(result, ClaimResult::claimed);
      producer->publish(ticket, true);
      ASSERT_EQ(consumer.wait(batch, testing::kAtOnce), WaitResult::ready);
      consumer.release(consumer.take(batch));
    }
  }
}

}  // namespace
}  // namespace pyfastdl
