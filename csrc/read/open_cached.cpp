#include "read/open_cached.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace pyfastdl {
namespace {

// The system call's number is the same on every architecture; older C libraries and headers lack the names.
#ifdef SYS_openat2
constexpr long kOpenat2 = SYS_openat2;
#else
constexpr long kOpenat2 = 437;
#endif
constexpr std::uint64_t kResolveCached = 0x20;

// struct open_how of linux/openat2.h, first version.
struct OpenHow {
  std::uint64_t flags;
  std::uint64_t mode;
  std::uint64_t resolve;
};

int openat2_cached(const char* path, int flags) {
  OpenHow how{static_cast<std::uint64_t>(flags), 0, kResolveCached};
  return static_cast<int>(::syscall(kOpenat2, AT_FDCWD, path, &how, sizeof how));
}

// Kernels before 5.6 lack the call, before 5.12 the flag, and some containers' seccomp filters forbid it: they answer
// ENOSYS, EINVAL or EPERM, of which only the root's path, which is always cached, can be certain.
bool has_cached_open() {
  const UniqueFd root(openat2_cached("/", O_PATH | O_CLOEXEC));
  return static_cast<bool>(root) || errno == EAGAIN;
}

}  // namespace

UniqueFd open_cached(const std::string& path, int flags) {
  static const bool available = has_cached_open();
  return UniqueFd(available ? openat2_cached(path.c_str(), flags) : ::open(path.c_str(), flags));
}

}  // namespace pyfastdl
