#include "ring/block_ring.h"

#include <gtest/gtest.h>

#include "base/status.h"
#include "ring/ring_testing.h"

namespace pyfastdl {
namespace {

using testing::Child;

constexpr std::uint64_t kBytes = 5000;

std::shared_ptr<Segment> private_segment(std::uint32_t blocks) {
  return Segment::create_private(BlockRing::spec(blocks, kBytes));
}

TEST(BlockRing, ABlockGoesRoundWhenItsLeaseDies) {
  BlockRing ring(private_segment(2));
  for (int round = 0; round < 10; ++round) {
    const Block block = ring.acquire().value();
    std::memset(block.data, round, kBytes);
    ring.publish(block.number);
    const LeaseRef lease = ring.take(block.number);
    EXPECT_EQ(lease->field(0), block.data);
    EXPECT_EQ(ring.leased(), 1u);
  }
  EXPECT_EQ(ring.free(), 2u);
}

TEST(BlockRing, BlocksOutOfOrderAndAllInUse) {
  BlockRing ring(private_segment(3));
  std::vector<Block> blocks;
  while (const auto block = ring.acquire()) blocks.push_back(*block);
  ASSERT_EQ(blocks.size(), 3u);
  ring.publish(blocks[2].number);
  EXPECT_TRUE(ring.take(blocks[2].number));  // and its lease dies
  // The oldest block's place is still needed: FORMAT.md, "Batches and slots".
  EXPECT_FALSE(ring.acquire());
  ring.publish(blocks[0].number);
  EXPECT_TRUE(ring.acquire());
}

TEST(BlockRing, ACancelledBlockIsFreeOnceItIsPublished) {
  BlockRing ring(private_segment(1));
  const Block block = ring.acquire().value();
  ring.cancel(block.number);
  EXPECT_EQ(ring.quarantined(), 1u);
  EXPECT_FALSE(ring.acquire());
  ring.publish(block.number);
  EXPECT_TRUE(ring.acquire());
}

TEST(BlockRing, WrongNumbersAreErrors) {
  BlockRing ring(private_segment(1));
  EXPECT_THROW(ring.publish(0), Error);
  EXPECT_THROW(ring.take(0), Error);
  const Block block = ring.acquire().value();
  EXPECT_THROW(ring.take(block.number), Error);
  ring.publish(block.number);
  EXPECT_THROW(ring.publish(block.number), Error);
}

TEST(BlockRing, ALeaseOutlivesTheRing) {
  LeaseRef lease;
  {
    BlockRing ring(private_segment(1));
    const Block block = ring.acquire().value();
    std::memset(block.data, 7, kBytes);
    ring.publish(block.number);
    lease = ring.take(block.number);
  }
  EXPECT_EQ(lease->field(0)[kBytes - 1], std::byte{7});
}

TEST(BlockRing, AForkedChildIsRefused) {
  BlockRing ring(private_segment(1));
  Child child([&] {
    try {
      ring.acquire();
    } catch (const Error& error) {
      return error.code() == Errc::state ? 0 : 1;
    }
    return 2;
  });
  EXPECT_TRUE(testing::exited_with(child.reap(), 0));
}

TEST(BlockRing, AnotherProcessWritesOnceTheSegmentIsComplete) {
  const UniqueFd fd = Segment::reserve_shared();
  EXPECT_FALSE(Segment::is_complete(fd.get()));
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  Child child([&] {
    char byte = 0;
    if (::read(told[0], &byte, 1) != 1 || !Segment::is_complete(fd.get())) return 2;
    BlockWriter writer(fd.get());
    const std::optional<Block> block = writer.claim();
    if (!block || writer.block_bytes() != kBytes) return 3;
    std::memset(block->data, 9, kBytes);
    writer.publish(block->number, true);
    return 0;
  });
  BlockRing ring(Segment::create_shared_in(fd.get(), BlockRing::spec(2, kBytes)));
  ring.offer();
  EXPECT_EQ(::write(told[1], "x", 1), 1);
  ASSERT_TRUE(testing::exited_with(child.reap(), 0));
  const LeaseRef lease = ring.take(0);
  EXPECT_EQ(lease->field(0)[0], std::byte{9});
  EXPECT_FALSE(ring.acquire()) << "shared blocks are for other processes";
  ::close(told[0]);
  ::close(told[1]);
}

TEST(BlockRing, OtherWritersFindEveryBlockFree) {
  const UniqueFd fd = Segment::reserve_shared();
  BlockRing ring(Segment::create_shared_in(fd.get(), BlockRing::spec(4, kBytes)));
  ring.offer();
  LeaseRef kept;
  {
    BlockWriter writer(fd.get());
    const Block taken = writer.claim().value();
    writer.publish(taken.number, true);
    kept = ring.take(taken.number);
    writer.publish(writer.claim().value().number, true);  // its message was lost
  }
  ring.reset();
  ring.offer();
  BlockWriter other(fd.get());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(other.claim());
  EXPECT_FALSE(other.claim());
}

TEST(BlockRing, AForkedChildsCopyOfABatchIsItsOwn) {
  const UniqueFd fd = Segment::reserve_shared();
  BlockRing ring(Segment::create_shared_in(fd.get(), BlockRing::spec(1, kBytes)));
  ring.offer();
  BlockWriter writer(fd.get());
  const auto write = [&](int value) {
    const Block block = writer.claim().value();
    std::memset(block.data, value, kBytes);
    writer.publish(block.number, true);
    return ring.take(block.number);
  };
  LeaseRef lease = write(1);
  int go[2], done[2];
  ASSERT_EQ(::pipe(go), 0);
  ASSERT_EQ(::pipe(done), 0);
  Child child([&] {
    char byte = 0;
    lease->field(0)[0] = std::byte{5};
    if (::write(done[1], "x", 1) != 1 || ::read(go[0], &byte, 1) != 1) return 1;
    return lease->field(0)[0] == std::byte{5} && lease->field(0)[kBytes - 1] == std::byte{1} ? 0 : 2;
  });
  char byte = 0;
  ASSERT_EQ(::read(done[0], &byte, 1), 1);
  EXPECT_EQ(lease->field(0)[0], std::byte{1}) << "the child's writes stay with it";
  lease = LeaseRef();
  ring.offer();
  lease = write(2);
  EXPECT_EQ(::write(go[1], "x", 1), 1);
  EXPECT_TRUE(testing::exited_with(child.reap(), 0)) << "and the parent's with the parent";
  for (const int end : {go[0], go[1], done[0], done[1]}) ::close(end);
}

TEST(BlockRing, ADeadWritersBlockIsFreeAfterReaping) {
  const UniqueFd fd = Segment::reserve_shared();
  BlockRing ring(Segment::create_shared_in(fd.get(), BlockRing::spec(1, kBytes)));
  ring.offer();
  Child child([&] {
    BlockWriter writer(fd.get());
    if (!writer.claim()) return 1;
    ::_exit(0);  // without its destructors, as one that is killed
  });
  ASSERT_TRUE(testing::exited_with(child.reap(), 0));
  ring.cancel(0);
  EXPECT_EQ(ring.quarantined(), 1u);
  ring.reap();
  EXPECT_EQ(ring.free(), 1u);
}

}  // namespace
}  // namespace pyfastdl
