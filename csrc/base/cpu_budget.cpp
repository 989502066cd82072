#include "base/cpu_budget.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <memory>

#include "base/cgroup.h"

namespace pyfastdl {
namespace {

std::optional<double> quota_at(const std::string& folder, bool v2) {
  double quota = 0;
  double period = 0;
  if (v2) {
    // "max 100000" means none, and does not parse as a number.
    std::ifstream file(folder + "/cpu.max");
    if (!(file >> quota >> period)) return std::nullopt;
  } else {
    std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
    std::ifstream period_file(folder + "/cpu.cfs_period_us");
    if (!(quota_file >> quota) || !(period_file >> period)) return std::nullopt;
  }
  // v1 writes -1 for none.
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

unsigned affinity_cpus() {
  // The kernel refuses a mask smaller than its own: hosts may have more than the 1,024 CPUs of cpu_set_t.
  for (int cpus = CPU_SETSIZE; cpus <= 1 << 20; cpus *= 2) {
    const auto free_mask = [](cpu_set_t* mask) { CPU_FREE(mask); };
    const std::unique_ptr<cpu_set_t, decltype(free_mask)> mask(CPU_ALLOC(static_cast<std::size_t>(cpus)),
                                                               free_mask);
    if (mask == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    if (sched_getaffinity(0, bytes, mask.get()) == 0) {
      return static_cast<unsigned>(std::max(1, CPU_COUNT_S(bytes, mask.get())));
    }
    if (errno != EINVAL) break;
  }
  return 1;
}

std::optional<double> cgroup_cpus(const std::string& root) {
  std::optional<double> tightest;
  for (const CgroupFolder& folder : cgroup_folders("cpu", root)) {
    const std::optional<double> quota = quota_at(folder.path, folder.v2);
    if (quota && (!tightest || *quota < *tightest)) tightest = quota;
  }
  return tightest;
}

unsigned granted_cpus(const std::string& root) {
  const unsigned affinity = affinity_cpus();
  const std::optional<double> quota = cgroup_cpus(root);
  if (!quota || *quota >= affinity) return affinity;
  return std::max(1u, static_cast<unsigned>(*quota));
}

}  // namespace pyfastdl
