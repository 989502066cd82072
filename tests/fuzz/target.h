// What every fuzz target has: run_input(), which target.cpp calls with each input, and expect().
//
// A target aborts on a finding; the sanitizers and libFuzzer's limits (time, memory) find the rest. One thread.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>

namespace pyfastdl::fuzzing {

// Each target's own. Its work must depend on the input alone, so that a finding can be repeated.
void run_input(std::span<const std::uint8_t> input);

// As assert, whatever the build type.
inline void expect(bool holds) {
  if (!holds) std::abort();
}

}  // namespace pyfastdl::fuzzing
