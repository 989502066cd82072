// Which sample takes the place of one that could not be loaded.
#pragma once

#include <cstdint>
#include <optional>

#include "base/random.h"

namespace pyfastdl {

// How many others are tried before the sample is given up.
inline constexpr std::uint32_t kMaxReplacements = 100;

// The sample to try at this attempt (from 0) instead of key.index, of `samples` in all: a function of the key alone,
// so that a run can be repeated. It walks on from a random start, so every other sample of a dataset of up to
// kMaxReplacements + 1 is tried once. Nothing when there is no further one to try.
inline std::optional<std::int64_t> replacement(const SampleKey& key, std::uint64_t samples,
                                               std::uint32_t attempt) {
  if (samples < 2 || attempt >= kMaxReplacements || attempt >= samples - 1) return std::nullopt;
  const std::uint64_t start = SampleRandom(key, Domain::replacement).below(samples - 1);
  const std::uint64_t step =
      1 + (start + attempt) % (samples - 1);  // 1 .. samples - 1: never key.index itself
  return static_cast<std::int64_t>((key.index + step) % samples);
}

}  // namespace pyfastdl
