#include "source/folder_scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "source/scan_notes.h"

namespace pyfastdl {
namespace {

constexpr std::array<std::string_view, 9> kSuffixes = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                                       ".pgm", ".tif",  ".tiff", ".webp"};

// Enough work to hide what a poll costs, little enough for Ctrl-C on a slow disk.
constexpr std::size_t kEntriesPerPoll = 4096;

char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// ASCII rules are enough: no other letter's lower case is one of those in the suffixes.
bool has_image_suffix(std::string_view name) {
  return std::any_of(kSuffixes.begin(), kSuffixes.end(), [&](std::string_view suffix) {
    return name.size() >= suffix.size() &&
           std::equal(suffix.begin(), suffix.end(), name.end() - static_cast<std::ptrdiff_t>(suffix.size()),
                      [](char want, char got) { return want == ascii_lower(got); });
  });
}

bool is_system_file(std::string_view name) {
  return name == "Thumbs.db" || name == ".DS_Store" || name == "desktop.ini";
}

std::string joined(std::string_view folder, std::string_view name) {
  std::string path(folder);
  if (path.empty() || path.back() != '/') path += '/';
  return path.append(name);
}

// Conditions of the tree itself, which torchvision passes over in silence. Anything else (EMFILE, EIO, ESTALE…)
// would lose files that are there.
bool is_the_trees_own(int sys_errno) {
  return sys_errno == EACCES || sys_errno == ENOENT || sys_errno == ENOTDIR || sys_errno == ELOOP ||
         sys_errno == ENAMETOOLONG;
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using OpenDir = std::unique_ptr<DIR, CloseDir>;

// Names in one arena: a folder of a million files makes two allocations grow, not a million strings.
class NameList {
 public:
  void add(std::string_view name) {
    spans_.push_back({bytes_.size(), static_cast<std::uint32_t>(name.size())});
    bytes_.insert(bytes_.end(), name.begin(), name.end());
  }
  void clear() {
    spans_.clear();
    bytes_.clear();
  }
  std::size_t size() const { return spans_.size(); }
  std::string_view operator[](std::size_t i) const { return view(spans_[i]); }
  void sort() {
    std::sort(spans_.begin(), spans_.end(), [&](Span a, Span b) { return fs_less(view(a), view(b)); });
  }

 private:
  struct Span {
    std::size_t begin;
    std::uint32_t length;
  };
  std::string_view view(Span span) const { return {bytes_.data() + span.begin, span.length}; }

  std::vector<char> bytes_;
  std::vector<Span> spans_;
};

class Scanner {
 public:
  Scanner(const std::string& root, const ScanOptions& options) : root_(root), options_(options) {}

  FolderScan run();
  ImageList run_unlabelled();

 private:
  static constexpr std::size_t kNoParent = static_cast<std::size_t>(-1);

  // A folder of the class at hand. Its files wait in files_ until all folders are known and sorted.
  struct Folder {
    std::string path;
    std::size_t parent;
    dev_t device = 0;
    ino_t inode = 0;
    NameList files = {};
  };

  int open_folder(const std::string& path, OpenDir& dir, struct stat& info) const;
  void read_entries(DIR* dir, const std::string& path, NameList& folders, NameList& files);
  bool leads_to_folder(DIR* dir, const dirent& entry) const;
  bool leave_out(const std::string& path, std::string_view name, bool is_folder);
  void refuse_null_bytes() const;
  void read_root();
  void scan_class(const std::string& class_path);
  void read_class_folder(std::size_t number);
  bool is_own_ancestor(const Folder& folder) const;
  void refuse_empty_classes() const;
  std::string notes_behind(std::string message) const;
  [[noreturn]] static void fail(int sys_errno, const std::string& path, std::string_view advice);

  const std::string& root_;
  const ScanOptions& options_;
  FolderScan result_;
  ScanNotes notes_;
  struct stat root_info_{};
  std::size_t loose_images_ = 0;  // image files beside the class folders
  std::vector<Folder> folders_;
  std::size_t entries_ = 0;
};

void Scanner::fail(int sys_errno, const std::string& path, std::string_view advice) {
  const Errc code = sys_errno == ENOENT ? Errc::not_found : Errc::io;
  throw Error(code, errno_text(sys_errno) + ": " + quoted(path) + ". " + std::string(advice), sys_errno);
}

// The errno, or 0.
int Scanner::open_folder(const std::string& path, OpenDir& dir, struct stat& info) const {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
  if (!fd || ::fstat(fd.get(), &info) != 0) return errno;
  dir.reset(::fdopendir(fd.get()));
  if (dir == nullptr) return errno;
  (void)fd.release();
  return 0;
}

bool Scanner::leads_to_folder(DIR* dir, const dirent& entry) const {
  if (entry.d_type == DT_DIR) return true;
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return false;
  struct stat info;
  // A link that leads nowhere counts as a file, as with os.walk: reading it will say what is wrong.
  return ::fstatat(::dirfd(dir), entry.d_name, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

bool Scanner::leave_out(const std::string& path, std::string_view name, bool is_folder) {
  if (!options_.ignore_hidden) return false;
  const auto note = [&](Left kind) {
    notes_.add(kind, joined(path, name));
    return true;
  };
  if (is_folder) {
    if (name == "__MACOSX") return note(Left::macos_folder);
    return name.front() == '.' && note(Left::hidden_folder);
  }
  if (is_system_file(name)) return note(Left::system_file);
  return name.substr(0, 2) == "._" && note(Left::macos_file);
}

void Scanner::read_entries(DIR* dir, const std::string& path, NameList& folders, NameList& files) {
  for (;;) {
    if (options_.poll && entries_++ % kEntriesPerPoll == 0) options_.poll();
    errno = 0;
    const dirent* entry = ::readdir(dir);
    if (entry == nullptr) break;
    const std::string_view name(entry->d_name);
    if (name == "." || name == "..") continue;
    const bool is_folder = leads_to_folder(dir, *entry);
    if (leave_out(path, name, is_folder)) continue;
    if (is_folder) {
      folders.add(name);
    } else if (has_image_suffix(name)) {
      files.add(name);
    }
  }
  if (errno != 0) fail(errno, path, "The folder could not be read to its end.");
}

void Scanner::read_root() {
  OpenDir dir;
  const int failed = open_folder(root_, dir, root_info_);
  if (failed != 0) {
    fail(failed, root_,
         failed == ENOTDIR
             ? "A dataset is a folder that holds one folder per class; put single files into a list."
             : "Give a folder that holds one folder per class.");
  }
  NameList classes;
  NameList loose;
  read_entries(dir.get(), root_, classes, loose);
  loose_images_ = loose.size();
  classes.sort();
  for (std::size_t i = 0; i < classes.size(); ++i) result_.classes.emplace_back(classes[i]);
}

bool Scanner::is_own_ancestor(const Folder& folder) const {
  const auto same = [&](dev_t device, ino_t inode) {
    return folder.device == device && folder.inode == inode;
  };
  for (std::size_t i = folder.parent; i != kNoParent; i = folders_[i].parent) {
    if (same(folders_[i].device, folders_[i].inode)) return true;
  }
  return same(root_info_.st_dev, root_info_.st_ino);
}

void Scanner::read_class_folder(std::size_t number) {
  OpenDir dir;
  struct stat info;
  const int failed = open_folder(folders_[number].path, dir, info);
  if (failed != 0) {
    const std::string& path = folders_[number].path;
    if (!is_the_trees_own(failed))
      fail(failed, path, "The scan was given up rather than lose the files in there.");
    notes_.add(Left::unreadable, path, failed);
    return;
  }
  folders_[number].device = info.st_dev;
  folders_[number].inode = info.st_ino;
  if (is_own_ancestor(folders_[number])) {
    notes_.add(Left::link_loop, folders_[number].path);
    return;
  }
  NameList children;
  read_entries(dir.get(), folders_[number].path, children, folders_[number].files);
  for (std::size_t i = 0; i < children.size(); ++i) {
    folders_.push_back({joined(folders_[number].path, children[i]), number});
  }
}

void Scanner::scan_class(const std::string& class_path) {
  folders_.clear();
  folders_.push_back({class_path, kNoParent});
  for (std::size_t number = 0; number < folders_.size(); ++number) read_class_folder(number);
  std::sort(folders_.begin(), folders_.end(),
            [](const Folder& a, const Folder& b) { return fs_less(a.path, b.path); });
  for (Folder& folder : folders_) {
    if (folder.files.size() == 0) continue;
    folder.files.sort();
    const std::uint32_t id = result_.paths.add_folder(joined(folder.path, ""));
    for (std::size_t i = 0; i < folder.files.size(); ++i) result_.paths.append(id, folder.files[i]);
  }
}

std::string Scanner::notes_behind(std::string message) const {
  for (const std::string& note : notes_.in_words()) message += "\nNote: " + note + ".";
  return message;
}

void Scanner::refuse_empty_classes() const {
  std::string empty;
  for (std::size_t i = 0; i < result_.classes.size(); ++i) {
    if (result_.class_starts[i] != result_.class_starts[i + 1]) continue;
    if (!empty.empty()) empty += ", ";
    empty += printable(result_.classes[i]);
  }
  if (empty.empty()) return;
  std::string suffixes;
  for (const std::string_view suffix : kSuffixes)
    suffixes.append(suffixes.empty() ? "" : ", ").append(suffix);
  throw Error(Errc::not_found,
              notes_behind("Found no valid file for the classes " + empty +
                           ". Supported extensions are: " + suffixes + ". Each folder in " + quoted(root_) +
                           " is a class: remove those without images, or put images into them."));
}

void Scanner::refuse_null_bytes() const {
  if (root_.find('\0') != std::string::npos) {
    throw Error(Errc::invalid_argument, "the folder's path has an embedded null byte: " + quoted(root_));
  }
}

ImageList Scanner::run_unlabelled() {
  refuse_null_bytes();
  {
    OpenDir dir;
    struct stat info;
    const int failed = open_folder(root_, dir, info);
    if (failed != 0) fail(failed, root_, "Give a folder that holds images.");
  }
  scan_class(root_);
  result_.paths.finish();
  return {std::move(result_.paths), notes_.in_words()};
}

FolderScan Scanner::run() {
  refuse_null_bytes();
  read_root();
  if (result_.classes.empty()) {
    std::string message = "Couldn't find any class folder in " + printable(root_) + ".";
    message +=
        loose_images_ == 0
            ? " It must hold one folder per class, with the images inside."
            : " It holds " + std::to_string(loose_images_) +
                  " image files itself: put them into one folder per class, or give a list of the files.";
    throw Error(Errc::not_found, notes_behind(std::move(message)));
  }
  result_.class_starts.push_back(0);
  for (const std::string& name : result_.classes) {
    scan_class(joined(root_, name));
    result_.class_starts.push_back(result_.paths.size());
  }
  if (!options_.allow_empty) refuse_empty_classes();
  result_.paths.finish();
  result_.notes = notes_.in_words();
  return std::move(result_);
}

}  // namespace

FolderScan scan_folder(const std::string& root, const ScanOptions& options) {
  return Scanner(root, options).run();
}

ImageList list_images(const std::string& root, const ScanOptions& options) {
  return Scanner(root, options).run_unlabelled();
}

}  // namespace pyfastdl
