// The slow and plain reference of a whole plan: its operations one after another, each on an image in memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "transform/border.h"
#include "transform/image_ops.h"
#include "transform/transform_testing.h"
#include "transform/transformer.h"

namespace pyfastdl::testing {

inline RgbImage upside_down(const RgbImage& image) {
  RgbImage out(image.size);
  for (int y = 0; y < image.size.height; ++y)
    std::copy_n(image.at(image.size.height - 1 - y, 0), image.size.width * 3, out.at(y, 0));
  return out;
}

inline RgbImage pad(const RgbImage& image, const Padding& padding, const Rgb& fill, PadMode mode) {
  RgbImage out(padded_size(padding, image.size));
  // What is taken away is not there to be mirrored.
  const int above = std::max(0, -padding.top), before = std::max(0, -padding.left);
  const int height = image.size.height - above - std::max(0, -padding.bottom);
  const int width = image.size.width - before - std::max(0, -padding.right);
  for (int y = 0; y < out.size.height; ++y) {
    for (int x = 0; x < out.size.width; ++x) {
      int from_y = y - padding.top - above, from_x = x - padding.left - before;
      const bool shows = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
      if (!shows && mode == PadMode::constant) {
        std::copy_n(fill.data(), 3, out.at(y, x));
        continue;
      }
      if (!shows) {
        from_y = mirrored(mode, from_y, height);
        from_x = mirrored(mode, from_x, width);
      }
      std::copy_n(image.at(from_y + above, from_x + before), 3, out.at(y, x));
    }
  }
  return out;
}

// The operations of a plan, with the numbers that it drew. What works on finished bytes is done by ImageOps itself.
class OneByOne {
 public:
  OneByOne(const Plan& plan, RgbImage image, const Draws& draws)
      : plan_(plan), image_(std::move(image)), draw_(draws.begin()) {
    for (const Op& op : plan.ops()) std::visit(*this, op);
  }
  RgbImage take() { return std::move(image_); }

  void operator()(const RandomResizedCrop& o) {
    image_ = resize(crop(image_, next<DrawnCrop>().box), o.size, o.filter, plan_.pass_order());
  }
  void operator()(const Resize& o) { image_ = resize(image_, o.size, o.filter, plan_.pass_order()); }
  void operator()(const ResizeShorter& o) {
    image_ = resize(image_, size_after(o, image_.size), o.filter, plan_.pass_order());
  }
  void operator()(const CenterCrop& o) {
    image_ = crop(image_, {center(image_.size.height, o.size.height), center(image_.size.width, o.size.width),
                           o.size.height, o.size.width});
  }
  void operator()(const Pad& o) { image_ = pad(image_, o.padding, o.fill, o.mode); }
  void operator()(const RandomCrop& o) {
    image_ = pad(image_, o.padding.value_or(Padding{}), o.fill, o.mode);
    const Padding more = missing(o, image_.size);
    image_ = pad(image_, {more.left, 0, more.right, 0}, o.fill, o.mode);
    image_ = pad(image_, {0, more.top, 0, more.bottom}, o.fill, o.mode);
    image_ = crop(image_, next<DrawnCrop>().box);
  }
  void operator()(const RandomHorizontalFlip&) {
    if (next<DrawnChoice>().taken) image_ = mirror(image_);
  }
  void operator()(const RandomVerticalFlip&) {
    if (next<DrawnChoice>().taken) image_ = upside_down(image_);
  }
  void operator()(const RandomGrayscale&) {
    if (next<DrawnChoice>().taken) run(ToGrayscale{});
  }
  void operator()(const ColorJitter&) {
    const auto& drawn = next<DrawnJitter>();
    for (const Jitter jitter : drawn.order) {
      const auto& factor = drawn.factors[static_cast<std::size_t>(jitter)];
      if (!factor) continue;
      if (jitter == Jitter::brightness) run(AdjustBrightness{*factor});
      if (jitter == Jitter::contrast) run(AdjustContrast{*factor});
      if (jitter == Jitter::saturation) run(AdjustSaturation{*factor});
      if (jitter == Jitter::hue) run(AdjustHue{*factor});
    }
  }
  void operator()(const auto&) {}

 private:
  template <class T>
  const T& next() {
    return std::get<T>((draw_++)->value);
  }
  void run(const ImageOp& op) { ImageOps().run(std::span(&op, 1), image_.bytes.data(), image_.size); }

  const Plan& plan_;
  RgbImage image_;
  Draws::const_iterator draw_;
};

inline std::vector<std::byte> cell_of(const Plan& plan, const RgbImage& image) {
  std::vector<std::byte> cell(plan.cell_bytes(image.size));
  const std::size_t row_bytes = static_cast<std::size_t>(image.size.width) * 3;
  std::vector<std::uint8_t> row(row_bytes + kRowPadding);
  for (int y = 0; y < image.size.height; ++y) {
    std::copy_n(image.at(y, 0), row_bytes, row.data());
    plan.writer().write_row(row.data(), y, image.size, false, cell.data());
  }
  return cell;
}

inline void expect_one_by_one(const std::shared_ptr<const Plan>& plan, Transformer& transformer,
                              const RgbImage& image, const SampleKey& key) {
  const RgbImage expected = OneByOne(*plan, image, plan->sample(image.size, key)).take();
  EXPECT_EQ(plan->output_size(image.size), expected.size);
  StrictSource source(image);
  std::vector<std::byte> cell(plan->cell_bytes(expected.size));
  const Status status = transformer.run(source, key, expected.size, cell.data());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(source.starts(), source.finishes());
  EXPECT_TRUE(cell == cell_of(*plan, expected));
}

}  // namespace pyfastdl::testing
