#include "ring/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "base/status.h"
#include "ring/process.h"

namespace pyfastdl {
namespace {

// Reserved piece by piece, so that a timer's signals can interrupt a piece but not the whole for ever.
constexpr std::uint64_t kReserveBytes = 32u << 20;

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

[[noreturn]] void fail_creation(std::uint64_t bytes, int error) {
  const bool room = error == ENOSPC || error == ENOMEM;
  throw Error(room ? Errc::out_of_memory : Errc::io,
              "could not create a shared ring of " + std::to_string(bytes) + " bytes: " +
                  std::strerror(error) + (room ? "; a smaller batch or fewer batches ahead need less" : ""),
              error);
}

[[noreturn]] void refuse(const std::string& why) {
  throw Error(Errc::invalid_argument,
              "can't attach to a ring: " + why +
                  "; give the descriptor of a shared ring made by this version of pyfastdl");
}

SegmentIdentity read_identity(int fd, std::uint64_t file_bytes) {
  SegmentIdentity identity;
  if (file_bytes < sizeof(SegmentHeader)) {
    refuse("the file has " + std::to_string(file_bytes) + " bytes, a ring's header alone " +
           std::to_string(sizeof(SegmentHeader)));
  }
  const ssize_t got = ::pread(fd, &identity, sizeof(identity), 0);
  if (got != static_cast<ssize_t>(sizeof(identity))) refuse("its header could not be read");
  if (identity.magic != kRingMagic) refuse("the file doesn't begin as a ring does");
  if (identity.version != kRingVersion) {
    refuse("it has format version " + std::to_string(identity.version) + ", not " +
           std::to_string(kRingVersion));
  }
  if (identity.field_count > kMaxFields) refuse("its header is damaged");
  return identity;
}

RingSpec spec_of(const SegmentIdentity& identity) {
  RingSpec spec;
  spec.slots = identity.slots;
  spec.cells_per_slot = identity.cells_per_slot;
  for (std::uint32_t i = 0; i < identity.field_count; ++i)
    spec.fields.push_back({identity.bytes_per_cell[i]});
  return spec;
}

}  // namespace

Segment::Segment(RingLayout layout, Mapping mapping, bool shared, UniqueFd fd)
    : layout_(std::move(layout)), mapping_(std::move(mapping)), shared_(shared), fd_(std::move(fd)) {}

void Segment::initialise() {
  auto* header = new (mapping_.data()) SegmentHeader{};
  for (std::uint32_t s = 0; s < spec().slots; ++s) {
    new (&order(s)) std::atomic<std::uint64_t>(0);
    new (&slot(s)) SlotHeader{};
    for (std::uint32_t c = 0; c < spec().cells_per_slot; ++c) new (&cell(s, c)) CellHeader{};
  }
  SegmentIdentity& identity = header->identity;
  identity.field_count = static_cast<std::uint32_t>(spec().fields.size());
  identity.total_bytes = layout_.total_bytes;
  identity.slots = spec().slots;
  identity.cells_per_slot = spec().cells_per_slot;
  for (std::size_t i = 0; i < spec().fields.size(); ++i)
    identity.bytes_per_cell[i] = spec().fields[i].bytes_per_cell;
  identity.owner = this_process().pack();
}

std::shared_ptr<Segment> Segment::create_private(const RingSpec& spec) {
  RingLayout layout = RingLayout::of(spec);
  Mapping mapping = Mapping::anonymous(layout.total_bytes);
  std::shared_ptr<Segment> segment(new Segment(std::move(layout), std::move(mapping), false, UniqueFd()));
  segment->initialise();
  return segment;
}

UniqueFd Segment::reserve_shared() {
  UniqueFd fd(::memfd_create("pyfastdl-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) fail_creation(0, errno);
  return fd;
}

std::shared_ptr<Segment> Segment::create_shared(const RingSpec& spec) {
  return create_shared_in(reserve_shared().get(), spec);
}

std::shared_ptr<Segment> Segment::create_shared_in(int reserved, const RingSpec& spec) {
  RingLayout layout = RingLayout::of(spec);
  const std::uint64_t bytes = layout.total_bytes;
  UniqueFd fd(::fcntl(reserved, F_DUPFD_CLOEXEC, 0));
  if (!fd) fail_creation(bytes, errno);
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t piece = std::min(kReserveBytes, bytes - done);
    if (::fallocate(fd.get(), 0, static_cast<off_t>(done), static_cast<off_t>(piece)) == 0) {
      done += piece;
    } else if (errno != EINTR) {
      fail_creation(bytes, errno);
    }
  }
  Mapping mapping = Mapping::of_file(fd.get(), bytes);
  const int file = fd.get();
  std::shared_ptr<Segment> segment(new Segment(std::move(layout), std::move(mapping), true, std::move(fd)));
  segment->initialise();
  // Last: the seals are what tells others that the segment is whole.
  if (::fcntl(file, F_ADD_SEALS, kSeals) != 0) fail_creation(bytes, errno);
  return segment;
}

bool Segment::is_complete(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals;
}

std::shared_ptr<Segment> Segment::attach(int fd) {
  struct stat st = {};
  if (::fstat(fd, &st) != 0) refuse("descriptor " + std::to_string(fd) + ": " + std::strerror(errno));
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) refuse("the file isn't a sealed memfd");
  const auto file_bytes = static_cast<std::uint64_t>(st.st_size);
  const SegmentIdentity identity = read_identity(fd, file_bytes);

  RingLayout layout;
  try {
    layout = RingLayout::of(spec_of(identity));
  } catch (const Error& error) {
    refuse(std::string("its header is damaged (") + error.what() + ")");
  }
  if (layout.total_bytes != identity.total_bytes || layout.total_bytes != file_bytes) {
    refuse("its sizes don't fit: " + std::to_string(layout.total_bytes) +
           " bytes by its numbers of slots and cells, " + std::to_string(identity.total_bytes) +
           " by its header, " + std::to_string(file_bytes) + " in the file");
  }
  Mapping mapping = Mapping::of_file(fd, file_bytes);
  return std::shared_ptr<Segment>(new Segment(std::move(layout), std::move(mapping), true, UniqueFd()));
}

}  // namespace pyfastdl
