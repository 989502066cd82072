#include "base/permutation.h"

#include <cstddef>
#include <numeric>
#include <utility>

#include "base/random.h"

namespace pyfastdl {
namespace {

// A SampleRandom has 16,384 numbers before it repeats: steps take theirs from one generator per 1,024 steps, which
// leaves room for two numbers a step and every rejection.
constexpr std::size_t kStepsPerGenerator = 1024;

}  // namespace

void permutation(std::span<std::int64_t> order, std::uint64_t seed, std::uint32_t epoch) {
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t end = order.size(); end > 1;) {
    // Steps last … first share the generator of their number last / kStepsPerGenerator.
    const std::size_t generator = (end - 1) / kStepsPerGenerator;
    const std::size_t first = generator * kStepsPerGenerator;
    SampleRandom random({.seed = seed, .epoch = epoch, .index = generator}, Domain::shuffle);
    for (; end > 1 && end > first; --end) {
      std::swap(order[end - 1], order[static_cast<std::size_t>(random.below(end))]);
    }
  }
}

}  // namespace pyfastdl
