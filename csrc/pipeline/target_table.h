// TargetTable: the targets of all samples, one row of bytes each. Constant; shared by pipelines and their threads.
//
// Its own memory, not numpy's: a thread that outlives its pipeline must not depend on a Python object.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace pyfastdl {

class TargetTable {
 public:
  // REQUIRES: rows.size() is a multiple of row_bytes, which is positive.
  TargetTable(std::span<const std::byte> rows, std::size_t row_bytes)
      : row_bytes_(row_bytes), bytes_(rows.begin(), rows.end()) {}

  std::size_t row_bytes() const { return row_bytes_; }
  std::size_t size() const { return bytes_.size() / row_bytes_; }

  // REQUIRES: i < size().
  void copy_row(std::size_t i, std::byte* to) const {
    std::memcpy(to, bytes_.data() + i * row_bytes_, row_bytes_);
  }

 private:
  std::size_t row_bytes_;
  std::vector<std::byte> bytes_;
};

}  // namespace pyfastdl
