// Processes that die at random instants.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ring/consumer.h"
#include "ring/process.h"
#include "ring/producer.h"
#include "ring/ring_testing.h"

namespace pyfastdl {
namespace {

using testing::Child;
using testing::fill;
using testing::holds;
using testing::indices_from;
using testing::patience;
using testing::spec_of;

// Two processes that claim and publish for as long as they live; one after another is killed wherever it
// stands.
class RandomKills : public ::testing::Test {
 protected:
  void start() {
    children.emplace_back([&] {
      const auto producer = Producer::attach(Segment::attach(segment->fd()));
      Ticket ticket;
      for (;;) {
        const ClaimResult result = producer->claim(patience(), &ticket);
        if (result == ClaimResult::closed) return 0;
        if (result != ClaimResult::claimed) return 1;
        // Long enough at it for many kills to come in between.
        for (int again = 0; again < 20; ++again) {
          if (again == 10) std::this_thread::yield();
          std::memset(producer->cell(ticket, 0), again, testing::kBodyBytes);
          fill(*producer, ticket);
        }
        producer->publish(ticket, true);
      }
    });
  }

  // Half of the kills hit a process that was just seen with a cell in its hands, half of them any.
  Child kill_one() {
    auto victim = children.begin();
    if (!ahead.empty() && random() % 2 == 0) {
      const std::uint32_t slot = consumer->slot_of(ahead.front());
      while (victim = writer_in(slot), victim == children.end() && still_open(slot))
        std::this_thread::yield();
      if (victim == children.end()) victim = children.begin();
    } else {
      for (std::atomic<unsigned> spins{static_cast<unsigned>(random() % 4000)}; spins.load() > 0; --spins) {
      }
    }
    Child killed = std::move(*victim);
    killed.kill();
    children.remove_if([](const Child& child) { return child.pid() < 0; });
    return killed;
  }
  std::list<Child>::iterator writer_in(std::uint32_t slot) {
    for (std::uint32_t c = 0; c < consumer->cell_count(slot); ++c) {
      const CellWord cell = CellWord::unpack(segment->cell(slot, c).word.load());
      if (cell.state != CellState::claimed) continue;
      const std::uint64_t tag = segment->header().producers[cell.producer - 1].load();
      return std::find_if(children.begin(), children.end(), [&](const Child& child) {
        return child.pid() == static_cast<pid_t>(ProcessTag::unpack(tag).pid);
      });
    }
    return children.end();
  }
  bool still_open(std::uint32_t slot) const {
    const std::vector<CellState> states = states_of(slot);
    return std::count(states.begin(), states.end(), CellState::open) > 0;
  }

  void verify(std::uint64_t batch, std::uint32_t slot) const {
    for (std::uint32_t c = 0; c < consumer->cell_count(slot); ++c) {
      const CellState state = consumer->cell_state(slot, c);
      ASSERT_TRUE(state == CellState::lost ||
                  (state == CellState::published && holds(consumer->field(slot, 0), consumer->field(slot, 1),
                                                          batch, c, consumer->index(slot, c))));
    }
  }
  std::vector<CellState> states_of(std::uint32_t slot) const {
    std::vector<CellState> states;
    for (std::uint32_t c = 0; c < consumer->cell_count(slot); ++c)
      states.push_back(consumer->cell_state(slot, c));
    return states;
  }
  std::vector<std::byte> bytes_of(std::uint32_t slot) const {
    return {consumer->field(slot, 0),
            consumer->field(slot, 0) + testing::kBodyBytes * segment->spec().cells_per_slot};
  }

  const std::shared_ptr<Segment> segment = Segment::create_shared(spec_of(3, 6));
  const std::unique_ptr<Consumer> consumer = std::make_unique<Consumer>(segment);
  std::mt19937 random{7};
  std::list<Child> children;
  std::deque<std::uint64_t> ahead;  // opened, and neither taken nor cancelled
};

TEST_F(RandomKills, EveryBatchCompletesAndEverySlotComesBack) {
  start();
  start();
  struct Held {
    std::uint32_t slot;
    std::vector<CellState> states;
    std::vector<std::byte> bytes;
  };
  std::optional<Held> held;  // the batch before: it must not change any more
  const auto release_held = [&] {
    if (!held) return;
    EXPECT_EQ(states_of(held->slot), held->states);
    EXPECT_EQ(bytes_of(held->slot), held->bytes);
    consumer->release(held->slot);
    held.reset();
  };

  int kills = 0;
  std::size_t lost = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<Child> zombies;
    while (consumer->can_open()) ahead.push_back(consumer->open(indices_from(round, 1 + random() % 6)));
    if (kills < 40 && random() % 4 == 0) {
      zombies.push_back(kill_one());
      // The other half stay zombies until the batch is through.
      if (random() % 2 == 0) zombies.clear();
      ++kills;
      start();
    }
    if (ahead.empty()) {
      ASSERT_EQ(consumer->wait_free(patience()), WaitResult::ready);
      continue;
    }
    const std::uint64_t batch = ahead.front();
    ahead.pop_front();
    if (random() % 6 == 0) {
      consumer->cancel(batch);
      continue;
    }
    WaitResult result = WaitResult::orphaned;
    while (result == WaitResult::orphaned) result = consumer->wait(batch, patience());
    ASSERT_EQ(result, WaitResult::ready);
    const std::uint32_t slot = consumer->take(batch);
    verify(batch, slot);
    release_held();
    held = {slot, states_of(slot), bytes_of(slot)};
    lost += static_cast<std::size_t>(std::count(held->states.begin(), held->states.end(), CellState::lost));
  }
  RecordProperty("lost", std::to_string(lost));
  EXPECT_EQ(kills, 40);

  release_held();
  consumer->cancel_all();
  children.clear();  // killed, and waited for
  consumer->reap();
  EXPECT_EQ(consumer->free_slots(), 3u);
  EXPECT_EQ(consumer->quarantined_slots(), 0u);
  EXPECT_EQ(consumer->producers(), 0u);
  testing::expect_usable(*consumer);
}

}  // namespace
}  // namespace pyfastdl
