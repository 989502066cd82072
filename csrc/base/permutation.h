// The shuffled order of an epoch, as a pure function of (n, seed, epoch).
//
// Fisher and Yates' shuffle, driven by Philox in the shuffle domain. Which order a seed gives is part of what the
// seed means: the tests pin it. Any thread may call it; nothing blocks.
#pragma once

#include <cstdint>
#include <span>

namespace pyfastdl {

// Fills `order` with 0 … order.size() - 1, every order equally likely.
void permutation(std::span<std::int64_t> order, std::uint64_t seed, std::uint32_t epoch);

}  // namespace pyfastdl
