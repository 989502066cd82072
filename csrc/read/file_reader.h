// Whole files into memory, in two calls: one that never waits for the disk, and one that does.
//
// A decode thread tries read_cached() first: what the page cache has costs no hand-over. What it doesn't have goes
// to a reader thread, which calls read_file(). Files are read, never mapped: a file that shrinks meanwhile gives
// the bytes that are left, not SIGBUS; one that grows gives the size that was seen first.
//
// Any thread may call them, with a buffer of its own; once the buffer is warm nothing is allocated but for
// failures. Only regular files are read: a FIFO, a folder or a device is refused by name, without waiting for it.
#pragma once

#include <cstdint>
#include <string>

#include "base/byte_buffer.h"
#include "base/status.h"

namespace pyfastdl {

// Far above any photograph; a bound against a file that grew by accident, checked before memory is taken.
inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{4} << 30;

enum class ReadOutcome {
  done,         // the buffer holds the file
  would_block,  // the disk would be needed, or the file system can't tell: call read_file
  failed,       // `status` says why
};

// Never waits for the disk where the kernel has openat2 with RESOLVE_CACHED (Linux 5.12); on older ones looking
// up the path may, reading never does. The buffer's contents are undefined unless done.
ReadOutcome read_cached(const std::string& path, ByteBuffer& buffer, Status& status,
                        std::uint64_t max_bytes = kMaxFileBytes);

// Blocks on the disk until the file is read or the disk fails.
Status read_file(const std::string& path, ByteBuffer& buffer, std::uint64_t max_bytes = kMaxFileBytes);

}  // namespace pyfastdl
