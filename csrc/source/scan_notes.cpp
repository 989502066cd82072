#include "source/scan_notes.h"

#include "base/text.h"

namespace pyfastdl {
namespace {

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

}  // namespace

void ScanNotes::add(Left kind, std::string_view path, int sys_errno) {
  Kind& entry = kinds_[static_cast<std::size_t>(kind)];
  if (entry.count++ == 0) {
    entry.example = quoted(path);
    entry.sys_errno = sys_errno;
  }
}

std::vector<std::string> ScanNotes::in_words() const {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < kKinds; ++i) {
    const auto& [count, sys_errno, example] = kinds_[i];
    if (count == 0) continue;
    const std::string where = count == 1 ? " (" + example + ")" : " (the first: " + example + ")";
    switch (static_cast<Left>(i)) {
      case Left::hidden_folder:
        notes.push_back("ignored " + counted(count, "hidden folder", "hidden folders") + where);
        break;
      case Left::macos_folder:
        notes.push_back("ignored " + counted(count, "__MACOSX folder", "__MACOSX folders") + where);
        break;
      case Left::macos_file:
        notes.push_back("ignored " + counted(count, "._* file", "._* files") + " left by macOS" + where);
        break;
      case Left::system_file:
        notes.push_back("ignored " + counted(count, "file", "files") + " of the system's file browser" +
                        where);
        break;
      case Left::link_loop:
        notes.push_back("did not follow " + counted(count, "link", "links") +
                        " back to a folder that holds it, so that each file is listed once" + where);
        break;
      case Left::unreadable:
        notes.push_back(counted(count, "folder", "folders") +
                        " could not be opened, so the files in there are not in the dataset: " +
                        errno_text(sys_errno) + where);
        break;
    }
  }
  return notes;
}

}  // namespace pyfastdl
