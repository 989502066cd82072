// Job: one ticket on its way from file to cell.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/byte_budget.h"
#include "base/byte_buffer.h"
#include "ring/ticket.h"

namespace pyfastdl {

struct Job {
  Ticket ticket;
  std::int64_t index = 0;     // the sample being loaded: the ticket's, or the one that takes its place
  std::uint32_t attempt = 0;  // how many replacements were tried
  std::string path;
  ByteBuffer bytes;
  ByteBudget::Reservation memory;  // for what its decoding must hold at once
  std::string reason;  // why the native decoder passed it on to Pillow; empty: it is not its format
};

using JobPtr = std::unique_ptr<Job>;

}  // namespace pyfastdl
