#include "source/path_table.h"

#include <functional>
#include <limits>

#include "base/status.h"
#include "base/text.h"

namespace pyfastdl {
namespace {

constexpr std::uint32_t kNoFolder = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kFirstBuckets = 64;

std::string_view between(const std::vector<char>& bytes, const std::vector<std::uint64_t>& ends,
                         std::size_t i) {
  const std::uint64_t begin = i == 0 ? 0 : ends[i - 1];
  return {bytes.data() + begin, static_cast<std::size_t>(ends[i] - begin)};
}

// Where a folder stands in a table of buckets, or the free place where it belongs.
template <class Equal>
std::uint32_t& bucket_of(std::vector<std::uint32_t>& buckets, std::string_view folder, const Equal& is_it) {
  const std::size_t mask = buckets.size() - 1;
  std::size_t at = std::hash<std::string_view>{}(folder)&mask;
  while (buckets[at] != kNoFolder && !is_it(buckets[at])) at = (at + 1) & mask;
  return buckets[at];
}

}  // namespace

std::string_view PathTable::folder(std::uint32_t id) const { return between(folders_, folder_ends_, id); }
std::string_view PathTable::name(std::size_t i) const { return between(names_, name_ends_, i); }

void PathTable::grow_buckets() {
  std::vector<std::uint32_t> larger(buckets_.empty() ? kFirstBuckets : buckets_.size() * 2, kNoFolder);
  for (std::uint32_t id = 0; id < folder_ends_.size(); ++id) {
    bucket_of(larger, folder(id), [](std::uint32_t) { return false; }) = id;
  }
  buckets_ = std::move(larger);
}

std::uint32_t PathTable::add_folder(std::string_view wanted) {
  // Lists mostly stay in a folder for a while.
  if (!folder_ends_.empty() && folder(last_folder_) == wanted) return last_folder_;
  if (2 * (folder_ends_.size() + 1) > buckets_.size()) grow_buckets();
  std::uint32_t& bucket = bucket_of(buckets_, wanted, [&](std::uint32_t id) { return folder(id) == wanted; });
  if (bucket == kNoFolder) {
    if (folder_ends_.size() >= kNoFolder) throw Error(Errc::limit, "more than 4,294,967,295 folders");
    folders_.insert(folders_.end(), wanted.begin(), wanted.end());
    folder_ends_.push_back(folders_.size());
    bucket = static_cast<std::uint32_t>(folder_ends_.size() - 1);
  }
  last_folder_ = bucket;
  return last_folder_;
}

void PathTable::append(std::uint32_t folder, std::string_view name) {
  names_.insert(names_.end(), name.begin(), name.end());
  path_folders_.push_back(folder);
  name_ends_.push_back(names_.size());
}

void PathTable::append(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) {
    throw Error(Errc::invalid_argument,
                "path " + std::to_string(size()) + " has an embedded null byte: " + quoted(path));
  }
  const std::size_t slash = path.rfind('/');
  const std::size_t split = slash == std::string_view::npos ? 0 : slash + 1;
  append(add_folder(path.substr(0, split)), path.substr(split));
}

void PathTable::append_packed(std::string_view arena, std::span<const std::int64_t> offsets) {
  if (offsets.empty())
    throw Error(Errc::invalid_argument, "offsets must hold one number more than there are paths");
  const std::size_t count = offsets.size() - 1;
  path_folders_.reserve(size() + count);
  name_ends_.reserve(size() + count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t begin = offsets[i];
    const std::int64_t end = offsets[i + 1];
    if (begin < 0 || end < begin || static_cast<std::uint64_t>(end) > arena.size()) {
      throw Error(Errc::invalid_argument, "offsets must rise from 0 to the arena's " +
                                              std::to_string(arena.size()) + " bytes; path " +
                                              std::to_string(i) + " is [" + std::to_string(begin) + ", " +
                                              std::to_string(end) + ")");
    }
    append(arena.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  }
}

void PathTable::finish() {
  names_.shrink_to_fit();
  name_ends_.shrink_to_fit();
  path_folders_.shrink_to_fit();
  folders_.shrink_to_fit();
  folder_ends_.shrink_to_fit();
  std::vector<std::uint32_t>().swap(buckets_);
}

std::string PathTable::path(std::size_t i) const {
  std::string out;
  path(i, out);
  return out;
}

void PathTable::path(std::size_t i, std::string& out) const {
  out.assign(folder(path_folders_[i]));
  out.append(name(i));
}

std::size_t PathTable::memory_bytes() const {
  return names_.capacity() + folders_.capacity() +
         sizeof(std::uint64_t) * (name_ends_.capacity() + folder_ends_.capacity()) +
         sizeof(std::uint32_t) * (path_folders_.capacity() + buckets_.capacity());
}

}  // namespace pyfastdl
