#include "base/random.h"

#include <cmath>
#include <numbers>

namespace pyfastdl {
namespace {

// Multipliers and Weyl increments of Philox 4x32, from the paper's table 2 and section 4.3.
constexpr std::uint32_t kMul0 = 0xD2511F53u;
constexpr std::uint32_t kMul1 = 0xCD9E8D57u;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9u;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85u;

constexpr std::uint32_t kBlockBits = 12;
constexpr std::uint32_t kBlockMask = (1u << kBlockBits) - 1;

}  // namespace

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMul0} * c[0];
    const std::uint64_t p1 = std::uint64_t{kMul1} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
    k[0] += kWeyl0;
    k[1] += kWeyl1;
  }
  return c;
}

SampleRandom::SampleRandom(const SampleKey& key, Domain domain)
    : counter_{(static_cast<std::uint32_t>(domain) << kBlockBits) |
                   static_cast<std::uint32_t>((key.index >> 32) & 0xFFFF) << 16,
               static_cast<std::uint32_t>(key.index), key.epoch, key.occurrence},
      key_{static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)} {
  if (key.view == 0) return;
  const auto block =
      philox4x32_10({static_cast<std::uint32_t>(Domain::view) << kBlockBits, key.view, 0, 0}, key_);
  key_ = {block[0], block[1]};
}

void SampleRandom::refill() {
  block_ = philox4x32_10(counter_, key_);
  // The block number wraps inside its own bits: 16,384 numbers a sample, far more than any plan draws.
  counter_[0] = (counter_[0] & ~kBlockMask) | ((counter_[0] + 1) & kBlockMask);
  used_ = 0;
}

std::uint32_t SampleRandom::next() {
  if (used_ == block_.size()) refill();
  return block_[used_++];
}

double SampleRandom::uniform() {
  const std::uint64_t high = next() >> 5;  // 27 bits
  const std::uint64_t low = next() >> 6;   // 26 bits
  return static_cast<double>((high << 26) | low) * 0x1.0p-53;
}

std::uint64_t SampleRandom::below(std::uint64_t n) {
  // Lemire's multiply-and-reject ("Fast random integer generation in an interval", 2019).
  if (n <= 0xFFFFFFFFu) {
    const std::uint32_t n32 = static_cast<std::uint32_t>(n);
    std::uint64_t m = std::uint64_t{next()} * n32;
    if (static_cast<std::uint32_t>(m) < n32) {
      const std::uint32_t threshold = (0u - n32) % n32;
      while (static_cast<std::uint32_t>(m) < threshold) m = std::uint64_t{next()} * n32;
    }
    return m >> 32;
  }
  const std::uint64_t limit = n * (~std::uint64_t{0} / n);
  std::uint64_t x;
  do {
    x = (std::uint64_t{next()} << 32) | next();
  } while (x >= limit);
  return x % n;
}

NormalNoise::NormalNoise(std::uint64_t key)
    : key_{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)} {}

void NormalNoise::fill(float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (used_ == block_.size()) refill();
    out[i] = block_[used_++];
  }
}

void NormalNoise::refill() {
  const auto words = philox4x32_10({next_block_++, 0, 0, 0}, key_);
  for (std::size_t i = 0; i < 4; i += 2) {
    // In (0, 1]: the logarithm of the first is finite.
    const float first = (static_cast<float>(words[i] >> 8) + 1.0f) * 0x1.0p-24f;
    const float second = static_cast<float>(words[i + 1] >> 8) * 0x1.0p-24f;
    const float radius = std::sqrt(-2.0f * std::log(first));
    const float angle = 2.0f * std::numbers::pi_v<float> * second;
    block_[i] = radius * std::cos(angle);
    block_[i + 1] = radius * std::sin(angle);
  }
  used_ = 0;
}

}  // namespace pyfastdl
