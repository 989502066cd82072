// The control groups (cgroups(7), versions 1 and 2) that bind this process: where their files are.
//
// Any thread; reads a few small files of /proc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pyfastdl {

struct CgroupFolder {
  std::string path;
  bool v2 = false;  // whether its files are those of version 2
};

// The process's own group and those above it, for a controller ("cpu", "memory"). `root` goes before /proc/self and
// before the mount points that are found there.
std::vector<CgroupFolder> cgroup_folders(std::string_view controller, const std::string& root = "");

}  // namespace pyfastdl
