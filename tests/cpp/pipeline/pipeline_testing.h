// A dataset of gray JPEGs and a pipeline over it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "pipeline/images.h"
#include "pipeline/pipeline.h"
#include "temp_tree.h"

namespace pyfastdl::testing {

inline constexpr int kSide = 8;
inline constexpr std::size_t kCellPixels = 3 * kSide * kSide;

// Sample i is gray: level(i) all over, or rising from there.
inline std::uint8_t level(std::int64_t i) { return static_cast<std::uint8_t>(i * 37 % 251); }

class Dataset {
 public:
  explicit Dataset(int samples, int step = 0) : paths_(std::make_shared<PathTable>()) {
    for (int i = 0; i < samples; ++i) {
      const std::string path = tree_.at(std::to_string(i) + ".jpg");
      write_bytes(path, encode_gray(16 + i % 5, 20 + i % 7, level(i), step));
      paths_->append(path);
    }
    paths_->finish();
    std::vector<std::int64_t> rows(static_cast<std::size_t>(samples));
    for (int i = 0; i < samples; ++i) rows[static_cast<std::size_t>(i)] = 1000 + i;
    targets_ = std::make_shared<TargetTable>(std::as_bytes(std::span(rows)), sizeof(std::int64_t));
  }

  void overwrite(int i, const std::string& contents) {
    write_bytes(tree_.at(std::to_string(i) + ".jpg"), {contents.begin(), contents.end()});
  }
  void remove(int i) { std::remove(tree_.at(std::to_string(i) + ".jpg").c_str()); }

  // Bytes of kSide x kSide, cropped at random.
  PipelineConfig config(std::uint32_t batch_size, unsigned threads, std::uint32_t prefetch = 2) const {
    PipelineConfig config;
    config.paths = paths_;
    config.targets = targets_;
    PixelFormat bytes;
    bytes.dtype = DType::uint8;
    config.views = {{std::make_shared<Plan>(
                         std::vector<Op>{RandomResizedCrop{.size = {kSide, kSide}}, RandomHorizontalFlip{}},
                         PassOrder::horizontal_first, bytes),
                     {kSide, kSide}}};
    config.batch_size = batch_size;
    config.prefetch = prefetch;
    config.decode_threads = threads;
    config.read_threads = 2;
    config.return_index = true;
    return config;
  }

 private:
  TempTree tree_;
  std::shared_ptr<PathTable> paths_;
  std::shared_ptr<TargetTable> targets_;
};

inline std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(end - begin));
  std::iota(indices.begin(), indices.end(), begin);
  return indices;
}

// The next batch; fails the test when there is none.
inline Batch take(Pipeline& pipeline) {
  Batch batch;
  for (;;) {
    const NextResult result = pipeline.next(kNoDeadline, batch);
    if (result == NextResult::interrupted) continue;
    EXPECT_EQ(result, NextResult::batch);
    return batch;
  }
}

inline std::vector<std::int64_t> numbers(const Batch& batch, std::uint32_t field) {
  std::vector<std::int64_t> values(batch.size);
  std::memcpy(values.data(), batch.lease->field(field), values.size() * sizeof(std::int64_t));
  return values;
}
inline std::vector<std::int64_t> targets(const Batch& batch) { return numbers(batch, 1); }
inline std::vector<std::int64_t> indices(const Batch& batch) { return numbers(batch, 2); }

inline std::vector<std::uint8_t> pixels(const Batch& batch) {
  std::vector<std::uint8_t> bytes(batch.size * kCellPixels);
  std::memcpy(bytes.data(), batch.lease->field(0), bytes.size());
  return bytes;
}

// Every cell shows the sample that its index names.
inline void expect_right_pixels(const Batch& batch) {
  const std::vector<std::int64_t> which = indices(batch);
  const std::vector<std::uint8_t> bytes = pixels(batch);
  for (std::uint32_t cell = 0; cell < batch.size; ++cell) {
    EXPECT_EQ(targets(batch)[cell], 1000 + which[cell]);
    for (std::size_t p = 0; p < kCellPixels; ++p) {
      // JPEG at quality 100 keeps a gray level to within one.
      ASSERT_NEAR(bytes[cell * kCellPixels + p], level(which[cell]), 1) << "cell " << cell << ", byte " << p;
    }
  }
}

}  // namespace pyfastdl::testing
