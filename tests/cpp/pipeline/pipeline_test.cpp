#include "pipeline/pipeline.h"

#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "pipeline/pillow_worker.h"
#include "pipeline/pipeline_testing.h"

namespace pyfastdl {
namespace {

using namespace testing;  // NOLINT: the helpers of these tests

TEST(Pipeline, BatchesHoldTheirSamplesInOrder) {
  const Dataset dataset(10);
  Pipeline pipeline(dataset.config(4, 2));
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 4));
  pipeline.open(std::vector<std::int64_t>{9, 4, 7});
  const Batch first = take(pipeline);
  EXPECT_EQ(indices(first), range(0, 4));
  expect_right_pixels(first);
  const Batch second = take(pipeline);
  EXPECT_EQ(indices(second), (std::vector<std::int64_t>{9, 4, 7}));
  expect_right_pixels(second);
  Batch none;
  EXPECT_EQ(pipeline.next(kNoDeadline, none), NextResult::nothing_open);
}

TEST(Pipeline, BytesDoNotDependOnThreadsOrPrefetch) {
  const Dataset dataset(12, 2);
  const auto epoch_bytes = [&](unsigned threads, std::uint32_t prefetch, std::uint32_t epoch) {
    Pipeline pipeline(dataset.config(5, threads, prefetch));
    pipeline.start_epoch(7, epoch);
    std::vector<std::uint8_t> all;
    for (std::int64_t at = 0; at < 12; at += 5) {
      pipeline.open(range(at, std::min<std::int64_t>(at + 5, 12)));
      const std::vector<std::uint8_t> bytes = pixels(take(pipeline));
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  };
  const std::vector<std::uint8_t> expected = epoch_bytes(1, 1, 3);
  EXPECT_EQ(epoch_bytes(4, 3, 3), expected);
  EXPECT_EQ(epoch_bytes(8, 1, 3), expected);
  EXPECT_NE(epoch_bytes(4, 3, 4), expected);  // another epoch, other crops
}

TEST(Pipeline, RepeatsOfAnIndexAreCounted) {
  const Dataset dataset(3);
  Pipeline pipeline(dataset.config(3, 2));
  pipeline.start_epoch(0, 0);
  pipeline.open(std::vector<std::int64_t>{1, 1, 2});
  pipeline.open(std::vector<std::int64_t>{1});
  const std::uint32_t slot = pipeline.core()->ring()->slot_of(0);
  EXPECT_EQ(pipeline.core()->ring()->occurrence(slot, 0), 0u);
  EXPECT_EQ(pipeline.core()->ring()->occurrence(slot, 1), 1u);
  EXPECT_EQ(pipeline.core()->ring()->occurrence(slot, 2), 0u);
  EXPECT_EQ(pipeline.core()->ring()->occurrence(pipeline.core()->ring()->slot_of(1), 0), 2u);
  pipeline.start_epoch(0, 1);
  pipeline.open(std::vector<std::int64_t>{1});
  EXPECT_EQ(pipeline.core()->ring()->occurrence(pipeline.core()->ring()->slot_of(2), 0), 0u);
}

TEST(Pipeline, AConsumerMayHoldAsManyBatchesAsItSaid) {
  const Dataset dataset(8);
  for (const std::uint32_t held : {1u, 4u}) {
    PipelineConfig config = dataset.config(1, 1, 4);
    config.held = held;
    Pipeline pipeline(config);
    pipeline.start_epoch(0, 0);
    std::vector<Batch> kept;
    for (std::int64_t at = 0; at < 8; ++at) {
      pipeline.open(range(at, at + 1));
      kept.push_back(take(pipeline));
    }
    EXPECT_EQ(pipeline.core()->counters().copied_batches, 8 - (held + 1));
    for (std::int64_t at = 0; at < 8; ++at)
      EXPECT_EQ(indices(kept[static_cast<std::size_t>(at)]), range(at, at + 1));
  }
}

TEST(Pipeline, RepeatsAreTheCallersWhereItCounts) {
  const Dataset dataset(3);
  Pipeline pipeline(dataset.config(2, 2));
  pipeline.start_epoch(0, 0);
  pipeline.open(std::vector<std::int64_t>{1, 1}, std::vector<std::uint32_t>{7, 3});
  const std::uint32_t slot = pipeline.core()->ring()->slot_of(0);
  EXPECT_EQ(pipeline.core()->ring()->occurrence(slot, 0), 7u);
  EXPECT_EQ(pipeline.core()->ring()->occurrence(slot, 1), 3u);
  EXPECT_THROW(pipeline.open(std::vector<std::int64_t>{1, 1}, std::vector<std::uint32_t>{0}), Error);
}

TEST(Pipeline, SmallestOfEverythingGoesOn) {
  const Dataset dataset(1);
  Pipeline pipeline(dataset.config(1, 1, 1));
  for (std::uint32_t epoch = 0; epoch < 50; ++epoch) {
    pipeline.start_epoch(0, epoch);
    EXPECT_TRUE(pipeline.wants_batch());
    pipeline.open(range(0, 1));
    EXPECT_FALSE(pipeline.wants_batch());
    expect_right_pixels(take(pipeline));
  }
}

TEST(Pipeline, AbandonedEpochsNeverShowUpAgain) {
  const Dataset dataset(20);
  Pipeline pipeline(dataset.config(4, 3, 3));
  for (std::uint32_t round = 0; round < 200; ++round) {
    pipeline.start_epoch(1, round);
    const std::int64_t at = round % 16;
    while (pipeline.open_batches() == 0) {
      // Slots of the epoch before may still be in the hands of late writers.
      if (pipeline.wants_batch()) pipeline.open(range(at, at + 4));
    }
    if (pipeline.wants_batch()) pipeline.open(range(0, 4));
    if (round % 3 == 0) continue;
    const Batch batch = take(pipeline);
    EXPECT_EQ(indices(batch), range(at, at + 4));
    expect_right_pixels(batch);
  }
}

TEST(Pipeline, KeptBatchesAreNeverWrittenAgain) {
  const Dataset dataset(40);
  std::vector<Batch> kept;
  std::uint64_t copied = 0;
  {
    Pipeline pipeline(dataset.config(2, 2, 2));
    pipeline.start_epoch(0, 0);
    for (std::int64_t at = 0; at < 40; at += 2) {
      ASSERT_TRUE(pipeline.wants_batch()) << at;
      pipeline.open(range(at, at + 2));
      kept.push_back(take(pipeline));
    }
    copied = pipeline.core()->counters().copied_batches.load();
  }
  // The first two are slots of the ring, which outlive the pipeline; all others had to be copies.
  EXPECT_EQ(copied, 18u);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(indices(kept[i]),
              range(2 * static_cast<std::int64_t>(i), 2 * static_cast<std::int64_t>(i) + 2));
    expect_right_pixels(kept[i]);
  }
}

