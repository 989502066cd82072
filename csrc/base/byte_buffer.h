// ByteBuffer: owned, uninitialised, 64-byte aligned bytes that are used again and again by one thread.
//
// resize() keeps nothing of the old contents. Behind size() lie kRowPadding readable bytes, so that kernels may
// load whole vectors. Memory that one huge file took is given back once smaller ones follow (trim).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "base/row_source.h"

namespace pyfastdl {

class ByteBuffer {
 public:
  ByteBuffer() = default;

  std::uint8_t* data() { return data_.get(); }
  const std::uint8_t* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }

  // Throws std::bad_alloc.
  void resize(std::size_t size) {
    if (size > capacity_ || data_ == nullptr) grow(size);
    size_ = size;
  }

  // Changes the size and keeps the first min(old, new) bytes. Throws std::bad_alloc.
  void resize_keep(std::size_t size) {
    if (size > capacity_ || data_ == nullptr) {
      std::unique_ptr<std::uint8_t, Free> old = std::move(data_);
      const std::size_t kept = size_;
      grow(size);
      if (kept > 0) std::memcpy(data_.get(), old.get(), kept);
    }
    size_ = size;
  }

  // Gives the memory back if more than `keep` bytes are held.
  void trim(std::size_t keep) {
    if (capacity_ <= keep) return;
    data_.reset();
    size_ = capacity_ = 0;
  }

 private:
  struct Free {
    void operator()(std::uint8_t* p) const { std::free(p); }
  };

  void grow(std::size_t size) {
    const std::size_t bytes = (size + kRowPadding + 63) / 64 * 64;
    data_.reset();
    size_ = capacity_ = 0;  // what holds if there is no memory
    if (bytes < size) throw std::bad_alloc();
    auto* p = static_cast<std::uint8_t*>(std::aligned_alloc(64, bytes));
    if (p == nullptr) throw std::bad_alloc();
    data_.reset(p);
    capacity_ = bytes - kRowPadding;
    // The padding is read, never used: defined values keep the checkers quiet.
    std::memset(p + capacity_, 0, kRowPadding);
  }

  std::unique_ptr<std::uint8_t, Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace pyfastdl
