#include "transform/steps.h"

#include <gtest/gtest.h>

namespace pyfastdl {
namespace {

constexpr PassOrder kOrder = PassOrder::shrink_vertical_first;

TEST(Steps, CropsCompose) {
  Steps steps;
  steps.start({100, 200});
  steps.crop({10, 20, 50, 60});
  steps.crop({5, 6, 20, 30});
  ASSERT_EQ(steps.list().size(), 1u);
  steps.resize({7, 8}, Filter::bilinear, kOrder);
  ASSERT_EQ(steps.list().size(), 1u);
  const Step& step = steps.list()[0];
  EXPECT_EQ(step.crop, (Region{15, 26, 20, 30}));
  EXPECT_EQ(step.resize.in, (Size{20, 30}));
  EXPECT_EQ(step.resize.window, whole({7, 8}));
  EXPECT_EQ(steps.size(), (Size{7, 8}));
  EXPECT_FALSE(step.padded());
}

TEST(Steps, CropAfterResizeIsItsWindow) {
  Steps steps;
  steps.start({100, 200});
  steps.resize({50, 100}, Filter::bilinear, kOrder);
  steps.crop({5, 6, 20, 30});
  ASSERT_EQ(steps.list().size(), 1u);
  EXPECT_EQ(steps.list()[0].resize.out, (Size{50, 100}));
  EXPECT_EQ(steps.list()[0].resize.window, (Region{5, 6, 20, 30}));
}

TEST(Steps, FlipMirrorsTheCropsAfterIt) {
  Steps steps;
  steps.start({100, 200});
  steps.flip();
  steps.crop({5, 6, 20, 30});
  EXPECT_EQ(steps.list()[0].resize.window, (Region{5, 200 - 6 - 30, 20, 30}));
  EXPECT_TRUE(steps.list()[0].flip);
  steps.flip();
  EXPECT_FALSE(steps.list()[0].flip);
}

TEST(Steps, WhatIsNotTheSameToTheBitStartsAStep) {
  Steps flipped;
  flipped.start({100, 200});
  flipped.flip();
  flipped.resize({100, 200}, Filter::bilinear, kOrder);  // changes nothing
  EXPECT_EQ(flipped.list().size(), 1u);
  flipped.resize({10, 20}, Filter::bilinear, kOrder);
  EXPECT_EQ(flipped.list().size(), 2u);
  EXPECT_TRUE(flipped.list()[0].flip);
  EXPECT_FALSE(flipped.list()[1].flip);

  Steps resized;
  resized.start({100, 200});
  resized.resize({50, 50}, Filter::bilinear, kOrder);
  resized.resize({10, 20}, Filter::bilinear, kOrder);
  EXPECT_EQ(resized.list().size(), 2u);

  Steps padded;
  padded.start({10, 10});
  padded.crop({-2, -2, 14, 14});
  padded.resize({5, 5}, Filter::bilinear, kOrder);
  ASSERT_EQ(padded.list().size(), 2u);
  EXPECT_EQ(padded.list()[1].crop, whole({14, 14}));
}

TEST(Steps, PaddingIsCutAgain) {
  Steps steps;
  steps.start({10, 12});
  steps.crop({-3, -4, 20, 22});
  const Step& step = steps.list()[0];
  EXPECT_TRUE(step.padded());
  EXPECT_EQ(step.resize.window, whole({10, 12}));
  EXPECT_EQ(step.pad_top, 3);
  EXPECT_EQ(step.pad_left, 4);
  steps.crop({4, 2, 8, 20});
  EXPECT_EQ(step.resize.window, (Region{1, 0, 8, 12}));
  EXPECT_EQ(step.pad_top, 0);
  EXPECT_EQ(step.pad_left, 2);
  EXPECT_EQ(step.canvas, (Size{8, 20}));
  steps.crop({0, 0, 8, 2});  // nothing of the image is left
  EXPECT_FALSE(step.shows_input());
  EXPECT_EQ(step.canvas, (Size{8, 2}));
  steps.crop({0, 0, 3, 1});
  EXPECT_FALSE(step.shows_input());
}

}  // namespace
}  // namespace pyfastdl
