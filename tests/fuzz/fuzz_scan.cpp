// An input is a tree of folders, files, links and FIFOs with names of any bytes: it is made, scanned and removed.
#include <fcntl.h>
#include <fuzzer/FuzzedDataProvider.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "source/folder_scan.h"
#include "target.h"
#include "temp_tree.h"

namespace pyfastdl::fuzzing {
namespace {

constexpr int kMostEntries = 60;
constexpr std::size_t kLongestName = 255;  // NAME_MAX of common file systems

struct Interrupt {};

// Of this process, in the system's temporary folder; filled for each input and emptied after it.
const std::string& root() {
  static const TempTree tree;
  static const std::string path = tree.root();
  return path;
}

void clear_root() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root(), ignored)) {
    std::filesystem::remove_all(entry.path(), ignored);
  }
}

std::string name_from(FuzzedDataProvider& bytes) {
  static constexpr const char* kSuffixes[] = {"", ".jpg", ".PNG", ".tiff", ".txt"};
  static constexpr const char* kPrefixes[] = {"", "", ".", "._"};
  static constexpr const char* kKnown[] = {"__MACOSX", "Thumbs.db", ".DS_Store", ".ipynb_checkpoints"};
  if (bytes.ConsumeProbability<float>() < 0.05f) return bytes.PickValueInArray(kKnown);
  std::string name = bytes.PickValueInArray(kPrefixes);
  name += bytes.ConsumeRandomLengthString(kLongestName);
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace(name.begin(), name.end(), '\0', '0');
  const std::string suffix = bytes.PickValueInArray(kSuffixes);
  name.resize(std::min(name.size(), kLongestName - suffix.size()));
  return name + suffix;  // may be empty, "." or "..": making it fails, and nothing is there
}

void make_tree(FuzzedDataProvider& bytes) {
  std::vector<std::string> folders = {root()};
  for (int i = 0; i < kMostEntries && bytes.remaining_bytes() > 0; ++i) {
    const std::string& parent = folders[bytes.ConsumeIntegralInRange<std::size_t>(0, folders.size() - 1)];
    const std::string path = parent + '/' + name_from(bytes);
    switch (bytes.ConsumeIntegralInRange(0, 6)) {
      case 0:
      case 1:
      case 2:
        if (::mkdir(path.c_str(), 0755) == 0) folders.push_back(path);
        break;
      case 3:
      case 4: {
        const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd >= 0) ::close(fd);
        break;
      }
      case 5: {  // to a folder that is there (perhaps an ancestor), or to anything
        const std::string to = bytes.ConsumeBool()
                                   ? folders[bytes.ConsumeIntegralInRange<std::size_t>(0, folders.size() - 1)]
                                   : name_from(bytes);
        (void)!::symlink(to.c_str(), path.c_str());
        break;
      }
      default:
        (void)::mkfifo(path.c_str(), 0644);
    }
  }
}

void expect_words(const std::string& text) {
  expect(!text.empty());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_fs(text, at);
    expect(!(c.value >= 0xDC80 && c.value <= 0xDCFF));
    at += c.length;
  }
}

void expect_sound(const FolderScan& found, bool allow_empty) {
  expect(found.class_starts.size() == found.classes.size() + 1);
  expect(found.class_starts.front() == 0 && found.class_starts.back() == found.paths.size());
  expect(std::is_sorted(found.classes.begin(), found.classes.end(), fs_less));
  for (std::size_t c = 0; c < found.classes.size(); ++c) {
    expect(found.class_starts[c] + (allow_empty ? 0 : 1) <= found.class_starts[c + 1]);
    const std::string prefix = root() + '/' + found.classes[c] + '/';
    for (std::uint64_t i = found.class_starts[c]; i < found.class_starts[c + 1]; ++i) {
      const std::string path = found.paths.path(i);
      expect(path.compare(0, prefix.size(), prefix) == 0);
      struct stat info;
      if (::stat(path.c_str(), &info) == 0) expect(!S_ISDIR(info.st_mode));
    }
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < found.paths.size(); ++i) expect(seen.insert(found.paths.path(i)).second);
  for (const std::string& note : found.notes) expect_words(note);
}

}  // namespace

void run_input(std::span<const std::uint8_t> input) {
  FuzzedDataProvider bytes(input.data(), input.size());
  ScanOptions options;
  options.ignore_hidden = bytes.ConsumeBool();
  options.allow_empty = bytes.ConsumeBool();
  if (bytes.ConsumeProbability<float>() < 0.05f) options.poll = [] { throw Interrupt(); };
  make_tree(bytes);
  try {
    expect_sound(scan_folder(root(), options), options.allow_empty);
  } catch (const Error& error) {
    expect_words(error.what());
  } catch (const Interrupt&) {
  }
  clear_root();
}

}  // namespace pyfastdl::fuzzing
