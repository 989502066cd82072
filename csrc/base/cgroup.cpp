#include "base/cgroup.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <optional>
#include <sstream>

namespace pyfastdl {
namespace {

// A cgroup hierarchy with the controller, as /proc/self/mountinfo shows it.
struct Hierarchy {
  bool v2 = false;
  std::string mount_point;
  std::string mount_root;  // which cgroup the mount point shows: not "/" in some containers
};

bool has_controller(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == name) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// mountinfo writes blanks and backslashes as \ooo.
std::string unescape(const std::string& field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    const auto octal = [&](std::size_t at) { return field[at] >= '0' && field[at] <= '7'; };
    if (field[i] == '\\' && i + 3 < field.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      text += static_cast<char>((field[i + 1] - '0') << 6 | (field[i + 2] - '0') << 3 | (field[i + 3] - '0'));
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

// Lines of mountinfo (proc(5)): id, parent, device, root, mount point, options, optional fields, "-", type,
// source, super options.
std::vector<Hierarchy> find_hierarchies(const std::string& root, std::string_view controller) {
  std::vector<Hierarchy> found;
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string skipped, mount_root, mount_point, type, source, options;
    fields >> skipped >> skipped >> skipped >> mount_root >> mount_point;
    while (fields >> skipped && skipped != "-") {
    }
    fields >> type >> source >> options;
    const bool v2 = type == "cgroup2";
    if (v2 || (type == "cgroup" && has_controller(options, controller))) {
      found.push_back({v2, unescape(mount_point), unescape(mount_root)});
    }
  }
  return found;
}

// Lines of /proc/self/cgroup: "number:controllers:path"; "0::path" is v2.
std::optional<std::string> own_cgroup(const std::string& root, std::string_view controller, bool v2) {
  std::ifstream lines(root + "/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const bool fits = v2 ? line.compare(0, second, "0:") == 0 : has_controller(controllers, controller);
    if (fits) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The process's cgroup below the mount point. A path that the mount does not show (another namespace) gives the
// mount point itself, which is the container's own cgroup.
std::string path_below_mount(const std::string& cgroup, const std::string& mount_root) {
  if (cgroup.find("/..") != std::string::npos) return "";
  std::string below = cgroup;
  if (mount_root != "/") {
    const bool shown = cgroup.compare(0, mount_root.size(), mount_root) == 0 &&
                       (cgroup.size() == mount_root.size() || cgroup[mount_root.size()] == '/');
    if (!shown) return "";
    below = cgroup.substr(mount_root.size());
  }
  return below == "/" ? "" : below;
}

}  // namespace

std::vector<CgroupFolder> cgroup_folders(std::string_view controller, const std::string& root) {
  std::vector<CgroupFolder> folders;
  for (const Hierarchy& hierarchy : find_hierarchies(root, controller)) {
    const std::optional<std::string> cgroup = own_cgroup(root, controller, hierarchy.v2);
    if (!cgroup) continue;
    const std::string mount = root + hierarchy.mount_point;
    for (std::string below = path_below_mount(*cgroup, hierarchy.mount_root);;) {
      folders.push_back({mount + below, hierarchy.v2});
      if (below.empty()) break;
      const std::size_t slash = below.rfind('/');
      below.resize(slash == std::string::npos ? 0 : slash);
    }
  }
  return folders;
}

}  // namespace pyfastdl
