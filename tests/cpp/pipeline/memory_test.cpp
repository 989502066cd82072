// What images that must be held whole may take, and what happens when memory runs out.
#include <thread>

#include "pipeline/pillow_worker.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_testing.h"

namespace pyfastdl {
namespace {

using namespace testing;  // NOLINT: the helpers of these tests

// The thread that decodes what Pillow is asked for, here with `serve`.
template <class Serve>
std::thread served_by(Pipeline& pipeline, int jobs, Serve serve) {
  pipeline.set_pillow_served();
  return std::thread([&pipeline, jobs, serve] {
    PillowWorker worker(pipeline.core());
    for (int done = 0; done < jobs;) {
      if (!worker.next(std::chrono::steady_clock::now() + std::chrono::seconds(1))) continue;
      ++done;
      serve(worker);
    }
  });
}

TEST(Memory, IsGivenBackWithTheSample) {
  Dataset dataset(2);
  dataset.overwrite(0, "GIF89a");
  dataset.overwrite(1, "GIF89a");
  PipelineConfig config = dataset.config(2, 2);
  config.max_memory = 100;
  Pipeline pipeline(config);
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 2));
  // The second could not go on if the first kept its share.
  std::thread server = served_by(pipeline, 2, [](PillowWorker& worker) {
    worker.reserve(70);
    const std::vector<std::uint8_t> gray(30 * 30 * 3, level(worker.job().index));
    worker.complete(gray.data(), {30, 30});
  });
  expect_right_pixels(take(pipeline));
  server.join();
  EXPECT_EQ(pipeline.core()->memory().usage().held, 0u);
  EXPECT_EQ(pipeline.core()->memory().usage().peak, 70u);
}

TEST(Memory, AnImageAboveTheLimitIsRefused) {
  Dataset dataset(1);
  dataset.overwrite(0, "GIF89a");
  PipelineConfig config = dataset.config(1, 1);
  config.max_memory = 100;
  Pipeline pipeline(config);
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 1));
  std::thread server = served_by(pipeline, 1, [](PillowWorker& worker) {
    try {
      worker.reserve(101);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::limit);
      worker.fail({Errc::bad_data, error.what()});
    }
  });
  Batch batch;
  try {
    (void)pipeline.next(kNoDeadline, batch);
    ADD_FAILURE();
  } catch (const SampleFailureError& error) {
    EXPECT_NE(error.failure().reason.find("max_memory"), std::string::npos) << error.what();
  }
  server.join();
}

TEST(Memory, ClosingEndsTheWaitForIt) {
  Dataset dataset(1);
  dataset.overwrite(0, "GIF89a");
  PipelineConfig config = dataset.config(1, 1);
  config.max_memory = 100;
  Pipeline pipeline(config);
  pipeline.start_epoch(0, 0);
  pipeline.open(range(0, 1));
  ByteBudget::Reservation all;
  ASSERT_TRUE(pipeline.core()->memory().reserve(100, all).ok());
  std::thread server = served_by(pipeline, 1, [](PillowWorker& worker) {
    try {
      worker.reserve(1);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::closed);
      worker.fail({Errc::closed, error.what()});
    }
  });
  while (pipeline.core()->memory().usage().waiting == 0) std::this_thread::yield();
  pipeline.close();
  server.join();
}

// A good file for which there was no memory is not a bad file.
TEST(Memory, ALackOfItIsRaisedWhateverThePolicy) {
  for (const ErrorPolicy policy : {ErrorPolicy::raise, ErrorPolicy::skip, ErrorPolicy::replace}) {
    Dataset dataset(6);
    dataset.overwrite(1, "GIF89a");
    PipelineConfig config = dataset.config(3, 2);
    config.on_error = policy;
    Pipeline pipeline(config);
    pipeline.start_epoch(0, 0);
    pipeline.open(range(0, 3));
    pipeline.open(range(3, 6));
    std::thread server = served_by(
        pipeline, 1, [](PillowWorker& worker) { worker.fail({Errc::out_of_memory, "there is none"}); });
    Batch batch;
    try {
      (void)pipeline.next(kNoDeadline, batch);
      ADD_FAILURE();
    } catch (const SampleFailureError&) {
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::out_of_memory);
      EXPECT_NE(std::string(error.what()).find("1.jpg"), std::string::npos) << error.what();
    }
    server.join();
    EXPECT_EQ(indices(take(pipeline)), range(3, 6));
    EXPECT_TRUE(pipeline.take_errors().empty());
    EXPECT_EQ(pipeline.core()->counters().failed_samples.load(), 0u);
  }
}

}  // namespace
}  // namespace pyfastdl
