#include "ring/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/status.h"

namespace pyfastdl {
namespace {

constexpr std::uint64_t kHugePage = 2u << 20;

[[noreturn]] void fail(std::uint64_t bytes, int error) {
  throw Error(Errc::out_of_memory,
              "could not map " + std::to_string(bytes) + " bytes of memory: " + std::strerror(error) +
                  "; a smaller batch or fewer batches ahead need less",
              error);
}

}  // namespace

Mapping::Mapping(std::byte* data, std::uint64_t size) : data_(data), size_(size), owner_(::getpid()) {}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      owner_(other.owner_) {}

Mapping::~Mapping() {
  if (data_ != nullptr && in_own_process()) ::munmap(data_, size_);
}

bool Mapping::in_own_process() const { return ::getpid() == owner_; }

Mapping Mapping::anonymous(std::uint64_t bytes) {
  const bool large = bytes >= kHugePage;
  // Room to begin at a huge page's boundary; what stands over is given back.
  const std::uint64_t room = large ? bytes + kHugePage : bytes;
  void* p = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) fail(bytes, errno);
  auto* data = static_cast<std::byte*>(p);
  if (!large) return Mapping(data, bytes);

  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(data) % kHugePage) % kHugePage;
  const std::uint64_t kept = (bytes + page - 1) / page * page;
  if (before > 0) ::munmap(data, before);
  if (before + kept < room) ::munmap(data + before + kept, room - before - kept);
  // Advice: without huge pages it is slower, not wrong.
  ::madvise(data + before, kept, MADV_HUGEPAGE);
  return Mapping(data + before, kept);
}

Mapping Mapping::of_file(int fd, std::uint64_t bytes) {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) fail(bytes, errno);
  return Mapping(static_cast<std::byte*>(p), bytes);
}

}  // namespace pyfastdl
