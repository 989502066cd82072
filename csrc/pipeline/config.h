// What a pipeline is built from. Constant after construction; shared by all its threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/geometry.h"
#include "decode/decoder.h"
#include "pipeline/target_table.h"
#include "read/file_reader.h"
#include "ring/layout.h"
#include "source/path_table.h"
#include "transform/view_transformer.h"

namespace pyfastdl {

// What happens to a batch with a sample that could not be loaded.
enum class ErrorPolicy {
  raise,    // the batch is not handed over: its first failure is raised
  replace,  // another sample, chosen by the sample's own key, takes the place
  skip,     // the batch closes up in order and is smaller
};

struct PipelineConfig {
  std::shared_ptr<const PathTable> paths;
  std::vector<View> views;                     // what becomes of each sample: one field of pixels each
  std::shared_ptr<const TargetTable> targets;  // nullptr: samples have none
  std::uint32_t batch_size = 1;                // the largest batch that open() takes
  std::uint32_t prefetch = 4;                  // batches open at once
  std::uint32_t held = 1;  // batches that the consumer may keep in their slots, 1 to `prefetch`
  unsigned decode_threads = 1;
  unsigned read_threads = 4;
  bool return_index = false;
  ErrorPolicy on_error = ErrorPolicy::raise;
  bool apply_exif_orientation = false;
  bool fast = false;  // decode fewer pixels where the result is small: inexact
  DecodeLimits limits;
  // What the images that are decoded at a time may take together, as far as they must be held whole.
  std::uint64_t max_memory = std::uint64_t{1} << 30;
  std::uint64_t max_file_bytes = kMaxFileBytes;
};

// Targets and indices are fields too.
inline constexpr std::size_t kMaxViews = kMaxFields - 2;

// prefetch open ones, the batch in the consumer's hands, and the one it still holds while it asks for the next. A
// consumer that holds more has fewer open at a time; one slot is always left to open.
inline std::uint32_t slots_of(const PipelineConfig& config) { return config.prefetch + 2; }

}  // namespace pyfastdl
