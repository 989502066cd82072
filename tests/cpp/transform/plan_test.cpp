#include "transform/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "transform/steps.h"

namespace pyfastdl {
namespace {

constexpr PassOrder kOrder = PassOrder::shrink_vertical_first;

Plan make(std::vector<Op> ops, DType dtype = DType::float32) { return Plan(std::move(ops), kOrder, {dtype}); }

std::string refusal(std::vector<Op> ops, DType dtype = DType::float32) {
  try {
    make(std::move(ops), dtype);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_argument);
    return error.what();
  }
  return "";
}

testing::AssertionResult says(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << message << "' does not say '" << part << "'";
}

TEST(Plan, RefusesWhatMakesNoSense) {
  const Normalize normalize{{0, 0, 0}, {1, 1, 1}};
  EXPECT_TRUE(says(refusal({RandomResizedCrop{{0, 5}}}), "RandomResizedCrop"));
  EXPECT_TRUE(says(refusal({RandomResizedCrop{{5, 5}, {0.5, 0.1}}}), "scale"));
  EXPECT_TRUE(says(refusal({RandomResizedCrop{{5, 5}, {-0.1, 0.1}}}), "scale"));
  EXPECT_TRUE(says(refusal({RandomResizedCrop{{5, 5}, {0.1, NAN}}}), "scale"));
  EXPECT_TRUE(says(refusal({RandomResizedCrop{{5, 5}, {0.1, 1}, {0, 1}}}), "ratio"));
  EXPECT_TRUE(says(refusal({RandomResizedCrop{{5, 5}, {0.1, 1}, {1, INFINITY}}}), "ratio"));
  EXPECT_TRUE(says(refusal({Resize{{5, -1}}}), "5x-1"));
  EXPECT_TRUE(says(refusal({Resize{{5, kMaxSide + 1}}}), "Resize"));
  EXPECT_TRUE(says(refusal({ResizeShorter{0}}), "Resize"));
  EXPECT_TRUE(says(refusal({ResizeShorter{10, 10}}), "max_size"));
  EXPECT_TRUE(says(refusal({CenterCrop{{5, 0}}}), "CenterCrop"));
  EXPECT_TRUE(says(refusal({RandomHorizontalFlip{1.5}}), "1.5"));
  EXPECT_TRUE(says(refusal({RandomHorizontalFlip{NAN}}), "probability"));
  EXPECT_TRUE(says(refusal({normalize, CenterCrop{{5, 5}}}), "Normalize comes last"));
  EXPECT_TRUE(says(refusal({normalize, normalize}), "one Normalize"));
  EXPECT_TRUE(says(refusal({Normalize{{0, 0, 0}, {1, 0, 1}}}), "std"));
  EXPECT_TRUE(says(refusal({normalize}, DType::uint8), "uint8"));
  EXPECT_TRUE(says(refusal({CenterCrop{{1, 1000}}, ResizeShorter{10, 20}}), "0x20"));
  EXPECT_EQ(refusal({RandomResizedCrop{{5, 5}, {0, 1}}, normalize, RandomHorizontalFlip{}}), "");
  EXPECT_EQ(refusal({}), "");
}

TEST(Plan, StaticOutputSize) {
  using Answer = std::optional<Size>;
  EXPECT_EQ(make({}).static_output_size(), Answer());
  EXPECT_EQ(make({ResizeShorter{256}, RandomHorizontalFlip{}}).static_output_size(), Answer());
  EXPECT_EQ(make({ResizeShorter{256}, CenterCrop{{224, 220}}}).static_output_size(), Answer({224, 220}));
  EXPECT_EQ(make({Resize{{3, 4}}, RandomHorizontalFlip{}}).static_output_size(), Answer({3, 4}));
  EXPECT_EQ(make({RandomResizedCrop{{3, 4}}}).static_output_size(), Answer({3, 4}));
  EXPECT_EQ(make({Resize{{30, 40}}, ResizeShorter{60}}).static_output_size(), Answer({60, 80}));
}

TEST(Plan, ShorterSideIsTorchvisions) {
  const auto output = [](Size image, ResizeShorter op) { return make({op}).output_size(image); };
  EXPECT_EQ(output({375, 500}, {256}), (Size{256, 341}));  // 341.33 is cut
  EXPECT_EQ(output({500, 375}, {256}), (Size{341, 256}));
  EXPECT_EQ(output({375, 500}, {256, 300}), (Size{225, 300}));  // int(300 * 256 / 341)
  EXPECT_EQ(output({10, 10}, {7}), (Size{7, 7}));
  EXPECT_EQ(output({1, 1000}, {10, 20}), (Size{}));  // the shorter side would vanish
  EXPECT_EQ(output({1, kMaxSide}, {2}), (Size{}));   // the longer one outgrow all bounds
}

TEST(Plan, ImpossibleImagesAreBadData) {
  const Plan plan = make({ResizeShorter{10, 20}, RandomHorizontalFlip{}});
  Steps steps;
  const Status status = plan.resolve({1, 1000}, plan.sample({1, 1000}, {}), steps);
  EXPECT_EQ(status.code(), Errc::bad_data);
  EXPECT_TRUE(says(status.message(), "1x1000"));
  EXPECT_TRUE(says(status.message(), "0x20"));
}

Region box(const Draw& draw) { return std::get<DrawnCrop>(draw.value).box; }
bool taken(const Draw& draw) { return std::get<DrawnChoice>(draw.value).taken; }

// A seed means these numbers, for ever: whoever changes them breaks every run that was to be repeated.
TEST(Plan, DrawsArePinned) {
  const Plan plan = make({RandomResizedCrop{{224, 224}}, RandomHorizontalFlip{}});
  const auto expect = [&plan](const SampleKey& key, const Region& crop, bool flip) {
    const Draws draws = plan.sample({375, 500}, key);
    ASSERT_EQ(draws.size(), 2u);
    EXPECT_EQ(draws[0], (Draw{0, DrawnCrop{crop}}));
    EXPECT_EQ(draws[1], (Draw{1, DrawnChoice{flip}}));
  };
  expect({.seed = 0}, {102, 69, 271, 310}, false);
  expect({.seed = 0, .epoch = 1}, {7, 184, 366, 284}, true);
  expect({.seed = 0, .index = 1}, {32, 187, 299, 291}, false);
  expect({.seed = 0, .occurrence = 1}, {173, 80, 186, 246}, true);
  expect({.seed = 0x0123456789ABCDEF, .epoch = 7, .index = 0x123456789ABC, .occurrence = 3},
         {1, 56, 374, 312}, true);
}

TEST(Plan, DrawsFollowTheOrderOfTheOperations) {
  const SampleKey key{.seed = 5, .epoch = 2, .index = 9};
  const Draws late = make({RandomHorizontalFlip{1}, RandomResizedCrop{{9, 9}}}).sample({60, 70}, key);
  const Draws early = make({RandomResizedCrop{{9, 9}}, RandomHorizontalFlip{1}}).sample({60, 70}, key);
  EXPECT_EQ(late[0].op, 0);
  EXPECT_TRUE(taken(late[0]));
  EXPECT_NE(box(late[1]), box(early[0]));
  // An operation without numbers draws none, and the crop is drawn for the size that the resize before it gives.
  const Draws resized = make({Resize{{60, 70}}, RandomResizedCrop{{9, 9}}}).sample({300, 20}, key);
  ASSERT_EQ(resized.size(), 1u);
  EXPECT_EQ(resized[0].op, 1);
  EXPECT_EQ(box(resized[0]), box(early[0]));
}

TEST(Plan, DrawnCropsKeepToTheRules) {
  const RandomResizedCrop op{{9, 9}, {0.2, 0.6}, {0.5, 2}};
  const Plan plan = make({op});
  int tops_at_edge = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Size image{40 + static_cast<int>(i % 7), 50};
    const Region crop = box(plan.sample(image, {.seed = 3, .index = i})[0]);
    ASSERT_TRUE(inside(crop, image));
    const double area = static_cast<double>(crop.height) * crop.width / (image.height * 50.0);
    EXPECT_GT(area, 0.2 * 0.93);  // sides are rounded
    EXPECT_LT(area, 0.6 * 1.07);
    EXPECT_GT(static_cast<double>(crop.width) / crop.height, 0.5 * 0.93);
    EXPECT_LT(static_cast<double>(crop.width) / crop.height, 2 * 1.07);
    tops_at_edge += crop.top == 0 || crop.bottom() == image.height;
  }
  EXPECT_GT(tops_at_edge, 0);
}

