// SampleSource: a sample's image on its way from the decoder to the transform. It turns the image as its EXIF
// orientation says, reserves the memory that it must hold at once before any of it is taken, and measures.
//
// One per thread, used for one sample after another. Borrows the image and the reservation. Blocks in start() only,
// while other threads hold the memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/byte_budget.h"
#include "base/oriented_source.h"
#include "base/row_source.h"

namespace pyfastdl {

class SampleSource final : public RowSource {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SampleSource(ByteBudget& budget) : budget_(budget) {}

  // `memory` holds what start() reserves, besides what it holds already, until the caller gives it back. `timed`: spent() is wanted.
  void reset(RowSource& image, int orientation, ByteBudget::Reservation& memory, bool timed) {
    source_ = &image;
    if (orientation != 1) {
      oriented_.reset(image, orientation);
      source_ = &oriented_;
    }
    memory_ = &memory;
    timed_ = timed;
    spent_ = waited_ = {};
    kept_ = 0;
  }

  // Gives back the memory of a turned image.
  void close() { oriented_.close(); }

  Clock::duration spent() const { return spent_; }    // in the image's own calls
  Clock::duration waited() const { return waited_; }  // for memory

  Size size() const override { return source_->size(); }
  bool in_memory() const override { return source_->in_memory(); }
  bool shrink(int eighths) override { return source_->shrink(eighths); }
  std::uint64_t start_bytes(const Region& region) const override { return source_->start_bytes(region); }

  void will_keep(std::uint64_t bytes) override { kept_ = bytes; }

  Status start(const Region& region) override {
    if (const std::uint64_t bytes = source_->start_bytes(region) + kept_; bytes > 0) {
      kept_ = 0;  // views start an image in memory more than once
      const auto begin = Clock::now();
      Status status = budget_.reserve(memory_->bytes() + bytes, *memory_);
      waited_ += Clock::now() - begin;
      if (!status.ok()) return status;
    }
    return timed([&] { return source_->start(region); });
  }
  std::size_t row_bytes() const override { return source_->row_bytes(); }
  std::size_t row_offset() const override { return source_->row_offset(); }
  Status read_rows(std::uint8_t* const* rows, int count) override {
    return timed([&] { return source_->read_rows(rows, count); });
  }
  Status finish() override {
    return timed([&] { return source_->finish(); });
  }

 private:
  template <class Call>
  Status timed(Call call) {
    if (!timed_) return call();
    const auto begin = Clock::now();
    Status status = call();
    spent_ += Clock::now() - begin;
    return status;
  }

  ByteBudget& budget_;
  OrientedSource oriented_;
  RowSource* source_ = nullptr;
  ByteBudget::Reservation* memory_ = nullptr;
  bool timed_ = false;
  std::uint64_t kept_ = 0;
  Clock::duration spent_{};
  Clock::duration waited_{};
};

}  // namespace pyfastdl
