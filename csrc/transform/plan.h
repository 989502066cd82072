// Plan: the operations of a transform, checked once, and everything that follows from them.
//
// Constant once made: shared by all threads through shared_ptr<const Plan>. Nothing blocks. A plan's random numbers
// are a pure function of the image's size and the SampleKey.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/geometry.h"
#include "base/random.h"
#include "base/status.h"
#include "transform/draw.h"
#include "transform/filter.h"
#include "transform/op.h"
#include "transform/pixels.h"
#include "transform/steps.h"

namespace pyfastdl {

class Plan {
 public:
  // `basics` says dtype and layout; the rest of the format comes from the operations (conversions.h).
  // Throws Error (invalid_argument) that names the operation and what is wrong with it.
  Plan(std::vector<Op> ops, PassOrder order, PixelFormat basics);

  const std::vector<Op>& ops() const { return ops_; }
  PassOrder pass_order() const { return order_; }
  const PixelFormat& format() const { return writer_.format(); }
  const PixelWriter& writer() const { return writer_; }

  // The size of every result, or nullopt when it depends on the image.
  std::optional<Size> static_output_size() const { return static_size_; }
  // The result's size for an image of this size. {0, 0}: the image can't be transformed, and resolve() says why.
  Size output_size(Size image) const;
  std::size_t cell_bytes(Size output) const { return writer_.cell_bytes(output); }

  // The random numbers of a sample, drawn one after another in the order of the operations. The overload keeps the
  // vector's memory. For an image that can't be transformed the numbers end where it fails. REQUIRES: not empty.
  Draws sample(Size image, const SampleKey& key) const;
  void sample(Size image, const SampleKey& key, Draws& draws) const;

  // What to do to an image of this size with the numbers drawn for it. Errc::bad_data where torchvision would fail too
  // (a side that becomes 0, a RandomCrop larger than the image), or where a side grows past kMaxSide.
  Status resolve(Size image, const Draws& draws, Steps& steps) const;

 private:
  std::vector<Op> ops_;
  PassOrder order_;
  PixelWriter writer_;
  std::optional<Size> static_size_;
};

}  // namespace pyfastdl