TEST(Plan, FallbackIsTheCentralCrop) {
  // No try can succeed: the image is too long for every ratio.
  const auto fallback = [](Size image, std::array<double, 2> ratio) {
    return box(make({RandomResizedCrop{{9, 9}, {1, 1}, ratio}}).sample(image, {})[0]);
  };
  EXPECT_EQ(fallback({10, 1000}, {0.75, 4.0 / 3}), (Region{0, (1000 - 13) / 2, 10, 13}));
  EXPECT_EQ(fallback({1000, 10}, {0.75, 4.0 / 3}), (Region{(1000 - 13) / 2, 0, 13, 10}));
  EXPECT_EQ(fallback({1, 1000}, {0.1, 0.2}), (Region{0, 499, 1, 1}));  // not a side of 0
  const Plan whole_image = make({RandomResizedCrop{{9, 9}, {2, 2}}});
  EXPECT_EQ(box(whole_image.sample({50, 50}, {})[0]), whole({50, 50}));
}

TEST(Plan, FlipsWithItsProbability) {
  for (const double p : {0.0, 0.25, 1.0}) {
    const Plan plan = make({RandomHorizontalFlip{p}});
    int flips = 0;
    for (std::uint64_t i = 0; i < 4000; ++i) flips += taken(plan.sample({5, 5}, {.index = i})[0]);
    EXPECT_NEAR(flips, 4000 * p, p == 0.25 ? 4 * std::sqrt(4000 * p * (1 - p)) : 0);
  }
}

TEST(Plan, CenterCropIsTorchvisions) {
  const auto window = [](Size image, Size size) {
    const Plan plan = make({CenterCrop{size}});
    Steps steps;
    EXPECT_TRUE(plan.resolve(image, {}, steps).ok());
    return steps.list()[0];
  };
  // Offsets round half to even; padding puts the odd pixel behind.
  EXPECT_EQ(window({10, 13}, {5, 6}).resize.window, (Region{2, 4, 5, 6}));
  EXPECT_EQ(window({12, 13}, {5, 6}).resize.window, (Region{4, 4, 5, 6}));
  const Step padded = window({4, 20}, {9, 7});
  EXPECT_EQ(padded.pad_top, 2);
  EXPECT_EQ(padded.pad_left, 0);
  EXPECT_EQ(padded.resize.window, (Region{0, 6, 4, 7}));
}

}  // namespace
}  // namespace pyfastdl
