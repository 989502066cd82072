#include "base/cpu_budget.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <string>

#include "base/thread.h"
#include "temp_tree.h"

namespace pyfastdl {
namespace {

// The parts of /proc and /sys/fs/cgroup that count, made by hand.
class Host {
 public:
  Host& v2(const std::string& cgroup, const std::string& mount_root = "/",
           const std::string& at = "/sys/fs/cgroup") {
    cgroups_ += "0::" + cgroup + "\n";
    mounts_ +=
        "30 23 0:26 " + mount_root + " " + at + " rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    return write();
  }
  Host& v1(const std::string& cgroup, const std::string& mount_root = "/") {
    cgroups_ += "12:cpuset:/elsewhere\n4:cpu,cpuacct:" + cgroup + "\n1:name=systemd:/init\n";
    mounts_ += "31 25 0:28 " + mount_root +
               " /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:10 - cgroup cgroup rw,cpu,cpuacct\n"
               "32 25 0:29 / /sys/fs/cgroup/cpuset rw master:3 shared:11 - cgroup cgroup rw,cpuset\n";
    return write();
  }
  Host& cpu_max(const std::string& folder, const std::string& text) {
    tree_.file(folder.substr(1) + "/cpu.max", text + "\n");
    return *this;
  }
  Host& cfs(const std::string& folder, const std::string& quota, const std::string& period) {
    tree_.file(folder.substr(1) + "/cpu.cfs_quota_us", quota + "\n");
    tree_.file(folder.substr(1) + "/cpu.cfs_period_us", period + "\n");
    return *this;
  }
  double quota() const { return cgroup_cpus(tree_.root()).value_or(-1); }
  std::string root() const { return tree_.root(); }

 private:
  Host& write() {
    tree_.file("proc/self/cgroup", cgroups_);
    tree_.file("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/root rw,cpu\n" + mounts_);
    return *this;
  }

  TempTree tree_;
  std::string cgroups_, mounts_;
};

TEST(CgroupCpus, HasNoneWithoutAQuota) {
  EXPECT_EQ(Host().quota(), -1);
  EXPECT_EQ(Host().v2("/").quota(), -1);
  EXPECT_EQ(Host().v2("/a/b").cpu_max("/sys/fs/cgroup/a/b", "max 100000").quota(), -1);
  EXPECT_EQ(Host().v1("/a").cfs("/sys/fs/cgroup/cpu,cpuacct/a", "-1", "100000").quota(), -1);
  EXPECT_EQ(Host().v2("/a").cpu_max("/sys/fs/cgroup/a", "garbage").quota(), -1);
}

TEST(CgroupCpus, ReadsV2) {
  EXPECT_EQ(Host().v2("/").cpu_max("/sys/fs/cgroup", "250000 100000").quota(), 2.5);
  EXPECT_EQ(Host().v2("/a").cpu_max("/sys/fs/cgroup/a", "50000 100000").quota(), 0.5);
}

TEST(CgroupCpus, ReadsV1) {
  EXPECT_EQ(Host().v1("/docker/x").cfs("/sys/fs/cgroup/cpu,cpuacct/docker/x", "300000", "100000").quota(), 3);
}

TEST(CgroupCpus, TakesTheTightestUpToTheTop) {
  Host host;
  host.v2("/a/b/c")
      .cpu_max("/sys/fs/cgroup/a/b/c", "800000 100000")
      .cpu_max("/sys/fs/cgroup/a/b", "max 100000");
  EXPECT_EQ(host.quota(), 8);
  host.cpu_max("/sys/fs/cgroup/a", "200000 100000");
  EXPECT_EQ(host.quota(), 2);
  host.cpu_max("/sys/fs/cgroup/unrelated", "10000 100000");
  EXPECT_EQ(host.quota(), 2);
  host.cpu_max("/sys/fs/cgroup", "150000 100000");
  EXPECT_EQ(host.quota(), 1.5);
}

TEST(CgroupCpus, FindsItsCgroupBelowAMountOfAPart) {
  // A container without a namespace of its own: the path is the host's, the mount shows only that part.
  EXPECT_EQ(Host().v1("/docker/x", "/docker/x").cfs("/sys/fs/cgroup/cpu,cpuacct", "100000", "100000").quota(),
            1);
  EXPECT_EQ(Host().v2("/pod/x/job", "/pod/x").cpu_max("/sys/fs/cgroup/job", "400000 100000").quota(), 4);
  // A name that only begins alike is another cgroup: the mount point itself is what is left.
  Host other;
  other.v2("/pod/xy", "/pod/x").cpu_max("/sys/fs/cgroup", "400000 100000");
  other.cpu_max("/sys/fs/cgroup/pod/xy", "100000 100000").cpu_max("/sys/fs/cgroupy", "100000 100000");
  EXPECT_EQ(other.quota(), 4);
  // A cgroup outside of the namespace.
  EXPECT_EQ(Host().v2("/../../b").cpu_max("/sys/fs/cgroup", "700000 100000").quota(), 7);
}

TEST(CgroupCpus, ReadsBothHierarchiesOfAHybridHost) {
  Host host;
  host.v1("/a").v2("/user", "/", "/sys/fs/cgroup/unified");
  host.cfs("/sys/fs/cgroup/cpu,cpuacct/a", "600000", "100000");
  EXPECT_EQ(host.quota(), 6);
  host.cpu_max("/sys/fs/cgroup/unified/user", "500000 100000");
  EXPECT_EQ(host.quota(), 5);
}

TEST(CgroupCpus, UnderstandsBlanksInMountPoints) {
  EXPECT_EQ(Host().v2("/a", "/", "/my\\040cgroups").cpu_max("/my cgroups/a", "200000 100000").quota(), 2);
}

TEST(GrantedCpus, RoundsDownButGivesAtLeastOne) {
  const unsigned affinity = affinity_cpus();
  ASSERT_GE(affinity, 1u);
  EXPECT_EQ(granted_cpus(Host().root()), affinity);
  EXPECT_EQ(granted_cpus(Host().v2("/").cpu_max("/sys/fs/cgroup", "50000 100000").root()), 1u);
  EXPECT_EQ(granted_cpus(Host().v2("/").cpu_max("/sys/fs/cgroup", "199999 100000").root()), 1u);
  EXPECT_EQ(granted_cpus(Host().v2("/").cpu_max("/sys/fs/cgroup", "99900000 100000").root()),
            std::min(affinity, 999u));
  EXPECT_GE(granted_cpus(), 1u);
}

TEST(GrantedCpus, IsOneOnOneCpu) {
  unsigned granted = 0;
  Thread thread;
  // In a thread of its own: affinity belongs to a thread, and this one's is left alone.
  thread.start("one-cpu", [&] {
    cpu_set_t allowed, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    granted = granted_cpus();
  });
  thread.join();
  EXPECT_EQ(granted, 1u);
}

}  // namespace
}  // namespace pyfastdl
