// How much memory this process may use: the machine's, or the tightest limit of its cgroup and those above it.
//
// Any thread; reads a few small files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pyfastdl {

// The tightest memory limit of this process's cgroups in bytes; none if there is no limit. `root` as in cgroup.h.
std::optional<std::uint64_t> cgroup_memory(const std::string& root = "");

// The lesser of that and the machine's memory, in bytes.
std::uint64_t granted_memory(const std::string& root = "");

}  // namespace pyfastdl
