#include "transform/view_transformer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>

#include "transform/op_rules.h"

namespace pyfastdl {
namespace {

// A decoded box is given back above this: a photograph of one megapixel fits.
constexpr std::size_t kKeepBytes = std::size_t{4} << 20;

bool empty(const Region& region) { return region.height == 0; }

Region around(const Region& a, const Region& b) {
  if (empty(a)) return b;
  if (empty(b)) return a;
  const int top = std::min(a.top, b.top), left = std::min(a.left, b.left);
  return {top, left, std::max(a.bottom(), b.bottom()) - top, std::max(a.right(), b.right()) - left};
}

// The box of an image that was decoded, as the whole image.
class BoxSource final : public RowSource {
 public:
  BoxSource(Size image, const Region& box, const std::uint8_t* pixels, std::size_t stride)
      : image_(image), box_(box), pixels_(pixels), stride_(stride) {}

  Size size() const override { return image_; }
  bool in_memory() const override { return true; }
  Status start(const Region& region) override {
    next_ = pixels_ + static_cast<std::size_t>(region.top - box_.top) * stride_ +
            static_cast<std::size_t>(region.left - box_.left) * kPixelBytes;
    row_bytes_ = static_cast<std::size_t>(region.width) * kPixelBytes;
    return {};
  }
  std::size_t row_bytes() const override { return row_bytes_; }
  std::size_t row_offset() const override { return 0; }
  Status read_rows(std::uint8_t* const* rows, int count) override {
    for (int i = 0; i < count; ++i, next_ += stride_) std::memcpy(rows[i], next_, row_bytes_);
    return {};
  }
  Status finish() override { return {}; }

 private:
  const Size image_;
  const Region box_;
  const std::uint8_t* const pixels_;
  const std::size_t stride_;
  const std::uint8_t* next_ = nullptr;
  std::size_t row_bytes_ = 0;
};

}  // namespace

ViewTransformer::ViewTransformer(const std::vector<View>& views, bool fast) {
  for (const View& view : views) {
    transformers_.emplace_back(view.plan, fast);
    cell_sizes_.push_back(view.cell_size);
  }
}

Status ViewTransformer::run(RowSource& image, const SampleKey& key, std::span<std::byte* const> cells) try {
  if (transformers_.size() == 1) return transformers_[0].run(image, key, cell_sizes_[0], cells[0]);
  Status status = run_several(image, key, cells);
  pixels_.trim(kKeepBytes);
  return status;
} catch (const std::bad_alloc&) {
  return {Errc::out_of_memory, "no memory for an image of " + text(image.size()) + " and its views"};
}

Status ViewTransformer::run_several(RowSource& image, const SampleKey& key,
                                    std::span<std::byte* const> cells) {
  const Size size = image.size();
  Region box;
  std::uint64_t held = 0;  // by the views, one after another
  SampleKey view_key = key;
  for (std::size_t v = 0; v < transformers_.size(); ++v) {
    view_key.view = static_cast<std::uint32_t>(v);
    Status status = transformers_[v].prepare(size, view_key, cell_sizes_[v]);
    if (!status.ok()) return status;
    box = around(box, transformers_[v].needed());
    held = std::max(held, transformers_[v].held_bytes());
  }
  if (image.in_memory()) {
    image.will_keep(held);
    return run_each(image, cells);
  }
  if (!empty(box)) {
    Status status = read_box(image, box, held);
    if (!status.ok()) return status;
  }
  BoxSource source(size, box, pixels_.data() + offset_, stride_);
  return run_each(source, cells);
}

Status ViewTransformer::run_each(RowSource& image, std::span<std::byte* const> cells) {
  for (std::size_t v = 0; v < transformers_.size(); ++v) {
    Status status = transformers_[v].run_prepared(image, cells[v]);
    if (!status.ok()) return status;
  }
  return {};
}

Status ViewTransformer::read_box(RowSource& image, const Region& box, std::uint64_t held) {
  constexpr int kRowsAtOnce = 8;
  // An upper bound: a decoder that can't leave out columns writes rows as wide as the image.
  image.will_keep((static_cast<std::uint64_t>(image.size().width) * kPixelBytes + 2 * kRowPadding) *
                      static_cast<std::uint64_t>(box.height) +
                  held);
  Status status = image.start(box);
  if (!status.ok()) return status;
  offset_ = image.row_offset();
  stride_ = image.row_bytes() + kRowPadding;
  pixels_.resize(stride_ * static_cast<std::size_t>(box.height));
  std::array<std::uint8_t*, kRowsAtOnce> rows{};
  for (int y = 0; y < box.height; y += kRowsAtOnce) {
    const int count = std::min(kRowsAtOnce, box.height - y);
    for (int i = 0; i < count; ++i)
      rows[static_cast<std::size_t>(i)] = pixels_.data() + stride_ * static_cast<std::size_t>(y + i);
    status = image.read_rows(rows.data(), count);
    if (!status.ok()) return status;
  }
  return image.finish();
}

}  // namespace pyfastdl
