#include "ring/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/status.h"
#include "ring/ring_testing.h"

namespace pyfastdl {
namespace {

using testing::spec_of;

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// A sealed memfd with these bytes.
UniqueFd sealed(const std::string& bytes) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, kSeals), 0);
  return fd;
}

std::string bytes_of(const Segment& segment) {
  return {reinterpret_cast<const char*>(&segment.header()), segment.layout().total_bytes};
}

std::string refusal(int fd) {
  try {
    Segment::attach(fd);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_argument);
    return error.what();
  }
  return "accepted";
}

TEST(Segment, BothKindsOfMemoryHaveTheSameBytes) {
  const auto a = Segment::create_private(spec_of(3, 7));
  const auto b = Segment::create_shared(spec_of(3, 7));
  EXPECT_EQ(bytes_of(*a), bytes_of(*b));
  EXPECT_EQ(a->fd(), -1);
  EXPECT_FALSE(a->shared());
  EXPECT_TRUE(b->shared());
}

TEST(Segment, LargePrivateMemoryBeginsAtAHugePage) {
  const auto segment = Segment::create_private({2, 16, {{1 << 20}}});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&segment->header()) % (2u << 20), 0u);
  // Its last byte is there.
  segment->field(1, 0)[(16 << 20) - 1] = std::byte{1};
}

TEST(Segment, AttachedMemoryIsTheSameMemory) {
  const auto segment = Segment::create_shared(spec_of(2, 3));
  const auto other = Segment::attach(segment->fd());
  EXPECT_TRUE(other->shared());
  EXPECT_EQ(other->layout().total_bytes, segment->layout().total_bytes);
  segment->field(1, 0)[5] = std::byte{42};
  EXPECT_EQ(other->field(1, 0)[5], std::byte{42});
  EXPECT_NE(&other->header(), &segment->header());
}

TEST(Segment, OutlivesItsDescriptor) {
  auto segment = Segment::create_shared(spec_of(1, 1));
  const auto other = Segment::attach(segment->fd());
  segment.reset();
  other->field(0, 0)[0] = std::byte{7};
  EXPECT_EQ(other->field(0, 0)[0], std::byte{7});
}

TEST(Segment, CantBeCutShort) {
  const auto segment = Segment::create_shared(spec_of(1, 1));
  EXPECT_NE(::ftruncate(segment->fd(), 0), 0);
}

TEST(Segment, AttachRefusesWhatIsNoRing) {
  EXPECT_NE(refusal(-1).find("descriptor -1"), std::string::npos);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_NE(refusal(null.get()).find("sealed memfd"), std::string::npos);
  const UniqueFd loose(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_NE(refusal(loose.get()).find("sealed memfd"), std::string::npos);
  EXPECT_NE(refusal(sealed("").get()).find("the file has 0 bytes"), std::string::npos);
  EXPECT_NE(refusal(sealed(std::string(100000, 'x')).get()).find("doesn't begin as a ring"),
            std::string::npos);
}

TEST(Segment, AttachRefusesWhatWasDamaged) {
  const std::string good = bytes_of(*Segment::create_shared(spec_of(2, 3)));
  ASSERT_EQ(refusal(sealed(good).get()), "accepted");
  const auto damaged = [&](std::size_t offset, auto value) {
    std::string bytes = good;
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
    return refusal(sealed(bytes).get());
  };
  EXPECT_NE(refusal(sealed(good.substr(0, good.size() - 4096)).get()).find("sizes don't fit"),
            std::string::npos);
  EXPECT_NE(refusal(sealed(good.substr(0, 80)).get()).find("the file has 80 bytes"), std::string::npos);
  EXPECT_NE(refusal(sealed(good + good).get()).find("sizes don't fit"), std::string::npos);
  EXPECT_NE(damaged(offsetof(SegmentIdentity, version), 3u).find("version 3, not 2"), std::string::npos);
  EXPECT_NE(damaged(offsetof(SegmentIdentity, field_count), 33u).find("damaged"), std::string::npos);
  EXPECT_NE(damaged(offsetof(SegmentIdentity, field_count), 0u).find("damaged"), std::string::npos);
  EXPECT_NE(damaged(offsetof(SegmentIdentity, slots), 0u).find("damaged"), std::string::npos);
  EXPECT_NE(damaged(offsetof(SegmentIdentity, slots), 4000u).find("sizes don't fit"), std::string::npos);
  EXPECT_NE(damaged(offsetof(SegmentIdentity, cells_per_slot), ~0u).find("damaged"), std::string::npos);
  EXPECT_NE(damaged(offsetof(SegmentIdentity, bytes_per_cell), ~0ull).find("damaged"), std::string::npos);
  EXPECT_NE(damaged(offsetof(SegmentIdentity, total_bytes), 1ull).find("sizes don't fit"), std::string::npos);
}

TEST(Segment, WantingTooMuchIsSaidInBytes) {
  try {
    Segment::create_private({1024, 1024, {{32 << 20}}});
    GTEST_SKIP() << "this system maps 32 TiB";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("bytes of memory"), std::string::npos);
  }
}

}  // namespace
}  // namespace pyfastdl
