// scan_folder: a root of class folders to paths and labels, in the order of torchvision's ImageFolder.
//
// The order: classes sorted, within a class the folders sorted by their whole path, within a folder the names
// sorted; all as Python sorts the decoded strings (base/text.h: fs_less). Links to files and folders are followed; what
// has an image suffix and is no folder is listed, whatever it turns out to be. The one departure: a folder that
// is its own ancestor (a link loop) is not entered again.
//
// Runs on the calling thread and blocks on the disk; `poll` is called every few thousand entries and may throw to
// end the wait. One descriptor is open at a time, however deep the tree. Owns all it returns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "source/path_table.h"

namespace pyfastdl {

struct ScanOptions {
  // Leave out, and note, what is no part of a dataset: hidden folders, __MACOSX, ._* files. torchvision lists them.
  bool ignore_hidden = true;
  // Classes without an image are no error.
  bool allow_empty = false;
  std::function<void()> poll;
};

struct FolderScan {
  PathTable paths;
  std::vector<std::string> classes;
  // Class c has the samples [class_starts[c], class_starts[c + 1]).
  std::vector<std::uint64_t> class_starts;
  // What was left out and why, in words: one note a kind.
  std::vector<std::string> notes;
};

// Throws Error: Errc::not_found for a root that isn't there, a root without class folders, a class without images
// (torchvision's texts, and what to change); Errc::io for a root that is no folder or can't be read, and for
// failures below it that are not the tree's own (out of descriptors, a failing disk).
FolderScan scan_folder(const std::string& root, const ScanOptions& options = {});

struct ImageList {
  PathTable paths;
  std::vector<std::string> notes;
};

// Every image in `root` and below it, with or without class folders, in the order of a class. None is no error
// (allow_empty has no meaning here); else throws as scan_folder.
ImageList list_images(const std::string& root, const ScanOptions& options = {});

}  // namespace pyfastdl
