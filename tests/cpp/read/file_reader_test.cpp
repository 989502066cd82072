#include "read/file_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "base/unique_fd.h"
#include "other_user.h"
#include "read/open_cached.h"
#include "temp_tree.h"

namespace pyfastdl {
namespace {

std::string_view text(const ByteBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

bool has(const std::string& whole, const std::string& part) { return whole.find(part) != std::string::npos; }

// Every failure must be the same from both calls, unless the cached one leaves it to the other.
Status failure_of(const std::string& path, std::uint64_t max_bytes = kMaxFileBytes) {
  ByteBuffer buffer;
  Status blocking = read_file(path, buffer, max_bytes);
  Status cached;
  const ReadOutcome outcome = read_cached(path, buffer, cached, max_bytes);
  EXPECT_NE(outcome, ReadOutcome::done) << path;
  if (outcome == ReadOutcome::failed) {
    EXPECT_EQ(cached.code(), blocking.code());
    EXPECT_EQ(cached.sys_errno(), blocking.sys_errno());
    EXPECT_EQ(cached.message(), blocking.message());
  }
  EXPECT_TRUE(has(blocking.message(), "cannot read '" + path + "': ")) << blocking.message();
  return blocking;
}

TEST(ReadFile, ReadsFilesOfAnySize) {
  const TempTree tree;
  ByteBuffer buffer;
  for (const std::size_t size : {0, 1, 4095, 4096, 4097, 1000000, 3}) {
    std::string contents(size, '\0');
    for (std::size_t i = 0; i < size; ++i) contents[i] = static_cast<char>(i * 31 + i / 256);
    const std::string path = tree.file("x.jpg", contents);
    ASSERT_TRUE(read_file(path, buffer).ok());
    EXPECT_EQ(text(buffer), contents);
    // Just read: in the cache, unless the file system never says so.
    Status status;
    buffer.resize(0);
    const ReadOutcome outcome = read_cached(path, buffer, status);
    ASSERT_NE(outcome, ReadOutcome::failed) << status.message();
    if (outcome == ReadOutcome::done) {
      EXPECT_EQ(text(buffer), contents);
    }
  }
}

TEST(ReadCached, ReadsFilesInMemory) {
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm to write to";
  const TempTree tree("/dev/shm");
  const std::string path = tree.file("x.jpg", std::string(300000, 'm'));
  ByteBuffer buffer;
  Status status;
  ASSERT_EQ(read_cached(path, buffer, status), ReadOutcome::done) << status.message();
  EXPECT_EQ(text(buffer), std::string(300000, 'm'));
}

TEST(ReadCached, LeavesToTheReadersWhatIsNotInTheCache) {
  const TempTree tree;
  const std::string contents(1 << 20, 'c');
  const std::string path = tree.file("x.jpg", contents);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::fsync(fd.get()), 0);
  ASSERT_EQ(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  ByteBuffer buffer;
  Status status;
  // Whether the advice was taken is the kernel's choice: never a wrong result.
  const ReadOutcome outcome = read_cached(path, buffer, status);
  ASSERT_NE(outcome, ReadOutcome::failed) << status.message();
  if (outcome == ReadOutcome::done) {
    EXPECT_EQ(text(buffer), contents);
  }
  ASSERT_TRUE(read_file(path, buffer).ok());
  EXPECT_EQ(text(buffer), contents);
}

TEST(ReadFile, NamesWhatCannotBeOpened) {
  const TempTree tree;
  const Status missing = failure_of(tree.at("missing.jpg"));
  EXPECT_EQ(missing.code(), Errc::not_found);
  EXPECT_EQ(missing.sys_errno(), ENOENT);
  EXPECT_TRUE(has(missing.message(), "No such file or directory (was it moved")) << missing.message();

  const Status dangling = failure_of(tree.link("dangling.jpg", "nowhere"));
  EXPECT_EQ(dangling.code(), Errc::not_found);
  EXPECT_TRUE(has(dangling.message(), "it is a link to something that does not exist")) << dangling.message();

  EXPECT_EQ(failure_of(tree.link("self.jpg", "self.jpg")).sys_errno(), ELOOP);
  EXPECT_EQ(failure_of(tree.file("file") + "/x.jpg").sys_errno(), ENOTDIR);
  EXPECT_EQ(failure_of(tree.at(std::string(300, 'n'))).sys_errno(), ENAMETOOLONG);
  EXPECT_EQ(failure_of("").sys_errno(), ENOENT);
}

TEST(ReadFile, NamesWhatIsNoFile) {
  const TempTree tree;
  const auto kind = [](const std::string& path) {
    const Status status = failure_of(path);
    EXPECT_EQ(status.code(), Errc::bad_data) << status.message();
    return status.message().substr(status.message().rfind(": ") + 2);
  };
  EXPECT_EQ(kind(tree.folder("folder.jpg")), "it is a folder, not a file");
  EXPECT_EQ(kind("/dev/null"), "it is a character device, not a file");
  // Waiting for a writer would never end; the alarm would.
  ::alarm(20);
  EXPECT_EQ(kind(tree.fifo("fifo.jpg")), "it is a named pipe (FIFO), not a file");
  ::alarm(0);

  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = tree.at("s.jpg");
  if (path.size() >= sizeof address.sun_path)
    GTEST_SKIP() << "the temporary folder's path is too long for a socket";
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(kind(path), "it is a socket, not a file");
}

TEST(ReadFile, NamesMissingPermission) {
  const TempTree tree;
  ::chmod(tree.root().c_str(), 0755);
  const std::string path = tree.file("x.jpg");
  ::chmod(path.c_str(), 0);
  const OtherUser user;
  const Status status = failure_of(path);
  EXPECT_EQ(status.code(), Errc::io);
  EXPECT_EQ(status.sys_errno(), EACCES);
  EXPECT_TRUE(has(status.message(), "Permission denied")) << status.message();
}

TEST(ReadFile, KeepsTheLimitBeforeTakingMemory) {
  const TempTree tree;
  const std::string path = tree.file("x.jpg", "12345");
  ByteBuffer buffer;
  EXPECT_TRUE(read_file(path, buffer, 5).ok());
  const Status status = failure_of(path, 4);
  EXPECT_EQ(status.code(), Errc::limit);
  EXPECT_TRUE(has(status.message(), "5 bytes, more than the limit of 4")) << status.message();

  // A sparse file of a terabyte.
  const std::string huge = tree.file("huge.jpg");
  ASSERT_EQ(::truncate(huge.c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(failure_of(huge).code(), Errc::limit);
  EXPECT_LE(buffer.capacity(), 4096u);
}

TEST(ReadFile, PutsAnyNameIntoTheMessage) {
  const TempTree tree;
  ByteBuffer buffer;
  EXPECT_TRUE(has(read_file(tree.at("\xff\n.jpg"), buffer).message(), "\\xff\\x0a.jpg'"));
}

TEST(ReadFile, AllocatesNothingOnceWarm) {
  const TempTree tree;
  const std::string large = tree.file("large.jpg", std::string(100000, 'a'));
  const std::string small = tree.file("small.jpg", "b");
  ByteBuffer buffer;
  ASSERT_TRUE(read_file(large, buffer).ok());
  const std::uint8_t* memory = buffer.data();
  ASSERT_TRUE(read_file(small, buffer).ok());
  ASSERT_TRUE(read_file(large, buffer).ok());
  EXPECT_EQ(buffer.data(), memory);
}

// A file that is cut and grown while it is read: a length that it had, and nothing faults. Of the bytes only so much is
// sure that they are the file's or zero: the kernel clears what is cut off under a reader that is copying it.
TEST(ReadFile, SurvivesAFileThatChangesMeanwhile) {
  const TempTree tree;
  constexpr off_t kMost = 1 << 20;
  const std::string path = tree.file("x.jpg", std::string(kMost, 'x'));
  std::atomic<bool> stop{false};
  std::jthread writer([&] {
    const std::string full(kMost, 'x');
    while (!stop.load()) {
      EXPECT_EQ(::truncate(path.c_str(), 10), 0);
      const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
      EXPECT_EQ(::pwrite(fd.get(), full.data(), full.size(), 0), kMost);
    }
  });
  ByteBuffer buffer;
  Status status;
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(read_file(path, buffer).ok());
    EXPECT_LE(buffer.size(), static_cast<std::size_t>(kMost));
    EXPECT_GE(buffer.size(), 10u);
    EXPECT_EQ(text(buffer).find_first_not_of(std::string_view("x\0", 2)), std::string_view::npos);
    EXPECT_NE(read_cached(path, buffer, status), ReadOutcome::failed);
  }
  stop.store(true);
}

TEST(ReadFile, WaitsForALease) {
  const TempTree tree;
  const std::string path = tree.file("x.jpg", "leased");
  const UniqueFd holder(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  // The kernel tells the holder by SIGIO; here a thread waits for the signal and gives the lease back.
  sigset_t wanted, before;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGIO);
  pthread_sigmask(SIG_BLOCK, &wanted, &before);
  if (::fcntl(holder.get(), F_SETLEASE, F_WRLCK) != 0) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    GTEST_SKIP() << "this file system gives no leases";
  }
  ByteBuffer cached;
  Status status;
  EXPECT_EQ(read_cached(path, cached, status), ReadOutcome::would_block);
  std::thread giver([&] {
    int signal = 0;
    ::sigwait(&wanted, &signal);
    // Long enough for read_file to find the lease still held; right either way.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::fcntl(holder.get(), F_SETLEASE, F_UNLCK);
  });
  ByteBuffer buffer;
  const Status read = read_file(path, buffer);
  giver.join();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(text(buffer), "leased");
}

TEST(OpenCached, OpensWhatTheKernelKnows) {
  const TempTree tree;
  const std::string path = tree.file("x.jpg");
  const UniqueFd fd = open_cached(path, O_RDONLY | O_CLOEXEC);
  EXPECT_TRUE(fd || errno == EAGAIN) << errno;
}

}  // namespace
}  // namespace pyfastdl
