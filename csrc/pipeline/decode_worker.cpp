#include "pipeline/decode_worker.h"

#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "decode/sniff.h"

namespace pyfastdl {
namespace {

// Decoding and resizing take turns, a few rows at a time; telling their times apart costs two readings of the clock each
// turn. One image in eight is measured, and counts for eight.
constexpr unsigned kTimedEvery = 8;

// Runs one sample's work: what it throws becomes the sample's failure, for one image must never be the end of the
// process.
template <class Work>
Status guarded(const char* what, Work work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return {Errc::out_of_memory, std::string("not enough memory to ") + what + " the image"};
  } catch (const std::exception& error) {
    return {Errc::bad_data, error.what()};
  }
}

}  // namespace

DecodeWorker::DecodeWorker(Core& core)
    : core_(core), source_(core.memory()), transformer_(core.config().views, core.config().fast) {}

Status DecodeWorker::transform(Job& job, RowSource& image, int orientation) {
  const SampleKey key = key_of(job);
  cells_.clear();
  for (std::size_t v = 0; v < core_.config().views.size(); ++v) cells_.push_back(core_.pixels(job, v));
  const bool timed = timed_++ % kTimedEvery == 0;
  source_.reset(image, orientation, job.memory, timed);
  const auto begin = std::chrono::steady_clock::now();
  Status status = transformer_.run(source_, key, cells_);
  if (timed) {
    const auto rest = std::chrono::steady_clock::now() - begin - source_.spent() - source_.waited();
    core_.clocks().add(Stage::decode, source_.spent() * kTimedEvery, kTimedEvery);
    core_.clocks().add(Stage::transform, rest * kTimedEvery, kTimedEvery);
  }
  source_.close();
  return status;
}

Status DecodeWorker::decode(Job& job, Decoder& decoder) {
  const PipelineConfig& config = core_.config();
  const std::span<const std::uint8_t> bytes(job.bytes.data(), job.bytes.size());
  if (Status s = decoder.open(bytes, config.limits); !s.ok()) return s;
  int orientation = 1;
  if (config.apply_exif_orientation) {
    const std::optional<int> found = decoder.orientation();
    if (!found) return {Errc::unsupported, "an image whose orientation only Pillow can tell"};
    orientation = *found;
  }
  return transform(job, decoder, orientation);
}

void DecodeWorker::count_route(const Decoder& decoder) {
  Counters& counters = core_.counters();
  if (decoder.last_was_region()) add(counters.region_samples, 1);
  if (decoder.full_decode_reason() != nullptr) add(counters.untrusted_samples, 1);
  if (decoder.used_libjpeg()) add(counters.libjpeg_samples, 1);
}

void DecodeWorker::process(JobPtr job) {
  const std::span<const std::uint8_t> bytes(job->bytes.data(), job->bytes.size());
  if (bytes.empty())
    return core_.fail(std::move(job), {Errc::bad_data, "wanted an image, got an empty file"});
  Decoder* decoder = nullptr;
  Status status = guarded("decode", [&]() -> Status {
    decoder = decoders_.find(sniff(bytes));
    return decoder == nullptr ? Status() : decode(*job, *decoder);
  });
  if (decoder == nullptr && status.ok()) return core_.hand_to_pillow(std::move(job), {});
  if (decoder != nullptr && status.ok()) count_route(*decoder);
  // The memory first, then the right to it: it is another thread's at once.
  if (decoder != nullptr) decoder->close();
  job->memory.release();
  if (status.ok()) return core_.finish(std::move(job));
  // Pillow has the last word on what is broken: a file that it can read is loaded, and otherwise the reason is given
  // in its words, which users know.
  if (status.code() == Errc::unsupported || status.code() == Errc::bad_data) {
    return core_.hand_to_pillow(std::move(job), status.message());
  }
  core_.fail(std::move(job), status);
}

void DecodeWorker::process_pixels(JobPtr job, const std::uint8_t* rgb, Size size) {
  pixels_.reset(rgb, size, 3, static_cast<std::ptrdiff_t>(size.width) * 3);
  const Status status = guarded("transform", [&] { return transform(*job, pixels_, 1); });
  if (!status.ok()) return core_.fail(std::move(job), status);
  add(core_.counters().pillow_samples, 1);
  core_.finish(std::move(job));
}

}  // namespace pyfastdl
