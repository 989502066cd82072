#include "transform/transformer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "transform/functional.h"
#include "transform/one_by_one.h"
#include "transform/transform_testing.h"

namespace pyfastdl {
namespace {

using testing::expect_one_by_one;
using testing::RgbImage;
using testing::StrictSource;

constexpr PassOrder kOrder = PassOrder::shrink_vertical_first;

// Any operations in any order give what they give one by one, to the bit.
TEST(Transformer, EqualsTheOperationsOneByOne) {
  std::minstd_rand random(1);
  const auto below = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto size = [&below] { return Size{1 + below(40), 1 + below(40)}; };
  std::size_t longest = 0;
  for (unsigned i = 0; i < 1500; ++i) {
    std::vector<Op> ops;
    std::string names;
    for (int n = below(6); n > 0; --n) {
      const Filter filter = testing::kFilters[below(4)];
      const auto mode = static_cast<PadMode>(below(4));
      const auto grey = static_cast<std::uint8_t>(below(3));
      const Rgb fill{grey, static_cast<std::uint8_t>(below(2)), grey};
      const Padding padding{below(9) - 1, below(20), below(9), below(9)};
      switch (const int kind = below(10); names += std::to_string(kind), kind) {
        case 0:
          ops.push_back(RandomResizedCrop{size(), {0.08, 1}, {0.75, 1.25}, filter});
          break;
        case 1:
          ops.push_back(Resize{size(), filter});
          break;
        case 2:
          ops.push_back(ResizeShorter{1 + below(30), std::nullopt, filter});
          break;
        case 3:
          ops.push_back(CenterCrop{size()});
          break;
        case 4:
          ops.push_back(Pad{padding, fill, mode});
          break;
        case 5:
          ops.push_back(RandomCrop{size(), padding, true, fill, mode});
          break;
        case 6:
          ops.push_back(RandomVerticalFlip{0.7});
          break;
        case 7:
          ops.push_back(RandomGrayscale{0.7});
          break;
        case 8:
          ops.push_back(ColorJitter{Range{0.5, 1.5}, std::nullopt, Range{0, 2}});
          break;
        default:
          ops.push_back(RandomHorizontalFlip{0.7});
      }
    }
    SCOPED_TRACE("operations " + names + ", case " + std::to_string(i));
    const PixelFormat format{static_cast<DType>(below(4)), static_cast<Layout>(below(2))};
    const auto plan = std::make_shared<const Plan>(ops, testing::kPassOrders[below(3)], format);
    Transformer transformer(plan);
    for (std::uint64_t index = 0; index < 3; ++index) {
      const SampleKey key{.seed = i, .index = index};
      const RgbImage image = testing::noise(size(), i);
      if (plan->output_size(image.size) == Size{}) continue;  // padding took the image away
      Steps steps;
      ASSERT_TRUE(plan->resolve(image.size, plan->sample(image.size, key), steps).ok());
      longest = std::max(longest, steps.list().size());
      expect_one_by_one(plan, transformer, image, key);
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(longest, 4u);  // images between steps were taken in turns
}

TEST(Transformer, TheMainJobIsOneStepOnTheDrawnRegion) {
  const auto plan =
      std::make_shared<const Plan>(std::vector<Op>{RandomResizedCrop{{22, 24}}, RandomHorizontalFlip{},
                                                   Normalize{{.5, .4, .3}, {.2, .3, .4}}},
                                   kOrder, PixelFormat{});
  const RgbImage image = testing::noise({75, 100}, 1);
  Transformer transformer(plan);
  for (std::uint64_t index = 0; index < 40; ++index) {
    const SampleKey key{.seed = 1, .index = index};
    const Draws draws = plan->sample(image.size, key);
    Steps steps;
    ASSERT_TRUE(plan->resolve(image.size, draws, steps).ok());
    EXPECT_EQ(steps.list().size(), 1u);
    StrictSource source(image);
    std::vector<std::byte> cell(plan->cell_bytes({22, 24}));
    ASSERT_TRUE(transformer.run(source, key, {22, 24}, cell.data()).ok());
    EXPECT_EQ(source.region(), std::get<DrawnCrop>(draws[0].value).box);
    expect_one_by_one(plan, transformer, image, key);
  }
}

TEST(Transformer, EvaluationReadsOnlyWhatTheCenterNeeds) {
  const auto plan = std::make_shared<const Plan>(std::vector<Op>{ResizeShorter{50}, CenterCrop{{40, 40}}},
                                                 kOrder, PixelFormat{});
  const RgbImage image = testing::noise({100, 300}, 1);  // becomes 50 x 150
  Transformer transformer(plan);
  StrictSource source(image);
  std::vector<std::byte> cell(plan->cell_bytes({40, 40}));
  ASSERT_TRUE(transformer.run(source, {}, {40, 40}, cell.data()).ok());
  EXPECT_EQ(source.region(), (Region{9, 109, 82, 82}));
  expect_one_by_one(plan, transformer, image, {});
}

TEST(Transformer, AnotherSizeThanTheCellIsBadData) {
  const auto plan = std::make_shared<const Plan>(std::vector<Op>{ResizeShorter{5}}, kOrder, PixelFormat{});
  Transformer transformer(plan);
  const RgbImage image = testing::noise({10, 30}, 1);
  StrictSource source(image);
  std::vector<std::byte> cell(plan->cell_bytes({5, 20}));
  const Status status = transformer.run(source, {}, {5, 20}, cell.data());
  EXPECT_EQ(status.code(), Errc::bad_data);
  EXPECT_NE(status.message().find("5x15"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("5x20"), std::string::npos) << status.message();
  EXPECT_EQ(source.starts(), 0);
}

TEST(Transformer, ErrorsOfTheSourceComeThrough) {
  const RgbImage image = testing::noise({30, 30}, 1);
  for (const std::vector<Op>& ops :
       {std::vector<Op>{Resize{{5, 5}}},
        std::vector<Op>{RandomHorizontalFlip{1}, Resize{{8, 8}}, Resize{{5, 5}}}}) {
    Transformer transformer(std::make_shared<const Plan>(ops, kOrder, PixelFormat{}));
    std::vector<std::byte> cell(5 * 5 * 3 * 4);
    StrictSource cut(image);
    cut.fail_at(12);
    EXPECT_EQ(transformer.run(cut, {}, {5, 5}, cell.data()).message(), "cut off");
    StrictSource unsound(image);
    unsound.fail_finish({Errc::bad_data, "cut off below"});
    EXPECT_EQ(transformer.run(unsound, {}, {5, 5}, cell.data()).message(), "cut off below");
    StrictSource sound(image);
    EXPECT_TRUE(transformer.run(sound, {}, {5, 5}, cell.data()).ok());
  }
}

TEST(ResizedCrop, PadsWithZerosWhatLiesOutside) {
  const RgbImage image = testing::noise({20, 30}, 1);
  for (const Region crop :
       {Region{0, 0, 20, 30}, Region{3, 4, 10, 11}, Region{-5, -6, 40, 50}, Region{10, 20, 30, 5},
        Region{-7, 28, 9, 40}, Region{100, 100, 5, 5}, Region{-50, 3, 10, 10}}) {
    for (const Size out : {Size{7, 9}, Size{40, 31}, crop.size()}) {
      StrictSource source(image);
      RgbImage result(out);
      const Status status = resized_crop(source, crop, out, Filter::bicubic, kOrder, result.bytes.data());
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(result, testing::resize(testing::crop(image, crop), out, Filter::bicubic, kOrder));
      EXPECT_EQ(source.starts(), source.finishes());
    }
  }
}

TEST(ResizedCrop, RefusesEmptyAndAbsurdSizes) {
  const RgbImage image = testing::noise({20, 30}, 1);
  StrictSource source(image);
  std::uint8_t pixel[3];
  for (const Region crop :
       {Region{0, 0, 0, 5}, Region{0, 0, 5, -1}, Region{1 << 30, 0, 5, 5}, Region{0, 0, 1 << 30, 5}}) {
    EXPECT_EQ(resized_crop(source, crop, {1, 1}, Filter::box, kOrder, pixel).code(), Errc::invalid_argument);
  }
  for (const Size out : {Size{0, 1}, Size{1, -1}, Size{1 << 30, 1}}) {
    EXPECT_EQ(resized_crop(source, {0, 0, 5, 5}, out, Filter::box, kOrder, pixel).code(),
              Errc::invalid_argument);
  }
  EXPECT_EQ(source.starts(), 0);
}

}  // namespace
}  // namespace pyfastdl