TEST(Pipeline, WrongIndicesAreRefusedByName) {
  const Dataset dataset(3);
  Pipeline pipeline(dataset.config(2, 1));
  EXPECT_THROW(pipeline.open(range(0, 1)), Error);  // no epoch yet
  pipeline.start_epoch(0, 0);
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{3}}) {
    try {
      pipeline.open(std::vector<std::int64_t>{0, wrong});
      FAIL() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(std::to_string(wrong)), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(pipeline.open(range(0, 3)), Error);  // more than a slot holds
  pipeline.open(range(0, 2));
  expect_right_pixels(take(pipeline));
}

TEST(Pipeline, ADeadlineEndsTheWait) {
  Dataset dataset(2);
  dataset.overwrite(0, "GIF89a: waits for a Pillow thread that never comes");
  Pipeline pipeline(dataset.config(1, 1));
  pipeline.set_pillow_served();
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 1));
  Batch batch;
  EXPECT_EQ(pipeline.next(std::chrono::steady_clock::now() + std::chrono::milliseconds(30), batch),
            NextResult::timed_out);
  const std::vector<Failure> unfinished = pipeline.unfinished(5);
  ASSERT_EQ(unfinished.size(), 1u);
  EXPECT_EQ(unfinished[0].index, 0);
  // The loader can be used again, though the sample is still in someone's hands.
  pipeline.start_epoch(0, 1);
  pipeline.open(range(1, 2));
  expect_right_pixels(take(pipeline));
}

