// An input is a transform, an image's size and a sample's key: the result is written into memory of just its size.
//
// Nothing is compared: the tests in Python do that against torchvision. Here the sanitizers look for memory that isn't
// ours, and for numbers that don't fit.
#include <fuzzer/FuzzedDataProvider.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/pixels_source.h"
#include "target.h"
#include "transform/plan.h"
#include "transform/transformer.h"

namespace pyfastdl::fuzzing {
namespace {

constexpr int kMostOps = 5;
// Bounds the time of an input, not the plan's own limits.
constexpr double kMostPixels = 1 << 16;

constexpr Filter kFilters[] = {Filter::box, Filter::bilinear, Filter::bicubic, Filter::lanczos};
constexpr PassOrder kOrders[] = {PassOrder::horizontal_first, PassOrder::tall_vertical_first,
                                 PassOrder::shrink_vertical_first};
constexpr PadMode kPadModes[] = {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::symmetric};
constexpr Sampling kSamplings[] = {Sampling::nearest, Sampling::bilinear, Sampling::bicubic};
constexpr DType kDTypes[] = {DType::uint8, DType::float16, DType::bfloat16, DType::float32};

// Mostly sides that pictures have, now and then any int.
int side(FuzzedDataProvider& bytes) {
  const auto kind = bytes.ConsumeIntegral<std::uint8_t>();
  if (kind == 0) return bytes.ConsumeIntegral<int>();
  return kind < 128 ? bytes.ConsumeIntegralInRange(1, 20) : bytes.ConsumeIntegralInRange(1, 300);
}

double number(FuzzedDataProvider& bytes) {
  if (bytes.ConsumeIntegral<std::uint8_t>() == 0) return bytes.ConsumeFloatingPoint<double>();
  return bytes.ConsumeFloatingPointInRange(0.0, 4.0);
}

std::array<double, 2> range(FuzzedDataProvider& bytes) {
  const double a = number(bytes), b = number(bytes);
  return {std::min(a, b), std::max(a, b)};
}

std::array<double, 3> three(FuzzedDataProvider& bytes) {
  return {number(bytes), number(bytes), number(bytes)};
}

std::optional<Range> maybe_range(FuzzedDataProvider& bytes) {
  if (bytes.ConsumeBool()) return std::nullopt;
  return range(bytes);
}

Padding padding(FuzzedDataProvider& bytes) {
  const auto border = [&] {
    return bytes.ConsumeIntegral<std::uint8_t>() == 0 ? bytes.ConsumeIntegral<int>()
                                                      : bytes.ConsumeIntegralInRange(-30, 30);
  };
  return {border(), border(), border(), border()};
}

Rgb color(FuzzedDataProvider& bytes) {
  const auto byte = [&] { return bytes.ConsumeIntegral<std::uint8_t>(); };
  return {byte(), byte(), byte()};
}

Op op_from(FuzzedDataProvider& bytes) {
  switch (bytes.ConsumeIntegralInRange(0, 17)) {
    case 0:
    case 1:
      return RandomResizedCrop{
          {side(bytes), side(bytes)}, range(bytes), range(bytes), bytes.PickValueInArray(kFilters)};
    case 2:
      return Resize{{side(bytes), side(bytes)}, bytes.PickValueInArray(kFilters)};
    case 3: {
      std::optional<int> max_size;
      if (bytes.ConsumeBool()) max_size = side(bytes);
      return ResizeShorter{side(bytes), max_size, bytes.PickValueInArray(kFilters)};
    }
    case 4:
      return CenterCrop{{side(bytes), side(bytes)}};
    case 5:
      return RandomHorizontalFlip{number(bytes)};
    case 6:
      return Pad{padding(bytes), color(bytes), bytes.PickValueInArray(kPadModes)};
    case 7: {
      RandomCrop crop{.size = {side(bytes), side(bytes)}};
      if (bytes.ConsumeBool()) crop.padding = padding(bytes);
      crop.pad_if_needed = bytes.ConsumeBool();
      crop.fill = color(bytes);
      crop.mode = bytes.PickValueInArray(kPadModes);
      return crop;
    }
    case 8:
      return RandomVerticalFlip{number(bytes)};
    case 9:
      return Grayscale{};
    case 10:
      return RandomGrayscale{number(bytes)};
    case 11:
      return ColorJitter{maybe_range(bytes), maybe_range(bytes), maybe_range(bytes), maybe_range(bytes)};
    case 12:
      return RandAugment{bytes.ConsumeIntegralInRange(-1, 4), bytes.ConsumeIntegralInRange(-1, 40),
                         bytes.ConsumeIntegralInRange(0, 40), bytes.PickValueInArray(kSamplings),
                         color(bytes)};
    case 13:
      return TrivialAugmentWide{bytes.ConsumeIntegralInRange(0, 40), bytes.PickValueInArray(kSamplings),
                                color(bytes)};
    case 14:
      return ToBytes{bytes.ConsumeBool()};
    case 15:
      return ToDtype{bytes.PickValueInArray(kDTypes), bytes.ConsumeBool()};
    case 16: {
      RandomErasing erasing{.p = number(bytes), .scale = range(bytes), .ratio = range(bytes)};
      if (bytes.ConsumeBool()) erasing.value = three(bytes);
      return erasing;
    }
    default:
      return Normalize{three(bytes), three(bytes)};
  }
}

// Memory without room for one byte more, which the address sanitizer watches.
std::unique_ptr<std::byte[]> exactly(std::size_t bytes) {
  return std::unique_ptr<std::byte[]>(new std::byte[bytes]);
}

bool is_small(Size size) { return static_cast<double>(size.height) * size.width <= kMostPixels; }

// No image on the way is large.
bool is_cheap(const std::vector<Op>& ops, Size image, PassOrder order) {
  std::vector<Op> some;
  for (const Op& op : ops) {
    if (std::holds_alternative<Normalize>(op)) continue;
    some.push_back(op);
    try {
      if (!is_small(Plan(some, order, {}).output_size(image))) return false;
    } catch (const Error&) {
      return true;  // the whole plan will be refused as well
    }
  }
  return true;
}

// Refuses what a loader's budget would.
class LimitedSource : public PixelsSource {
 public:
  using PixelsSource::PixelsSource;
  void will_keep(std::uint64_t bytes) override { kept_ = bytes; }
  Status start(const Region& region) override {
    if (kept_ > kMostBytes) return {Errc::limit, "more than the budget"};
    return PixelsSource::start(region);
  }

