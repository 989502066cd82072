// ViewTransformer: the views of one image, each a plan's result in a cell of its own.
//
// A single view streams: rows go from the decoder to the cell without an image in between. With several, the image is
// decoded once, the smallest box that holds what all of them need, and each view then runs from memory. An image that
// is in memory already is not copied.
//
// One per thread: it owns a Transformer a view and the decoded box, and keeps their memory up to a limit. Nothing blocks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/byte_buffer.h"
#include "base/random.h"
#include "base/row_source.h"
#include "transform/transformer.h"

namespace pyfastdl {

struct View {
  std::shared_ptr<const Plan> plan;
  Size cell_size;  // what the plan must make of every image
};

class ViewTransformer {
 public:
  // `fast`: a single view may take a smaller image, see use_smaller_image(). REQUIRES: at least one view.
  explicit ViewTransformer(const std::vector<View>& views, bool fast = false);

  // `image` was opened; cells[v] has room for view v's pixels. View v gets the numbers of `key` with that view; key.view
  // is not looked at. The first view that fails is the image's failure.
  Status run(RowSource& image, const SampleKey& key, std::span<std::byte* const> cells);

 private:
  Status run_several(RowSource& image, const SampleKey& key, std::span<std::byte* const> cells);
  Status run_each(RowSource& image, std::span<std::byte* const> cells);
  // `held`: bytes that the views will take beside the box.
  Status read_box(RowSource& image, const Region& box, std::uint64_t held);

  std::vector<Transformer> transformers_;
  std::vector<Size> cell_sizes_;
  ByteBuffer pixels_;  // the decoded box, rows of RGBX as the source writes them
  std::size_t stride_ = 0;
  std::size_t offset_ = 0;  // of a row's first pixel
};

}  // namespace pyfastdl
