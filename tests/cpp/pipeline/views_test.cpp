// Several views per sample: a field of pixels each, from one read and one decode.
#include <thread>

#include "pipeline/pillow_worker.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_testing.h"

namespace pyfastdl {
namespace {

using namespace testing;  // NOLINT: the helpers of these tests

constexpr int kSmall = 4;

// The dataset's own view, and a smaller one of the whole picture.
PipelineConfig two_views(const Dataset& dataset, std::uint32_t batch_size, unsigned threads = 2) {
  PipelineConfig config = dataset.config(batch_size, threads);
  PixelFormat bytes;
  bytes.dtype = DType::uint8;
  config.views.push_back(
      {std::make_shared<Plan>(std::vector<Op>{Resize{{kSmall, kSmall}}}, PassOrder::horizontal_first, bytes),
       {kSmall, kSmall}});
  return config;
}

// Field 0 is the first view, 1 the second, 2 the targets, 3 the indices.
void expect_right(const Batch& batch) {
  const std::vector<std::int64_t> which = numbers(batch, 3);
  const auto* large = reinterpret_cast<const std::uint8_t*>(batch.lease->field(0));
  const auto* small = reinterpret_cast<const std::uint8_t*>(batch.lease->field(1));
  constexpr std::size_t kSmallPixels = 3 * kSmall * kSmall;
  for (std::uint32_t cell = 0; cell < batch.size; ++cell) {
    EXPECT_EQ(numbers(batch, 2)[cell], 1000 + which[cell]);
    for (std::size_t p = 0; p < kCellPixels; ++p)
      ASSERT_NEAR(large[cell * kCellPixels + p], level(which[cell]), 1);
    for (std::size_t p = 0; p < kSmallPixels; ++p)
      ASSERT_NEAR(small[cell * kSmallPixels + p], level(which[cell]), 1);
  }
}

TEST(Views, EachHasAFieldOfItsOwn) {
  Dataset dataset(40);
  Pipeline pipeline(two_views(dataset, 8, 3));
  pipeline.start_epoch(1, 0);
  for (int begin = 0; begin < 40; begin += 8) {
    while (!pipeline.wants_batch()) expect_right(take(pipeline));
    pipeline.open(range(begin, begin + 8));
  }
  while (pipeline.open_batches() > 0) expect_right(take(pipeline));
}

TEST(Views, SkipClosesUpEveryField) {
  Dataset dataset(9);
  for (const int gone : {0, 4, 5}) dataset.remove(gone);
  PipelineConfig config = two_views(dataset, 9);
  config.on_error = ErrorPolicy::skip;
  Pipeline pipeline(config);
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 9));
  const Batch batch = take(pipeline);
  EXPECT_EQ(numbers(batch, 3), (std::vector<std::int64_t>{1, 2, 3, 6, 7, 8}));
  expect_right(batch);
}

TEST(Views, PrivateCopiesHaveEveryField) {
  Dataset dataset(30);
  Pipeline pipeline(two_views(dataset, 3));
  pipeline.start_epoch(0, 0);
  std::vector<Batch> kept;
  for (int begin = 0; begin < 30; begin += 3) {
    pipeline.open(range(begin, begin + 3));
    kept.push_back(take(pipeline));
  }
  EXPECT_GT(pipeline.core()->counters().copied_batches.load(), 0u);
  for (const Batch& batch : kept) expect_right(batch);
}

// A decoded box is held while the views run, so it counts: rows may be as wide as the image.
TEST(Views, TheBoxIsTakenFromTheMemoryBudget) {
  Dataset dataset(4);
  Pipeline pipeline(two_views(dataset, 4));
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 4));
  expect_right(take(pipeline));
  const ByteBudget::Usage usage = pipeline.core()->memory().usage();
  EXPECT_GE(usage.peak, 16u * 20u * kPixelBytes);  // the smallest picture, which the second view needs whole
  EXPECT_EQ(usage.held, 0u);

  PipelineConfig config = two_views(dataset, 4);
  config.max_memory = 100;
  Pipeline small(config);
  small.start_epoch(0, 0);
  small.open(range(0, 4));
  Batch batch;
  try {
    (void)small.next(kNoDeadline, batch);
    ADD_FAILURE();
  } catch (const SampleFailureError& error) {
    EXPECT_NE(error.failure().reason.find("max_memory"), std::string::npos) << error.what();
  }
}

// What Pillow decoded is in memory and paid for: its views take nothing more, and give nothing back too early.
TEST(Views, PillowsImagesAreNotCopied) {
  Dataset dataset(1);
  dataset.overwrite(0, "GIF89a");
  PipelineConfig config = two_views(dataset, 1);
  config.max_memory = 70;
  Pipeline pipeline(config);
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 1));
  pipeline.set_pillow_served();
  std::thread server([&pipeline] {
    PillowWorker worker(pipeline.core());
    while (!worker.next(std::chrono::steady_clock::now() + std::chrono::seconds(1))) {
    }
    worker.reserve(70);
    const std::vector<std::uint8_t> gray(30 * 30 * 3, level(0));
    worker.complete(gray.data(), {30, 30});
  });
  expect_right(take(pipeline));
  server.join();
  EXPECT_EQ(pipeline.core()->memory().usage().peak, 70u);
}

TEST(Views, NoneOrTooManyAreRefused) {
  Dataset dataset(3);
  PipelineConfig config = two_views(dataset, 1);
  config.views.assign(kMaxViews + 1, config.views[0]);
  EXPECT_THROW(Pipeline{config}, Error);
  config.views.clear();
  EXPECT_THROW(Pipeline{config}, Error);
}

}  // namespace
}  // namespace pyfastdl
