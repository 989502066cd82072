#include "pipeline/decode_worker.h"

#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "decode/sniff.h"

namespace pyfastdl {
namespace {

// Decoding and resizing take turns, a few rows at a time; telling their times apart costs two readings of the clock each
// turn. One image in eight is measured, and counts for eight.
constexpr unsigned kTimedEvery = 8;

using Clock = std::chrono::steady_clock;

// Forwards to another source and adds up the time spent there.
class TimedSource final : public RowSource {
 public:
  explicit TimedSource(RowSource& source) : source_(source) {}

  Size size() const override { return source_.size(); }
  Status start(const Region& region) override {
    return timed([&] { return source_.start(region); });
  }
  std::size_t row_bytes() const override { return source_.row_bytes(); }
  std::size_t row_offset() const override { return source_.row_offset(); }
  Status read_rows(std::uint8_t* const* rows, int count) override {
    return timed([&] { return source_.read_rows(rows, count); });
  }
  Status finish() override {
    return timed([&] { return source_.finish(); });
  }

  Clock::duration spent() const { return spent_; }

 private:
  template <class Call>
  Status timed(Call call) {
    const auto begin = Clock::now();
    Status status = call();
    spent_ += Clock::now() - begin;
    return status;
  }

  RowSource& source_;
  Clock::duration spent_{};
};

}  // namespace

DecodeWorker::DecodeWorker(Core& core) : core_(core), transformer_(core.config().views) {}

Status DecodeWorker::transform(const Job& job, RowSource& image) {
  const SampleKey key = key_of(job);
  cells_.clear();
  for (std::size_t v = 0; v < core_.config().views.size(); ++v) cells_.push_back(core_.pixels(job, v));
  if (timed_++ % kTimedEvery != 0) return transformer_.run(image, key, cells_);
  TimedSource timed(image);
  const auto begin = Clock::now();
  Status status = transformer_.run(timed, key, cells_);
  const auto all = Clock::now() - begin;
  core_.clocks().add(Stage::decode, timed.spent() * kTimedEvery, kTimedEvery);
  core_.clocks().add(Stage::transform, (all - timed.spent()) * kTimedEvery, kTimedEvery);
  return status;
}

void DecodeWorker::process(JobPtr job) {
  Status status;
  try {
    const std::span<const std::uint8_t> bytes(job->bytes.data(), job->bytes.size());
    if (bytes.empty()) return core_.fail(std::move(job), "wanted an image, got an empty file");
    Decoder* decoder = decoders_.find(sniff(bytes));
    if (decoder == nullptr) return core_.hand_to_pillow(std::move(job), {});
    status = decoder->open(bytes, core_.config().limits);
    if (status.ok()) status = transform(*job, *decoder);
  } catch (const std::bad_alloc&) {
    status = Status(Errc::out_of_memory, "not enough memory to decode the image");
  } catch (const std::exception& error) {
    status = Status(Errc::bad_data, error.what());  // one image must never be the end of the process
  }
  if (status.ok()) return core_.finish(std::move(job));
  // Pillow has the last word on what is broken: a file that it can read is loaded, and otherwise the reason is given
  // in its words, which users know.
  if (status.code() == Errc::unsupported || status.code() == Errc::bad_data) {
    return core_.hand_to_pillow(std::move(job), status.message());
  }
  core_.fail(std::move(job), status.message());
}

void DecodeWorker::process_pixels(JobPtr job, const std::uint8_t* rgb, Size size) {
  Status status;
  try {
    pixels_.reset(rgb, size, 3, static_cast<std::ptrdiff_t>(size.width) * 3);
    status = transform(*job, pixels_);
  } catch (const std::bad_alloc&) {
    status = Status(Errc::out_of_memory, "not enough memory to transform the image");
  } catch (const std::exception& error) {
    status = Status(Errc::bad_data, error.what());
  }
  if (!status.ok()) return core_.fail(std::move(job), status.message());
  add(core_.counters().pillow_samples, 1);
  core_.finish(std::move(job));
}

}  // namespace pyfastdl
