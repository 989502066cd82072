// Ticket: the right, and the duty, to fill one cell.
#pragma once

#include <cstdint>

namespace pyfastdl {

// Whose random numbers the samples of a batch get (base/random.h).
struct BatchKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
};

struct Ticket {
  std::uint32_t slot = 0;
  std::uint32_t cell = 0;
  std::uint64_t batch = 0;       // sequence number of the batch in this ring
  std::int64_t index = 0;        // which sample
  std::uint32_t occurrence = 0;  // how many times this index came before in its epoch
  BatchKey key;
};

}  // namespace pyfastdl
