#include "base/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/cgroup.h"

namespace pyfastdl {
namespace {

// What version 1 writes for "no limit" is about 2^63, rounded down to pages.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;

std::optional<std::uint64_t> limit_at(const CgroupFolder& folder) {
  // "max", version 2's "no limit", does not parse as a number.
  std::ifstream file(folder.path + (folder.v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  std::uint64_t bytes = 0;
  if (!(file >> bytes) || bytes >= kNoLimit) return std::nullopt;
  return bytes;
}

}  // namespace

std::optional<std::uint64_t> cgroup_memory(const std::string& root) {
  std::optional<std::uint64_t> tightest;
  for (const CgroupFolder& folder : cgroup_folders("memory", root)) {
    const std::optional<std::uint64_t> limit = limit_at(folder);
    if (limit && (!tightest || *limit < *tightest)) tightest = limit;
  }
  return tightest;
}

std::uint64_t granted_memory(const std::string& root) {
  const auto pages = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 1L));
  const auto page_bytes = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 1L));
  return std::min(pages * page_bytes, cgroup_memory(root).value_or(kNoLimit));
}

}  // namespace pyfastdl
