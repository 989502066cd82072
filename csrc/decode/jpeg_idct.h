// The inverse DCT of baseline JPEG: libjpeg's "islow", bit by bit, several blocks at a time.
//
// Loeffler, Ligtenberg and Moschytz, "Practical fast 1-D DCT algorithms with 11 multiplications", ICASSP 1989, as
// matrices with 13-bit constants: sums modulo 2^32 don't depend on their order, so that only the two roundings count.
//
// libjpeg's own vector code works with 16-bit numbers in between and wraps or saturates beyond them, one version
// other than another. Blocks that come near that are refused.
//
// One thread. The queue owns its coefficients, borrows the samples' memory. Nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pyfastdl {

struct IdctJob {
  std::uint8_t* samples = nullptr;  // of the upper left corner
  std::ptrdiff_t stride = 0;
  // In natural order; borrowed until flush(). A coefficient times its entry fits 14 bits.
  const std::uint16_t* quant = nullptr;
  int last = 0;  // the last coefficient that isn't zero, in the order of the file
};

class IdctQueue {
 public:
  static constexpr int kBlocks = 32;

  // Zeros to be filled, in natural order, before push().
  std::int16_t* block() { return blocks_[count_]; }

  // Adds the block; false if transforming those that are waiting found one to refuse.
  bool push(const IdctJob& job) {
    jobs_[count_++] = job;
    return count_ < kBlocks || flush();
  }

  // Transforms what waits; afterwards all blocks are zero again.
  bool flush();

  // Forgets what waits.
  void clear();

 private:
  alignas(64) std::int16_t blocks_[kBlocks][64] = {};
  IdctJob jobs_[kBlocks];
  int count_ = 0;
};

// Whether there is vector code for this machine; without it libjpeg is faster.
bool idct_has_vectors();

}  // namespace pyfastdl
