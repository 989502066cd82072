// Counters: what a pipeline did since it was started. Where its time went is in StageClocks.
//
// Written by its threads with relaxed atomics, read by anyone at any time.
#pragma once

#include <atomic>
#include <cstdint>

namespace pyfastdl {

struct Counters {
  std::atomic<std::uint64_t> samples{0};       // cells that got their pixels
  std::atomic<std::uint64_t> file_bytes{0};    // encoded bytes read
  std::atomic<std::uint64_t> cached_reads{0};  // served by the page cache, without a hand-over
  std::atomic<std::uint64_t> waited_reads{0};  // read by the reader threads
  std::atomic<std::uint64_t> region_samples{
      0};  // decoded natively, without pixels that the crop doesn't need
  std::atomic<std::uint64_t> untrusted_samples{0};  // decoded in full for want of trust in libjpeg's regions
  std::atomic<std::uint64_t> libjpeg_samples{0};    // JPEGs that our own engine left to libjpeg
  std::atomic<std::uint64_t> pillow_samples{0};     // decoded by Pillow
  std::atomic<std::uint64_t> failed_samples{0};     // that could not be loaded, replaced or not
  std::atomic<std::uint64_t> batches{0};            // handed over
  std::atomic<std::uint64_t> copied_batches{0};     // of those, as private copies because slots were short
};

inline void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
  counter.fetch_add(n, std::memory_order_relaxed);
}

}  // namespace pyfastdl
