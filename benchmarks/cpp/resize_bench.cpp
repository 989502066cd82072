// What the transform costs on one core: the main job's sample (a random region of a 500x375 photograph, resized to
// 224x224, flipped at times, normalised to float32) from pixels in memory, part by part.
//
//   resize_bench [seconds]
//
// Prints the CPU time a sample takes in each part: copying rows out of memory (the decoder's place), resizing, and all
// of it with the writing into cells. The cells are those of a ring of four batches of 64, so they are not in the cache.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/pixels_source.h"
#include "base/random.h"
#include "transform/plan.h"
#include "transform/resizer.h"
#include "transform/transformer.h"

namespace {

using namespace pyfastdl;

constexpr Size kImage{375, 500};
constexpr Size kOut{224, 224};

class Discard : public RowSink {
 public:
  void put_row(const std::uint8_t* rgb) override { sum_ += rgb[0]; }
  unsigned sum_ = 0;
};

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Repeats work(i) for `seconds`; microseconds each in the quietest of the rounds, all of which do the same samples.
template <class Work>
double measure(double seconds, Work work) {
  constexpr int kRound = 256;
  double best = 1e9;
  for (const double end = cpu_seconds() + seconds; cpu_seconds() < end;) {
    const double start = cpu_seconds();
    for (int i = 0; i < kRound; ++i) work(i);
    best = std::min(best, cpu_seconds() - start);
  }
  return best / kRound * 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1.0;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(kImage.height) * kImage.width * kPixelBytes +
                                   kRowPadding);
  SampleRandom random({.seed = 1});
  for (std::uint8_t& byte : pixels) byte = static_cast<std::uint8_t>(random.below(256));
  PixelsSource source(pixels.data(), kImage, kPixelBytes, kImage.width * kPixelBytes);

  const RandomResizedCrop crop{.size = kOut};
  const Normalize normalize{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  const auto plan =
      std::make_shared<Plan>(std::vector<Op>{crop, RandomHorizontalFlip{}, normalize},
                             PassOrder::shrink_vertical_first, PixelFormat{DType::float32, Layout::chw});
  const auto key = [](int i) { return SampleKey{.seed = 7, .index = static_cast<std::uint64_t>(i)}; };

  std::vector<std::uint8_t> row_memory(kImage.width * kPixelBytes + kRowPadding);
  std::uint8_t* rows[1] = {row_memory.data()};
  const double copying = measure(seconds, [&](int i) {
    const Region region = std::get<DrawnCrop>(plan->sample(kImage, key(i))[0].value).box;
    (void)source.start(region);
    for (int y = 0; y < region.height; ++y) (void)source.read_rows(rows, 1);
  });

  Resizer resizer;
  Discard discard;
  const double resizing = measure(seconds, [&](int i) {
    const Region region = std::get<DrawnCrop>(plan->sample(kImage, key(i))[0].value).box;
    (void)resizer.run({region.size(), kOut, whole(kOut)}, source, region.top, region.left, discard);
  });

  constexpr int kCells = 256;
  const std::size_t cell_bytes = plan->cell_bytes(kOut);
  std::unique_ptr<std::byte, void (*)(void*)> cells(
      static_cast<std::byte*>(std::aligned_alloc(64, cell_bytes * kCells)), std::free);
  Transformer transformer(plan);
  const double all = measure(seconds, [&](int i) {
    (void)transformer.run(source, key(i), kOut,
                          cells.get() + cell_bytes * static_cast<std::size_t>(i % kCells));
  });

  std::printf("copy rows %.1f us, + resize %.1f us, + flip, normalise, store %.1f us (in all), a sample\n",
              copying, resizing, all);
  return 0;
}
