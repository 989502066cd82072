#include "base/byte_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <new>

namespace pyfastdl {
namespace {

TEST(ByteBuffer, IsAlignedAndPadded) {
  for (const std::size_t size : {0, 1, 63, 64, 65, 1000, 4096}) {
    ByteBuffer buffer;
    buffer.resize(size);
    ASSERT_NE(buffer.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
    EXPECT_EQ(buffer.size(), size);
    std::memset(buffer.data(), 1, buffer.capacity());
    // Readable up to the padding's end: the address sanitizer watches.
    unsigned sum = 0;
    for (std::size_t i = 0; i < kRowPadding; ++i) sum += buffer.data()[size + i];
    EXPECT_LE(sum, kRowPadding);
  }
}

TEST(ByteBuffer, KeepsItsMemoryWhenItShrinks) {
  ByteBuffer buffer;
  buffer.resize(1000);
  const std::uint8_t* before = buffer.data();
  buffer.resize(10);
  buffer.resize(1000);
  EXPECT_EQ(buffer.data(), before);
}

TEST(ByteBuffer, ResizeKeepKeepsTheBytes) {
  ByteBuffer buffer;
  buffer.resize_keep(3);
  std::memcpy(buffer.data(), "abc", 3);
  buffer.resize_keep(100000);
  EXPECT_EQ(buffer.size(), 100000u);
  EXPECT_EQ(std::memcmp(buffer.data(), "abc", 3), 0);
  buffer.resize_keep(2);
  EXPECT_EQ(buffer.size(), 2u);
  EXPECT_EQ(std::memcmp(buffer.data(), "ab", 2), 0);
}

TEST(ByteBuffer, TrimGivesBackOnlyWhatIsTooMuch) {
  ByteBuffer buffer;
  buffer.resize(1000);
  buffer.trim(1 << 20);
  EXPECT_EQ(buffer.size(), 1000u);
  buffer.trim(100);
  EXPECT_EQ(buffer.capacity(), 0u);
  EXPECT_EQ(buffer.size(), 0u);
  buffer.resize(5);
  EXPECT_EQ(buffer.size(), 5u);
}

TEST(ByteBuffer, IsEmptyAndUsableAfterFailing) {
  // volatile: the compiler would warn of the size.
  volatile std::size_t too_much = std::numeric_limits<std::size_t>::max() - 10;
  ByteBuffer buffer;
  buffer.resize(100);
  EXPECT_THROW(buffer.resize(too_much), std::bad_alloc);
  EXPECT_EQ(buffer.size(), 0u);
  buffer.resize(100);
  EXPECT_THROW(buffer.resize_keep(too_much), std::bad_alloc);
  EXPECT_EQ(buffer.size(), 0u);
  buffer.resize(7);
  EXPECT_EQ(buffer.size(), 7u);
}

}  // namespace
}  // namespace pyfastdl