TEST(Pipeline, PillowsSamplesAreFetchedAndFinishedElsewhere) {
  Dataset dataset(6);
  dataset.overwrite(2, "GIF89a, says the file");
  dataset.overwrite(4, "BM, says this one");
  PipelineConfig config = dataset.config(6, 2);
  config.on_error = ErrorPolicy::skip;
  Pipeline pipeline(config);
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 6));
  Batch batch;
  ASSERT_EQ(pipeline.next(kNoDeadline, batch), NextResult::need_pillow);
  pipeline.set_pillow_served();
  std::thread server([&] {
    PillowWorker worker(pipeline.core());
    for (int served = 0; served < 2;) {
      if (!worker.next(std::chrono::steady_clock::now() + std::chrono::seconds(1))) continue;
      ++served;
      if (worker.job().index == 4) {
        worker.fail({Errc::bad_data, "not an image"});
        continue;
      }
      const std::vector<std::uint8_t> gray(30 * 30 * 3, level(2));
      worker.complete(gray.data(), {30, 30});
    }
  });
  batch = take(pipeline);
  server.join();
  EXPECT_EQ(indices(batch), (std::vector<std::int64_t>{0, 1, 2, 3, 5}));
  expect_right_pixels(batch);
  EXPECT_EQ(pipeline.core()->counters().pillow_samples.load(), 1u);
  const std::vector<Failure> errors = pipeline.take_errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].reason, "not an image");
}

TEST(Pipeline, AWorkerThatDiesWithAnImageFailsIt) {
  Dataset dataset(1);
  dataset.overwrite(0, "GIF89a");
  Pipeline pipeline(dataset.config(1, 1));
  pipeline.set_pillow_served();
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 1));
  {
    PillowWorker worker(pipeline.core());
    while (!worker.next(std::chrono::steady_clock::now() + std::chrono::seconds(1))) {
    }
  }
  Batch batch;
  EXPECT_THROW((void)pipeline.next(kNoDeadline, batch), SampleFailureError);
}

TEST(Pipeline, ClosingEndsEverybodysWait) {
  const Dataset dataset(4);
  auto pipeline = std::make_unique<Pipeline>(dataset.config(2, 3));
  auto core = pipeline->core();
  std::thread idle([core] {
    PillowWorker worker(core);
    while (!worker.stopped()) (void)worker.next(std::chrono::steady_clock::now() + std::chrono::hours(1));
  });
  pipeline->start_epoch(0, 0);
  pipeline->open(range(0, 2));
  pipeline->close();
  idle.join();
  Batch batch;
  EXPECT_THROW((void)pipeline->next(kNoDeadline, batch), Error);
  EXPECT_THROW(pipeline->open(range(0, 2)), Error);
  pipeline->close();  // again
}

TEST(Pipeline, AForkedChildIsToldAndTheParentGoesOn) {
  const Dataset dataset(8);
  auto pipeline = std::make_unique<Pipeline>(dataset.config(4, 2));
  pipeline->start_epoch(0, 0);
  pipeline->open(range(0, 4));
  Batch held = take(*pipeline);
  pipeline->open(range(4, 8));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int wrong = 0;
    Batch batch;
    try {
      (void)pipeline->next(kNoDeadline, batch);
      wrong |= 1;
    } catch (const Error& error) {
      if (error.code() != Errc::state) wrong |= 2;
    }
    std::memset(held.lease->field(0), 0, kCellPixels);  // the child's copy, not the parent's
    held = {};
    pipeline.reset();
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  expect_right_pixels(held);
  expect_right_pixels(take(*pipeline));
}

TEST(Pipeline, WrongConfigurationsAreNamed) {
  const Dataset dataset(3);
  const auto refused = [](PipelineConfig config, const std::string& word) {
    try {
      Pipeline pipeline(std::move(config));
      ADD_FAILURE() << "accepted: " << word;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  };
  refused(dataset.config(0, 1), "batch_size");
  refused(dataset.config(1, 0), "num_workers");
  refused(dataset.config(1, 1, 0), "prefetch_factor");
  PipelineConfig empty = dataset.config(1, 1);
  empty.paths = std::make_shared<PathTable>();
  empty.targets = nullptr;
  refused(std::move(empty), "samples");
}

}  // namespace
}  // namespace pyfastdl
