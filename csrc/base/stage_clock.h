// StageClocks: where the time goes, as nanoseconds and counts per stage. ScopedStage adds one stretch.
//
// Any number of threads add (relaxed: the numbers order nothing); snapshot() may run beside them and is exact
// once they are idle. A stretch costs two reads of the monotonic clock, about 50 ns. Nothing blocks.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pyfastdl {

enum class Stage : std::size_t {
  read,        // a file into memory
  decode,      // its header, and its pixels apart from the transform
  transform,   // resize to finished pixels in the cell
  fallback,    // decoded by Pillow on a Python thread
  wait_work,   // a worker has nothing to do
  wait_slot,   // all slots are full: the training loop is the slower side
  wait_batch,  // the training loop waits: the loader is the slower side
};

inline constexpr std::size_t kStages = 7;

inline constexpr std::string_view stage_name(Stage stage) {
  constexpr std::array<std::string_view, kStages> kNames = {"read",      "decode",    "transform", "fallback",
                                                            "wait_work", "wait_slot", "wait_batch"};
  return kNames[static_cast<std::size_t>(stage)];
}

struct StageTime {
  std::uint64_t nanoseconds = 0;
  std::uint64_t count = 0;
};

struct StageSnapshot {
  std::array<StageTime, kStages> stages;
  const StageTime& operator[](Stage stage) const { return stages[static_cast<std::size_t>(stage)]; }
};

class StageClocks {
 public:
  void add(Stage stage, std::chrono::nanoseconds time, std::uint64_t count = 1) {
    Cell& cell = cells_[static_cast<std::size_t>(stage)];
    cell.nanoseconds.fetch_add(static_cast<std::uint64_t>(time.count()), std::memory_order_relaxed);
    cell.count.fetch_add(count, std::memory_order_relaxed);
  }

  StageSnapshot snapshot() const {
    StageSnapshot result;
    for (std::size_t i = 0; i < kStages; ++i) {
      result.stages[i] = {cells_[i].nanoseconds.load(std::memory_order_relaxed),
                          cells_[i].count.load(std::memory_order_relaxed)};
    }
    return result;
  }

 private:
  struct alignas(64) Cell {
    std::atomic<std::uint64_t> nanoseconds{0};
    std::atomic<std::uint64_t> count{0};
  };
  std::array<Cell, kStages> cells_;
};

class ScopedStage {
 public:
  ScopedStage(StageClocks& clocks, Stage stage)
      : clocks_(clocks), stage_(stage), begin_(std::chrono::steady_clock::now()) {}
  ~ScopedStage() { clocks_.add(stage_, std::chrono::steady_clock::now() - begin_); }
  ScopedStage(const ScopedStage&) = delete;
  ScopedStage& operator=(const ScopedStage&) = delete;

 private:
  StageClocks& clocks_;
  const Stage stage_;
  const std::chrono::steady_clock::time_point begin_;
};

}  // namespace pyfastdl
