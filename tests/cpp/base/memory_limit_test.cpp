#include "base/memory_limit.h"

#include <gtest/gtest.h>

#include <string>

#include "temp_tree.h"

namespace pyfastdl {
namespace {

// A root with the files of /proc that say where the cgroups are.
struct Host {
  Host(const std::string& cgroups, const std::string& mounts) {
    tree.file("proc/self/cgroup", cgroups);
    tree.file("proc/self/mountinfo", mounts);
  }
  TempTree tree;
};

struct V2 : Host {
  V2() : Host("0::/a/b\n", "30 23 0:26 / /cg rw shared:9 - cgroup2 cgroup2 rw\n") {}
};

TEST(CgroupMemory, HasNoneWithoutALimit) {
  V2 host;
  EXPECT_FALSE(cgroup_memory(host.tree.root()));
  host.tree.file("cg/a/b/memory.max", "max\n");
  EXPECT_FALSE(cgroup_memory(host.tree.root()));
}

TEST(CgroupMemory, TakesTheTightestUpToTheTop) {
  V2 host;
  host.tree.file("cg/a/b/memory.max", "4000000000\n");
  EXPECT_EQ(cgroup_memory(host.tree.root()), 4000000000u);
  host.tree.file("cg/a/memory.max", "3000000000\n");
  host.tree.file("cg/other/memory.max", "1000\n");
  EXPECT_EQ(cgroup_memory(host.tree.root()), 3000000000u);
}

TEST(CgroupMemory, ReadsV1) {
  Host host("4:cpu:/c\n5:memory:/m\n",
            "31 25 0:28 / /cpu rw - cgroup cgroup rw,cpu\n32 25 0:29 / /mem rw - cgroup cgroup rw,memory\n");
  host.tree.file("mem/m/memory.limit_in_bytes", "9223372036854771712\n");  // its "no limit"
  host.tree.file("cpu/c/memory.limit_in_bytes", "1000\n");
  EXPECT_FALSE(cgroup_memory(host.tree.root()));
  host.tree.file("mem/m/memory.limit_in_bytes", "2000000000\n");
  EXPECT_EQ(cgroup_memory(host.tree.root()), 2000000000u);
}

TEST(GrantedMemory, IsTheMachinesOrLess) {
  V2 host;
  const std::uint64_t machine = granted_memory(host.tree.root());
  EXPECT_GT(machine, 1u << 20);
  host.tree.file("cg/a/b/memory.max", "12345678\n");
  EXPECT_EQ(granted_memory(host.tree.root()), 12345678u);
  host.tree.file("cg/a/b/memory.max", "1000000000000000\n");
  EXPECT_EQ(granted_memory(host.tree.root()), machine);
  EXPECT_LE(granted_memory(), machine);
}

}  // namespace
}  // namespace pyfastdl
