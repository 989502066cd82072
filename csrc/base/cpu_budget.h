// How many CPUs this process may really use: the affinity mask and every cgroup quota above it, whichever is less.
//
// std::thread::hardware_concurrency says what the host has; in a container with half a CPU, as many threads as
// the host has would be throttled for most of each period. Any thread may call these; they read a few small files.
#pragma once

#include <optional>
#include <string>

namespace pyfastdl {

// CPUs in the calling thread's affinity mask; at least 1.
unsigned affinity_cpus();

// The tightest CPU quota of this process's cgroup and those above it (v1 and v2), in CPUs; none if there is no
// quota. `root` goes before /proc/self and before the mount points that are found there.
std::optional<double> cgroup_cpus(const std::string& root = "");

// The lesser of the two, rounded down; at least 1.
unsigned granted_cpus(const std::string& root = "");

}  // namespace pyfastdl
