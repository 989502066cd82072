#include "read/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstddef>
#include <new>

#include "base/text.h"
#include "base/unique_fd.h"
#include "read/open_cached.h"

namespace pyfastdl {
namespace {

// O_NONBLOCK: opening a FIFO does not wait for its writer. It changes nothing for regular files.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

// From linux/magic.h. Their files are memory; reading them waits for nothing (but swap).
constexpr long kTmpfsMagic = 0x01021994;
constexpr long kRamfsMagic = 0x858458f6;

Status failure(const std::string& path, int sys_errno) {
  std::string why = errno_text(sys_errno);
  if (sys_errno == ENOENT) {
    struct stat info;
    const bool is_link = ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
    why += is_link ? " (it is a link to something that does not exist)"
                   : " (was it moved or deleted since it was listed?)";
  }
  return {sys_errno == ENOENT ? Errc::not_found : Errc::io, "cannot read " + quoted(path) + ": " + why,
          sys_errno};
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a named pipe (FIFO)";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISBLK(mode)) return "a block device";
  return "no regular file";
}

Status not_a_file(const std::string& path, mode_t mode) {
  return {Errc::bad_data, "cannot read " + quoted(path) + ": it is " + kind_of(mode) + ", not a file"};
}

Status open_failure(const std::string& path, int sys_errno) {
  // Opening a socket gives "No such device or address", which names nothing that a user could look for.
  struct stat info;
  if (sys_errno == ENXIO && ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return not_a_file(path, info.st_mode);
  }
  return failure(path, sys_errno);
}

// Makes room for the file behind `fd`, or says why it is not read.
Status prepare(int fd, const std::string& path, ByteBuffer& buffer, std::uint64_t max_bytes) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return failure(path, errno);
  if (!S_ISREG(info.st_mode)) return not_a_file(path, info.st_mode);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > max_bytes) {
    return {Errc::limit, "cannot read " + quoted(path) + ": it has " + std::to_string(size) +
                             " bytes, more than the limit of " + std::to_string(max_bytes)};
  }
  try {
    buffer.resize(static_cast<std::size_t>(size));
  } catch (const std::bad_alloc&) {
    return {Errc::out_of_memory,
            "cannot read " + quoted(path) + ": no memory for its " + std::to_string(size) + " bytes"};
  }
  return Status::success();
}

// Fills the buffer from the file's start. Returns 0, with the buffer cut to what was there, or an errno.
int fill(int fd, ByteBuffer& buffer, int flags) {
  std::size_t got = 0;
  while (got < buffer.size()) {
    const iovec rest{buffer.data() + got, buffer.size() - got};
    const auto offset = static_cast<off_t>(got);
    const ssize_t count =
        flags == 0 ? ::preadv(fd, &rest, 1, offset) : ::preadv2(fd, &rest, 1, offset, flags);
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    got += static_cast<std::size_t>(count);
  }
  buffer.resize(got);
  return 0;
}

bool is_memory(int fd) {
  struct statfs info;
  if (::fstatfs(fd, &info) != 0) return false;
  const auto type = static_cast<long>(info.f_type);
  return type == kTmpfsMagic || type == kRamfsMagic;
}

UniqueFd open_blocking(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), kOpenFlags));
  if (fd || errno != EAGAIN) return fd;
  // Another process holds a lease on the file (fcntl(2), F_SETLEASE; file servers do): without O_NONBLOCK the kernel
  // asks for it back and waits.
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return fd;
  if (!S_ISREG(info.st_mode)) {
    errno = EAGAIN;
    return fd;
  }
  return UniqueFd(::open(path.c_str(), kOpenFlags & ~O_NONBLOCK));
}

}  // namespace

ReadOutcome read_cached(const std::string& path, ByteBuffer& buffer, Status& status,
                        std::uint64_t max_bytes) {
  const UniqueFd fd = open_cached(path, kOpenFlags);
  if (!fd && errno == EAGAIN) return ReadOutcome::would_block;
  status = fd ? prepare(fd.get(), path, buffer, max_bytes) : open_failure(path, errno);
  if (!status.ok()) return ReadOutcome::failed;
  int failed = fill(fd.get(), buffer, RWF_NOWAIT);
  if (failed == EAGAIN) return ReadOutcome::would_block;
  if (failed == EOPNOTSUPP || failed == EINVAL || failed == ENOSYS) {
    if (!is_memory(fd.get())) return ReadOutcome::would_block;
    failed = fill(fd.get(), buffer, 0);
  }
  if (failed == 0) return ReadOutcome::done;
  status = failure(path, failed);
  return ReadOutcome::failed;
}

Status read_file(const std::string& path, ByteBuffer& buffer, std::uint64_t max_bytes) {
  const UniqueFd fd = open_blocking(path);
  if (!fd) return open_failure(path, errno);
  Status status = prepare(fd.get(), path, buffer, max_bytes);
  if (!status.ok()) return status;
  const int failed = fill(fd.get(), buffer, 0);
  return failed == 0 ? Status::success() : failure(path, failed);
}

}  // namespace pyfastdl
