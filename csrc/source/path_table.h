// PathTable: millions of paths as bytes in one arena.
//
// The folder part (up to and including the last '/') is kept once and shared; a path costs its name and 12 bytes.
// Built by one thread (append…, then finish()); from then on constant, and read by any number of threads. It
// owns its memory; nothing blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pyfastdl {

class PathTable {
 public:
  // A folder's number. `folder` ends in '/', or is empty. The same folder gives the same number.
  std::uint32_t add_folder(std::string_view folder);

  // `name` holds no '/'; `folder` came from add_folder.
  void append(std::uint32_t folder, std::string_view name);

  // Throws Error (Errc::invalid_argument) for a path with a NUL byte, which no system call can take.
  void append(std::string_view path);

  // Path i is arena[offsets[i], offsets[i + 1]). Throws Error (Errc::invalid_argument) as above, and when the
  // offsets do not rise within the arena.
  void append_packed(std::string_view arena, std::span<const std::int64_t> offsets);

  // Gives back what only building needs. Nothing may be appended later.
  void finish();

  std::size_t size() const { return name_ends_.size(); }
  bool empty() const { return name_ends_.empty(); }

  // REQUIRES: i < size().
  std::string path(std::size_t i) const;
  // Into a string that the caller uses again: no allocation once it is long enough.
  void path(std::size_t i, std::string& out) const;

  std::size_t memory_bytes() const;

 private:
  std::string_view folder(std::uint32_t id) const;
  std::string_view name(std::size_t i) const;
  void grow_buckets();

  std::vector<char> names_;
  std::vector<std::uint64_t> name_ends_;     // in names_, one a path
  std::vector<std::uint32_t> path_folders_;  // one a path
  std::vector<char> folders_;
  std::vector<std::uint64_t> folder_ends_;  // in folders_, one a folder

  // Folder numbers by hash, open addressing; kNoFolder where free. Empty after finish().
  std::vector<std::uint32_t> buckets_;
  std::uint32_t last_folder_ = 0;
};

}  // namespace pyfastdl
