#include "transform/steps.h"

#include <gtest/gtest.h>

#include <variant>

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

TEST(Steps, VerticalFlipMirrorsTheCropsAfterIt) {
  Steps steps;
  steps.start({100, 200});
  steps.flip_vertical();
  steps.crop({5, 6, 20, 30});
  EXPECT_EQ(steps.list()[0].resize.window, (Region{100 - 5 - 20, 6, 20, 30}));
  steps.resize({7, 7}, Filter::box, kOrder);
  EXPECT_EQ(steps.list().size(), 2u);
}

TEST(Steps, PaddingOfOneColourFoldsAndAnotherStartsAStep) {
  const Rgb red{255, 0, 0}, blue{0, 0, 255};
  Steps steps;
  steps.start({10, 10});
  steps.crop({-2, -2, 14, 14}, red);
  steps.crop({-1, -1, 16, 16}, red);
  steps.crop({1, 1, 12, 12}, blue);  // reaches nowhere outside: no colour is needed
  ASSERT_EQ(steps.list().size(), 1u);
  EXPECT_EQ(steps.list()[0].fill, red);
  EXPECT_EQ(steps.list()[0].pad_top, 2);
  steps.crop({-1, 0, 13, 12}, blue);
  ASSERT_EQ(steps.list().size(), 2u);
  EXPECT_EQ(steps.list()[1].fill, blue);
  // Once nothing of it shows any more, the next colour folds again.
  Steps cut;
  cut.start({10, 10});
  cut.crop({-2, -2, 14, 14}, red);
  cut.crop({2, 2, 10, 10});
  cut.crop({-1, -1, 12, 12}, blue);
  EXPECT_EQ(cut.list().size(), 1u);
}

TEST(Steps, BordersAndOperationsEndAStep) {
  Steps steps;
  steps.start({10, 12});
  steps.flip();
  steps.add_border(PadMode::edge, {});  // nothing to add
  steps.add_border(PadMode::edge, {1, 2, 3, 4});
  steps.apply(Invert{});
  steps.apply(AutoContrast{});
  ASSERT_EQ(steps.list().size(), 1u);  // border, then operations
  EXPECT_EQ(steps.size(), (Size{16, 16}));
  ASSERT_EQ(steps.image_ops(steps.list()[0]).size(), 2u);
  EXPECT_TRUE(std::holds_alternative<AutoContrast>(steps.image_ops(steps.list()[0])[1]));
  steps.crop({1, 1, 5, 5});
  steps.flip();
  steps.flip_vertical();
  ASSERT_EQ(steps.list().size(), 2u);
  EXPECT_EQ(steps.list()[1].resize.window, (Region{1, 1, 5, 5}));
  steps.apply(Equalize{});
  steps.add_border(PadMode::reflect, {1, 1, 1, 1});
  ASSERT_EQ(steps.list().size(), 3u);
  ASSERT_EQ(steps.image_ops(steps.list()[1]).size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Equalize>(steps.image_ops(steps.list()[1])[0]));
}

TEST(Steps, NeededIsWhatTheFirstStepReads) {
  Steps steps;
  steps.start({100, 200});
  EXPECT_EQ(steps.needed(), whole({100, 200}));
  steps.crop({10, 20, 50, 60});
  EXPECT_EQ(steps.needed(), (Region{10, 20, 50, 60}));
  steps.resize({5, 6}, Filter::box, kOrder);
  steps.crop({1, 1, 2, 2});
  EXPECT_EQ(steps.needed(), (Region{20, 30, 20, 20}));
  steps.crop({3, 3, 2, 2});
  EXPECT_EQ(steps.needed(), Region{});
}

TEST(Steps, FlipsMirrorWhatWasErased) {
  Steps steps;
  steps.start({100, 200});
  steps.erase({{10, 20, 30, 40}});
  steps.flip();
  steps.erase({{1, 2, 3, 4}});
  steps.normalize();
  steps.flip_vertical();
  steps.erase({{5, 6, 7, 8}});
  ASSERT_EQ(steps.erasures().size(), 3u);
  EXPECT_EQ(steps.erasures()[0].box, (Region{60, 140, 30, 40}));
  EXPECT_TRUE(steps.erasures()[0].flip && steps.erasures()[0].flip_vertical && steps.erasures()[0].normalize);
  EXPECT_EQ(steps.erasures()[1].box, (Region{96, 2, 3, 4}));
  EXPECT_FALSE(steps.erasures()[1].flip);
  EXPECT_EQ(steps.erasures()[2].box, (Region{5, 6, 7, 8}));
  EXPECT_FALSE(steps.erasures()[2].normalize);
}

}  // namespace
}  // namespace pyfastdl
