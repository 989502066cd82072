#include "target.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>

namespace {

// The core never writes to stderr. libFuzzer and the sanitizers do; with -close_fd_mask=2 they keep a descriptor of
// their own, and then whatever arrives at this one is a finding.
int watched_stderr = -1;

void watch_stderr() {
  watched_stderr = ::memfd_create("stderr", MFD_CLOEXEC);
  pyfastdl::fuzzing::expect(watched_stderr >= 0 && ::dup2(watched_stderr, STDERR_FILENO) >= 0);
}

bool is_stderr_empty() {
  struct stat info;
  return ::fstat(watched_stderr, &info) == 0 && info.st_size == 0;
}

bool wants_watch = false;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) wants_watch |= std::string_view((*argv)[i]) == "-close_fd_mask=2";
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Not earlier: libFuzzer puts its own output aside after LLVMFuzzerInitialize.
  if (wants_watch && watched_stderr < 0) watch_stderr();
  pyfastdl::fuzzing::run_input({data, size});
  if (wants_watch) pyfastdl::fuzzing::expect(is_stderr_empty());
  return 0;
}
