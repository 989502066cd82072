// Mapping: owns a range of mapped memory.
//
// It belongs to the process that made it. In a forked child the destructor does nothing: there the range may
// be missing (MADV_DONTFORK) and in use for something else.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace pyfastdl {

class Mapping {
 public:
  // Zeroed memory that a forked child doesn't share; on huge pages where the system has them and it pays.
  // Throws Error(out_of_memory).
  static Mapping anonymous(std::uint64_t bytes);

  // The first `bytes` bytes of a file, shared with every process that maps it. Throws Error.
  static Mapping of_file(int fd, std::uint64_t bytes);

  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();

  std::byte* data() const { return data_; }
  std::uint64_t size() const { return size_; }
  // False in a forked child of the process that made it.
  bool in_own_process() const;

 private:
  Mapping(std::byte* data, std::uint64_t size);

  std::byte* data_;
  std::uint64_t size_;
  pid_t owner_;
};

}  // namespace pyfastdl
