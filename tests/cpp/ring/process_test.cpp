#include "ring/process.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/prctl.h>

#include "ring/ring_testing.h"

namespace pyfastdl {
namespace {

using testing::Child;

TEST(Process, ThisOneIsAlive) {
  const ProcessTag self = this_process();
  EXPECT_EQ(self.pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_NE(self.start, 0u);
  EXPECT_TRUE(process_alive(self));
  EXPECT_EQ(ProcessTag::unpack(self.pack()), self);
}

TEST(Process, APidUsedAgainIsAnotherProcess) {
  ProcessTag other = this_process();
  other.start += 1;
  EXPECT_FALSE(process_alive(other));
}

TEST(Process, WithoutAStartTimeThePidDecides) { EXPECT_TRUE(process_alive({this_process().pid, 0})); }

TEST(Process, ZombiesAndTheGoneAreDead) {
  Child child([] {
    ::pause();
    return 0;
  });
  const ProcessTag tag{static_cast<std::uint32_t>(child.pid()), 0};
  EXPECT_TRUE(process_alive(tag));
  child.kill();
  child.until_zombie();
  EXPECT_FALSE(process_alive(tag));
  child.reap();
  EXPECT_FALSE(process_alive(tag));
}

TEST(Process, ANameWithParenthesesAndBlanksIsRead) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  Child child([&] {
    ::prctl(PR_SET_NAME, ") Z 1 1 (");
    const bool ok =
        this_process().start != 0 && process_alive(this_process()) && ::write(ready[1], "x", 1) == 1;
    return ok ? 0 : 1;
  });
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(testing::exited_with(child.reap(), 0));
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace pyfastdl
