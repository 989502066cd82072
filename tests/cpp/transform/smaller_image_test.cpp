#include "transform/smaller_image.h"

#include <gtest/gtest.h>

namespace pyfastdl {
namespace {

// An image that can be had smaller, and says so.
class Shrinkable final : public RowSource {
 public:
  explicit Shrinkable(Size size, bool willing = true) : size_(size), willing_(willing) {}
  Size size() const override { return size_; }
  bool shrink(int eighths) override {
    asked = eighths;
    if (!willing_) return false;
    size_ = {(size_.height * eighths + 7) / 8, (size_.width * eighths + 7) / 8};
    return true;
  }
  Status start(const Region&) override { return {}; }
  std::size_t row_bytes() const override { return 0; }
  std::size_t row_offset() const override { return 0; }
  Status read_rows(std::uint8_t* const*, int) override { return {}; }
  Status finish() override { return {}; }

  int asked = 0;

 private:
  Size size_;
  bool willing_;
};

TEST(SmallerImage, KeepsAtLeastTheResultsPixelsBothWays) {
  EXPECT_EQ(least_eighths({224, 224}, {224, 224}), 8);
  EXPECT_EQ(least_eighths({447, 448}, {224, 224}), 8);
  EXPECT_EQ(least_eighths({448, 448}, {224, 224}), 4);
  EXPECT_EQ(least_eighths({896, 4000}, {224, 224}), 2);
  EXPECT_EQ(least_eighths({1792, 1792}, {224, 224}), 1);
  EXPECT_EQ(least_eighths({1792, 300}, {224, 224}), 8);
  EXPECT_EQ(least_eighths({10, 10}, {224, 224}), 8);
}

TEST(SmallerImage, TheCropKeepsItsEdges) {
  Shrinkable image({1001, 1003});
  Steps steps;
  steps.start(image.size());
  steps.crop({3, 5, 900, 998});
  steps.resize({224, 224}, Filter::bilinear, PassOrder::horizontal_first);
  use_smaller_image(image, steps);
  EXPECT_EQ(image.asked, 2);
  const Step& step = steps.list().front();
  EXPECT_TRUE(inside(step.crop, image.size()));
  EXPECT_EQ(step.resize.in, step.crop.size());
  EXPECT_EQ(step.crop.top + step.resize.rows.begin, 3 / 4.0);
  EXPECT_EQ(step.crop.left + step.resize.columns.begin, 5 / 4.0);
  EXPECT_EQ(step.resize.rows.length, 900 / 4.0);
  EXPECT_EQ(step.resize.columns.length, 998 / 4.0);
  EXPECT_TRUE(inside(needed_region(step.resize), step.resize.in));
}

TEST(SmallerImage, AnImageThatCannotStaysAsItIs) {
  Shrinkable image({1000, 1000}, false);
  Steps steps;
  steps.start(image.size());
  steps.resize({100, 100}, Filter::bilinear, PassOrder::horizontal_first);
  use_smaller_image(image, steps);
  EXPECT_EQ(image.asked, 1);
  EXPECT_EQ(steps.list().front().crop, whole({1000, 1000}));
  EXPECT_EQ(steps.list().front().resize.rows, Extent{});
}

// A constant image must stay constant, whatever the fractions: the weights of every output sum to one.
TEST(SmallerImage, FractionalPartsAreWeighedInFull) {
  for (const double begin : {0.0, 0.125, 0.5, 0.875}) {
    for (const double length : {4.0, 6.25, 7.125}) {
      Taps taps;
      compute_taps(Filter::bilinear, 8, 3, 0, 3, taps, {begin, length});
      for (int i = 0; i < 3; ++i) {
        std::int64_t sum = 0;
        for (int k = 0; k < taps.count[static_cast<std::size_t>(i)]; ++k) sum += taps.weight(i, k);
        EXPECT_NEAR(static_cast<double>(sum), 1 << kWeightBits, 8);
      }
      EXPECT_GE(taps.begin, 0);
      EXPECT_LE(taps.end, 8);
    }
  }
}

}  // namespace
}  // namespace pyfastdl
