// ProcessTag: names a process for good, as a PID alone does not (it is used again).
//
// Threads: any. Nothing blocks but reads of /proc.
#pragma once

#include <cstdint>

namespace pyfastdl {

struct ProcessTag {
  std::uint32_t pid = 0;
  // When it started, in clock ticks since boot, lower 32 bits; 0 where /proc doesn't say.
  std::uint32_t start = 0;

  // One word, so that a process enters a table in one store. Never 0 for a process.
  std::uint64_t pack() const { return std::uint64_t{pid} << 32 | start; }
  static ProcessTag unpack(std::uint64_t w) {
    return {static_cast<std::uint32_t>(w >> 32), static_cast<std::uint32_t>(w)};
  }
  friend bool operator==(const ProcessTag&, const ProcessTag&) = default;
};

ProcessTag this_process();

// False only when it is certain that the process runs no more code: it is gone, a zombie without threads, or
// its PID belongs to another one now.
bool process_alive(const ProcessTag& process);

}  // namespace pyfastdl
