#include "ring/process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/unique_fd.h"

namespace pyfastdl {
namespace {

struct Stat {
  char state = '?';
  long threads = 0;
  std::uint32_t start = 0;
};

// proc(5): "pid (comm) state ppid ..."; the name may hold anything, blanks and parentheses too, so that
// fields are counted from its last parenthesis. num_threads is field 20, starttime field 22.
std::optional<Stat> read_stat(std::uint32_t pid) {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%u/stat", pid);
  const UniqueFd fd(::open(path.data(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  std::array<char, 1024> text{};
  const ssize_t got = ::read(fd.get(), text.data(), text.size() - 1);
  if (got <= 0) return std::nullopt;

  const char* p = std::strrchr(text.data(), ')');
  if (p == nullptr || p[1] != ' ' || p[2] == '\0') return std::nullopt;
  Stat stat;
  stat.state = p[2];
  p += 3;
  for (int field = 4; field <= 22; ++field) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(p, &end, 10);
    if (end == p) return std::nullopt;
    if (field == 20) stat.threads = static_cast<long>(value);
    if (field == 22) stat.start = static_cast<std::uint32_t>(value);
    p = end;
  }
  return stat;
}

}  // namespace

ProcessTag this_process() {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  const std::optional<Stat> stat = read_stat(pid);
  return {pid, stat ? stat->start : 0};
}

bool process_alive(const ProcessTag& process) {
  if (::kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH) return false;
  const std::optional<Stat> stat = read_stat(process.pid);
  // Gone in between, or /proc can't be read: the next look decides.
  if (!stat) return true;
  if (process.start != 0 && stat->start != process.start) return false;
  // A zombie whose other threads still run has merely lost its first thread.
  const bool dead = stat->state == 'Z' || stat->state == 'X' || stat->state == 'x';
  return !dead || stat->threads > 1;
}

}  // namespace pyfastdl
