// The random numbers of one sample: Philox 4x32-10 keyed by (seed, epoch, index, occurrence).
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). A counter-based
// generator has no state to share, so a sample's numbers do not depend on threads, timing or ranks.
//
// Counter: word 0 = block (12 bits) | domain (4) | index bits 32..47 (16); word 1 = index bits 0..31;
// word 2 = epoch; word 3 = occurrence. Key: the 64 bits of the seed. The layout is part of what a seed means:
// changing it changes every run, so the tests pin it.
//
// Several views of one sample: view 0 has the key above. View v > 0 has a key of its own, words 0 and 1 of the block at
// counter (domain `view`, v, 0, 0) under the seed's key, and the same counters: its numbers are independent of the
// other views', and adding a view changes nothing for those before it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pyfastdl {

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key);

// What the numbers are for: two domains never share one.
enum class Domain : std::uint32_t {
  transform = 0,
  shuffle = 1,
  replacement = 2,
  view = 3,
  python = 4,  // pyfastdl/workers/sample_rng.py
};

struct SampleKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint64_t index = 0;  // below 2^48
  std::uint32_t occurrence = 0;
  std::uint32_t view = 0;
};

class SampleRandom {
 public:
  explicit SampleRandom(const SampleKey& key, Domain domain = Domain::transform);

  std::uint32_t next();

  // Uniform in [0, 1), 53 bits.
  double uniform();
  // Uniform in [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // Uniform integer in [0, n), without bias for any n. REQUIRES: n > 0.
  std::uint64_t below(std::uint64_t n);

 private:
  void refill();

  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> block_{};
  unsigned used_ = 4;
};

// Numbers from the standard normal distribution, as many as are wanted, by a 64-bit key that a SampleRandom gave.
//
// Element i of the sequence is a function of the key and of i alone: the block of Philox at counter (i / 4, 0, 0, 0) has
// four words, and Box and Muller's transform ("A note on the generation of random normal deviates", 1958) makes two
// normals of words 0 and 1, and two of words 2 and 3, in single precision.
class NormalNoise {
 public:
  explicit NormalNoise(std::uint64_t key);
  // The next `count` numbers of the sequence.
  void fill(float* out, std::size_t count);

 private:
  void refill();

  std::array<std::uint32_t, 2> key_;
  std::uint32_t next_block_ = 0;
  std::array<float, 4> block_{};
  unsigned used_ = 4;
};

}  // namespace pyfastdl
