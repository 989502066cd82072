#include "transform/resizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "transform/transform_testing.h"

namespace pyfastdl {
namespace {

using testing::RgbImage;
using testing::StrictSource;

class Collect : public RowSink {
 public:
  explicit Collect(Size size) : image(size) {}
  void put_row(const std::uint8_t* rgb) override {
    ASSERT_LT(rows, image.size.height);
    std::copy_n(rgb, image.size.width * 3, image.at(rows, 0));
    ++rows;
  }
  RgbImage image;
  int rows = 0;
};

std::string text(const ResizeSpec& spec) {
  const auto size = [](Size s) { return std::to_string(s.height) + "x" + std::to_string(s.width); };
  return size(spec.in) + " to " + size(spec.out) + ", window " + size(spec.window.size()) + " at " +
         std::to_string(spec.window.top) + "," + std::to_string(spec.window.left) + ", filter " +
         std::to_string(static_cast<int>(spec.filter)) + ", order " +
         std::to_string(static_cast<int>(spec.order));
}

// Resizes a crop of `image` and compares the window with that part of the reference's whole result.
void compare(Resizer& resizer, const RgbImage& image, const Region& crop, const ResizeSpec& spec) {
  SCOPED_TRACE(text(spec));
  StrictSource source(image);
  Collect sink(spec.window.size());
  const Status status = resizer.run(spec, source, crop.top, crop.left, sink);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(sink.rows, spec.window.height);
  EXPECT_EQ(source.rows_read(), source.region().height) << "finish() needs every row read";
  const Region needed = needed_region(spec);
  EXPECT_EQ(source.region(),
            (Region{needed.top + crop.top, needed.left + crop.left, needed.height, needed.width}));
  EXPECT_TRUE(inside(needed, spec.in));
  const RgbImage whole_result =
      testing::resize(testing::crop(image, crop), spec.out, spec.filter, spec.order);
  EXPECT_EQ(sink.image, testing::crop(whole_result, spec.window));
}

// Sizes from 1 up, mostly small, at times long and thin.
class Cases {
 public:
  explicit Cases(unsigned seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  int side() { return 1 + below(below(8) == 0 ? 200 : 40); }
  Size size() { return {side(), side()}; }
  Region part(Size size) {
    const int height = 1 + below(size.height), width = 1 + below(size.width);
    return {below(size.height - height + 1), below(size.width - width + 1), height, width};
  }
  Filter filter() { return testing::kFilters[below(4)]; }
  PassOrder order() { return testing::kPassOrders[below(3)]; }

 private:
  std::minstd_rand random_;
};

TEST(Resizer, EqualsTheReferenceOnEveryTarget) {
  testing::for_each_target([] {
    Resizer resizer;
    Cases cases(1);
    for (unsigned i = 0; i < 300; ++i) {
      const RgbImage image = testing::noise(cases.size(), i);
      const Region crop = cases.part(image.size);
      const Size out = cases.size();
      compare(resizer, image, crop, {crop.size(), out, whole(out), cases.filter(), cases.order()});
      if (::testing::Test::HasFailure()) return;
    }
  });
}

TEST(Resizer, WindowIsThatPartOfTheWholeResult) {
  Resizer resizer;
  Cases cases(2);
  for (unsigned i = 0; i < 400; ++i) {
    const RgbImage image = testing::noise(cases.size(), i);
    const Region crop = cases.part(image.size);
    const Size out = cases.size();
    for (const Filter filter : testing::kFilters) {
      for (const PassOrder order : testing::kPassOrders) {
        compare(resizer, image, crop, {crop.size(), out, cases.part(out), filter, order});
      }
    }
    if (HasFailure()) return;
  }
}

TEST(Resizer, LeavesOutAPassThatChangesNothing) {
  Resizer resizer;
  const RgbImage image = testing::noise({37, 41}, 1);
  const Region crop{3, 5, 30, 31};
  for (const Size out : {Size{30, 31}, Size{30, 12}, Size{30, 77}, Size{9, 31}, Size{80, 31}}) {
    compare(resizer, image, crop,
            {crop.size(), out, whole(out), Filter::lanczos, PassOrder::horizontal_first});
    compare(resizer, image, crop, {crop.size(), out, {2, 3, out.height - 4, out.width - 5}, Filter::bicubic});
  }
}

// So many taps that the halves of the sums must be carried over, with the largest bytes there are.
TEST(Resizer, SumsOfThousandsOfTaps) {
  testing::for_each_target([] {
    Resizer resizer;
    for (const Size in : {Size{3000, 4}, Size{4, 3000}}) {
      RgbImage image = testing::noise(in, 1);
      for (std::uint8_t& byte : image.bytes) byte |= 0xF0;
      for (const Filter filter : testing::kFilters) {
        for (const Size out : {Size{1, 1}, Size{5, 3}}) {
          compare(resizer, image, whole(in), {in, out, whole(out), filter, PassOrder::shrink_vertical_first});
        }
      }
    }
  });
}

TEST(Resizer, AsksOnlyForWhatTheWindowNeeds) {
  // Halving, bilinear: outputs 10..19 need sources 2 * 10 - 1 to 2 * 19 + 2.
  const ResizeSpec spec{
      {200, 100}, {100, 50}, {10, 20, 10, 5}, Filter::bilinear, PassOrder::shrink_vertical_first};
  EXPECT_EQ(needed_region(spec), (Region{19, 39, 22, 12}));
  // An axis that stays as it is needs its window only.
  EXPECT_EQ(needed_region({{200, 100}, {200, 50}, {10, 20, 10, 5}}), (Region{10, 39, 10, 12}));
}

TEST(Resizer, StopsAtTheSourcesError) {
  Resizer resizer;
  const RgbImage image = testing::noise({64, 64}, 1);
  for (const Size out : {Size{32, 32}, Size{64, 32}, Size{32, 64}, Size{64, 64}, Size{8, 60}}) {
    StrictSource source(image);
    source.fail_at(40);
    Collect sink(out);
    const Status status = resizer.run({image.size, out, whole(out)}, source, 0, 0, sink);
    EXPECT_EQ(status.code(), Errc::bad_data);
    EXPECT_EQ(status.message(), "cut off");
    EXPECT_LT(sink.rows, out.height);
  }
  compare(resizer, image, whole(image.size), {image.size, {20, 20}, whole({20, 20})});  // and works again
}

}  // namespace
}  // namespace pyfastdl