 private:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
  std::uint64_t kept_ = 0;
};

}  // namespace

void run_input(std::span<const std::uint8_t> input) {
  FuzzedDataProvider bytes(input.data(), input.size());
  const Size image{bytes.ConsumeIntegralInRange(1, 200), bytes.ConsumeIntegralInRange(1, 200)};
  const PassOrder order = bytes.PickValueInArray(kOrders);
  const PixelFormat format{bytes.PickValueInArray(kDTypes), bytes.ConsumeBool() ? Layout::hwc : Layout::chw};
  SampleKey key;
  key.seed = bytes.ConsumeIntegral<std::uint64_t>();
  key.epoch = bytes.ConsumeIntegral<std::uint32_t>();
  key.index = bytes.ConsumeIntegral<std::uint64_t>() & 0xFFFFFFFFFFFFu;  // below 2^48
  key.occurrence = bytes.ConsumeIntegral<std::uint32_t>();
  const int channels = bytes.ConsumeBool() ? 3 : 4;
  std::vector<Op> ops;
  const int count = bytes.ConsumeIntegralInRange(0, kMostOps);
  for (int i = 0; i < count; ++i) ops.push_back(op_from(bytes));
  if (!is_cheap(ops, image, order)) return;

  std::shared_ptr<const Plan> plan;
  try {
    plan = std::make_shared<Plan>(std::move(ops), order, format);
  } catch (const Error& error) {
    return expect(!std::string(error.what()).empty());
  }
  const std::size_t row = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(channels);
  const auto pixels = exactly(row * static_cast<std::size_t>(image.height));
  std::uint8_t value = 0;
  for (std::size_t i = 0; i < row * static_cast<std::size_t>(image.height); ++i) {
    pixels[i] = static_cast<std::byte>(value = static_cast<std::uint8_t>(value * 5 + 113));
  }
  LimitedSource source(reinterpret_cast<const std::uint8_t*>(pixels.get()), image, channels,
                       static_cast<std::ptrdiff_t>(row));
  const Size out = plan->output_size(image);
  const auto cell = exactly(plan->cell_bytes(out));
  const Status status = Transformer(plan).run(source, key, out, cell.get());
  expect(status.ok() || !status.message().empty());
  if (plan->static_output_size()) expect(!status.ok() || *plan->static_output_size() == out);
}

}  // namespace pyfastdl::fuzzing
