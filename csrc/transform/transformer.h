// Transformer: runs a plan on one image and writes the finished pixels into a cell.
//
// One per thread: it owns the scratch memory (a few rows, not whole images) and keeps it from sample to sample.
// The plan is shared and constant. Nothing blocks.
#pragma once

#include <cstddef>
#include <memory>

#include "base/random.h"
#include "base/row_source.h"
#include "transform/plan.h"

namespace pyfastdl {

class Transformer {
 public:
  // `fast`: sources may give smaller images than they have, which isn't exact: see smaller_image.h.
  explicit Transformer(std::shared_ptr<const Plan> plan, bool fast = false);
  ~Transformer();
  Transformer(Transformer&&) noexcept;

  // `image` was opened; `cell` has room for plan.cell_bytes(cell_size). An image that the plan turns into another
  // size than cell_size gives Errc::bad_data naming both sizes.
  Status run(RowSource& image, const SampleKey& key, Size cell_size, std::byte* cell);

  // The two halves of run(), for those who look at what will be read in between.
  Status prepare(Size image, const SampleKey& key, Size cell_size);
  // REQUIRES: prepare() succeeded. Empty: no pixel of the image shows.
  Region needed() const;
  // What run_prepared() will take at once beyond a few rows: for RowSource::will_keep(). REQUIRES: prepare() succeeded.
  std::uint64_t held_bytes() const;
  // REQUIRES: prepare() succeeded, for an image of this size.
  Status run_prepared(RowSource& image, std::byte* cell);

 private:
  struct Scratch;
  std::shared_ptr<const Plan> plan_;
  bool fast_;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace pyfastdl
