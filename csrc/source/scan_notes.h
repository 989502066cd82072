// ScanNotes: counts what a scan left out, by kind, and says it in words with one example a kind.
//
// Belongs to one scan and its thread.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pyfastdl {

enum class Left : std::size_t {
  hidden_folder,  // .git, .ipynb_checkpoints
  macos_folder,   // __MACOSX
  macos_file,     // ._x.jpg
  system_file,    // Thumbs.db
  link_loop,      // a folder that is its own ancestor
  unreadable,     // no permission, a link that leads nowhere any more, a path that is too long
};

class ScanNotes {
 public:
  void add(Left kind, std::string_view path, int sys_errno = 0);
  std::vector<std::string> in_words() const;

 private:
  static constexpr std::size_t kKinds = 6;
  struct Kind {
    std::size_t count = 0;
    int sys_errno = 0;
    std::string example;
  };
  std::array<Kind, kKinds> kinds_;
};

}  // namespace pyfastdl
