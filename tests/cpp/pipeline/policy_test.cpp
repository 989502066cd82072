// What becomes of samples that can't be loaded.
#include <set>

#include "pipeline/pipeline.h"
#include "pipeline/pipeline_testing.h"
#include "pipeline/replacement.h"

namespace pyfastdl {
namespace {

using namespace testing;  // NOLINT: the helpers of these tests

// A missing file fails without Pillow having a say.
PipelineConfig with_policy(const Dataset& dataset, std::uint32_t batch_size, ErrorPolicy policy) {
  PipelineConfig config = dataset.config(batch_size, 2);
  config.on_error = policy;
  return config;
}

TEST(Policy, RaiseNamesTheFirstFailureAndGoesOnWithTheNextBatch) {
  Dataset dataset(6);
  dataset.remove(1);
  dataset.remove(2);
  Pipeline pipeline(with_policy(dataset, 3, ErrorPolicy::raise));
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 3));
  pipeline.open(range(3, 6));
  Batch batch;
  try {
    (void)pipeline.next(kNoDeadline, batch);
    FAIL();
  } catch (const SampleFailureError& error) {
    EXPECT_EQ(error.failure().index, 1);
    EXPECT_NE(error.failure().path.find("1.jpg"), std::string::npos);
    EXPECT_FALSE(error.failure().reason.empty());
  }
  batch = take(pipeline);
  EXPECT_EQ(indices(batch), range(3, 6));
  expect_right_pixels(batch);
  EXPECT_EQ(pipeline.take_errors().size(), 2u);
  EXPECT_TRUE(pipeline.take_errors().empty());
}

TEST(Policy, SkipClosesTheGapsInOrder) {
  Dataset dataset(9);
  for (const int gone : {0, 4, 6, 7, 8}) dataset.remove(gone);
  Pipeline pipeline(with_policy(dataset, 3, ErrorPolicy::skip));
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 3));
  pipeline.open(range(6, 9));  // nothing of it is left: it isn't handed over
  Batch batch = take(pipeline);
  EXPECT_EQ(indices(batch), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(batch.cells, (std::vector<std::uint32_t>{1, 2}));
  expect_right_pixels(batch);
  pipeline.open(range(3, 6));
  batch = take(pipeline);
  EXPECT_EQ(indices(batch), (std::vector<std::int64_t>{3, 5}));
  EXPECT_EQ(batch.cells, (std::vector<std::uint32_t>{0, 2}));
  expect_right_pixels(batch);
  std::vector<std::int64_t> listed;
  for (const Failure& failure : pipeline.take_errors()) {
    listed.push_back(failure.index);
    EXPECT_EQ(failure.replaced_by, -1);
  }
  EXPECT_EQ(listed, (std::vector<std::int64_t>{0, 6, 7, 8, 4}));
}

TEST(Policy, ReplaceKeepsTheSizeAndIsTheSameEveryTime) {
  Dataset dataset(20);
  for (const int gone : {3, 4, 5, 11}) dataset.remove(gone);
  std::vector<std::uint8_t> before;
  for (const unsigned threads : {1u, 4u}) {
    PipelineConfig config = with_policy(dataset, 20, ErrorPolicy::replace);
    config.decode_threads = threads;
    Pipeline pipeline(config);
    pipeline.start_epoch(5, 2);
    pipeline.open(range(0, 20));
    const Batch batch = take(pipeline);
    EXPECT_EQ(batch.size, 20u);
    expect_right_pixels(batch);  // pixels, target and index are all the other sample's
    const std::vector<std::int64_t> which = indices(batch);
    for (const Failure& failure : pipeline.take_errors()) {
      ASSERT_GE(failure.replaced_by, 0);
      EXPECT_NE(failure.replaced_by, failure.index);
      EXPECT_TRUE(std::set<std::int64_t>(which.begin(), which.end()).contains(failure.replaced_by));
    }
    for (const int gone : {3, 4, 5, 11}) EXPECT_NE(which[static_cast<std::size_t>(gone)], gone);
    EXPECT_EQ(which[0], 0);
    if (before.empty()) before = pixels(batch);
    EXPECT_EQ(pixels(batch), before);
  }
}

TEST(Policy, ReplaceGivesUpWhenAllFail) {
  Dataset dataset(5);
  for (int i = 0; i < 5; ++i) dataset.remove(i);
  Pipeline pipeline(with_policy(dataset, 2, ErrorPolicy::replace));
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 2));
  Batch batch;
  try {
    (void)pipeline.next(kNoDeadline, batch);
    FAIL();
  } catch (const SampleFailureError& error) {
    EXPECT_NE(error.failure().reason.find("4 other samples failed too"), std::string::npos) << error.what();
  }
}

TEST(Policy, SkipOfEverythingEndsTheEpochWithoutABatch) {
  Dataset dataset(4);
  for (int i = 0; i < 4; ++i) dataset.remove(i);
  Pipeline pipeline(with_policy(dataset, 2, ErrorPolicy::skip));
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 2));
  pipeline.open(range(2, 4));
  Batch batch;
  EXPECT_EQ(pipeline.next(kNoDeadline, batch), NextResult::nothing_open);
  EXPECT_EQ(pipeline.take_errors().size(), 4u);
}

TEST(Policy, EmptyAndForeignFilesSayWhatTheyAre) {
  Dataset dataset(3);
  dataset.overwrite(1, "");
  Pipeline pipeline(with_policy(dataset, 3, ErrorPolicy::skip));
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 3));
  EXPECT_EQ(indices(take(pipeline)), (std::vector<std::int64_t>{0, 2}));
  const std::vector<Failure> errors = pipeline.take_errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].reason.find("empty file"), std::string::npos) << errors[0].reason;
}

TEST(Policy, FailuresOfAnAbandonedEpochAreForgotten) {
  Dataset dataset(8);
  for (int i = 0; i < 4; ++i) dataset.remove(i);
  Pipeline pipeline(with_policy(dataset, 4, ErrorPolicy::skip));
  for (std::uint32_t epoch = 0; epoch < 50; ++epoch) {
    pipeline.start_epoch(0, epoch);
    while (!pipeline.wants_batch()) {
    }
    pipeline.open(range(0, 4));
    pipeline.start_epoch(0, epoch);
    while (!pipeline.wants_batch()) {
    }
    pipeline.open(range(4, 8));
    EXPECT_EQ(indices(take(pipeline)), range(4, 8));
    EXPECT_TRUE(pipeline.take_errors().empty());
  }
}

TEST(Replacement, VisitsEveryOtherSampleOnceOfASmallDataset) {
  for (std::uint64_t samples = 2; samples <= 101; samples += 11) {
    const SampleKey key{.seed = 3, .epoch = 1, .index = samples / 2, .occurrence = 0};
    std::set<std::int64_t> seen;
    std::uint32_t attempt = 0;
    while (const auto other = replacement(key, samples, attempt)) {
      EXPECT_NE(*other, static_cast<std::int64_t>(key.index));
      EXPECT_GE(*other, 0);
      EXPECT_LT(*other, static_cast<std::int64_t>(samples));
      EXPECT_TRUE(seen.insert(*other).second);
      ++attempt;
    }
    EXPECT_EQ(seen.size(), samples - 1);
  }
  EXPECT_FALSE(replacement({}, 1, 0));
}

}  // namespace
}  // namespace pyfastdl
