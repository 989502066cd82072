// TempTree: a folder of a test's own, with helpers to fill it; removed at the end.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pyfastdl {

class TempTree {
 public:
  // In the system's temporary folder, or below `parent`.
  explicit TempTree(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string pattern = (parent / "pyfastdl-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp: " + pattern);
    root_ = pattern;
  }
  ~TempTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;

  std::string root() const { return root_.string(); }
  std::string at(std::string_view below) const { return root() + "/" + std::string(below); }

  std::string folder(std::string_view below) const {
    std::filesystem::create_directories(at(below));
    return at(below);
  }
  std::string file(std::string_view below, std::string_view contents = "x") const {
    std::filesystem::create_directories(std::filesystem::path(at(below)).parent_path());
    std::ofstream(at(below), std::ios::binary) << contents;
    return at(below);
  }
  std::string link(std::string_view below, std::string_view target) const {
    std::filesystem::create_directories(std::filesystem::path(at(below)).parent_path());
    if (::symlink(std::string(target).c_str(), at(below).c_str()) != 0) throw std::runtime_error("symlink");
    return at(below);
  }
  std::string fifo(std::string_view below) const {
    std::filesystem::create_directories(std::filesystem::path(at(below)).parent_path());
    if (::mkfifo(at(below).c_str(), 0600) != 0) throw std::runtime_error("mkfifo");
    return at(below);
  }

 private:
  std::filesystem::path root_;
};

}  // namespace pyfastdl
