// A disk that fails in the middle of a file. No file system gives that on demand: the calls that read are replaced in
// this program by ones that fail when they are told to.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "read/file_reader.h"
#include "temp_tree.h"

namespace {

// Reads from this offset on give EIO; -1: none do.
std::atomic<long> g_broken_from{-1};

// At most up to the broken place, so that reading goes on before it fails.
ssize_t read_until_broken(long call, int fd, const iovec* pieces, int count, off_t offset, int flags) {
  const long broken = g_broken_from;
  if (broken >= 0 && offset >= broken) {
    errno = EIO;
    return -1;
  }
  iovec first = pieces[0];
  if (broken >= 0 && count == 1 && static_cast<long>(first.iov_len) > broken - offset) {
    first.iov_len = static_cast<std::size_t>(broken - offset);
    pieces = &first;
  }
  return call == SYS_preadv2 ? ::syscall(call, fd, pieces, count, offset, 0L, flags)
                             : ::syscall(call, fd, pieces, count, offset, 0L);
}

}  // namespace

extern "C" ssize_t preadv(int fd, const iovec* pieces, int count, off_t offset) {
  return read_until_broken(SYS_preadv, fd, pieces, count, offset, 0);
}
extern "C" ssize_t preadv2(int fd, const iovec* pieces, int count, off_t offset, int flags) {
  return read_until_broken(SYS_preadv2, fd, pieces, count, offset, flags);
}

namespace pyfastdl {
namespace {

TEST(DiskFailure, IsNamedWithTheFile) {
  TempTree tree;
  tree.file("x.jpg", std::string(10'000, 'x'));
  const std::string path = tree.at("x.jpg");
  ByteBuffer buffer;
  for (const long from : {0L, 4096L, 9999L}) {
    g_broken_from = from;
    const Status status = read_file(path, buffer);
    Status cached;
    const ReadOutcome outcome = read_cached(path, buffer, cached);
    g_broken_from = -1;
    EXPECT_EQ(status.code(), Errc::io);
    EXPECT_EQ(status.sys_errno(), EIO);
    EXPECT_NE(status.message().find("x.jpg"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("Input/output error"), std::string::npos) << status.message();
    if (outcome == ReadOutcome::failed) {
      EXPECT_EQ(cached.sys_errno(), EIO);
    }
    EXPECT_NE(outcome, ReadOutcome::done);
  }
  EXPECT_TRUE(read_file(path, buffer).ok());
  EXPECT_EQ(buffer.size(), 10'000u);
}

}  // namespace
}  // namespace pyfastdl
