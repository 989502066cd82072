#include "transform/auto_augment.h"

#include <gtest/gtest.h>

namespace pyfastdl {
namespace {

TEST(AutoAugment, MagnitudesAreFloat32TablesFromTheNearerEnd) {
  const TrivialAugmentWide wide;
  EXPECT_EQ(magnitude(wide, Augment::rotate, 0), 0);
  EXPECT_EQ(magnitude(wide, Augment::rotate, 30), 135);
  EXPECT_EQ(magnitude(wide, Augment::rotate, 15), 67.5);
  EXPECT_EQ(magnitude(wide, Augment::shear_x, 30), static_cast<double>(0.99f));
  EXPECT_EQ(magnitude(wide, Augment::solarize, 0), 255);
  EXPECT_EQ(magnitude(wide, Augment::solarize, 30), 0);
  EXPECT_EQ(magnitude(wide, Augment::equalize, 7), 0);
  const RandAugment rand;
  EXPECT_NEAR(magnitude(rand, Augment::translate_x, {100, 331}), 45, 1e-5);
  EXPECT_NEAR(magnitude(rand, Augment::translate_y, {331, 100}), 45, 1e-5);
}

TEST(AutoAugment, PosterizeBitsRoundHalfToEven) {
  const RandAugment rand;
  const TrivialAugmentWide wide;
  // 8 - round(9 / (30 / 4)) and so on.
  EXPECT_EQ(magnitude(rand, Augment::posterize, {1, 1}), 7);
  EXPECT_EQ(magnitude(RandAugment{2, 30}, Augment::posterize, {1, 1}), 4);
  EXPECT_EQ(magnitude(wide, Augment::posterize, 30), 2);
  EXPECT_EQ(magnitude(TrivialAugmentWide{13}, Augment::posterize, 1), 8);  // half a bit
  EXPECT_EQ(magnitude(TrivialAugmentWide{13}, Augment::posterize, 3), 6);  // one and a half
}

TEST(AutoAugment, SignsAreForWhatHasTwoDirections) {
  int with_sign = 0, with_magnitude = 0;
  for (std::uint64_t i = 0; i < kAugments; ++i) {
    with_sign += is_signed(static_cast<Augment>(i));
    with_magnitude += has_magnitude(static_cast<Augment>(i));
  }
  EXPECT_EQ(with_sign, 9);
  EXPECT_EQ(with_magnitude, 11);
  EXPECT_EQ(augment_name(Augment::auto_contrast), "AutoContrast");
}

TEST(AutoAugment, FactorsStartAtOneAndTranslationsAreWholePixels) {
  const auto op = [](Augment augment, double m) {
    return image_op(augment, m, {10, 20}, Sampling::nearest, {1, 2, 3});
  };
  EXPECT_FALSE(op(Augment::identity, 0).has_value());
  EXPECT_EQ(std::get<AdjustSaturation>(*op(Augment::color, -0.25)).factor, 0.75);
  EXPECT_EQ(std::get<AdjustBrightness>(*op(Augment::brightness, 0.5)).factor, 1.5);
  EXPECT_EQ(std::get<Posterize>(*op(Augment::posterize, 5)).bits, 5);
  EXPECT_EQ(std::get<Rotate>(*op(Augment::rotate, -30)).degrees, -30);
  const Affine moved = std::get<Affine>(*op(Augment::translate_x, -2.9));
  EXPECT_EQ(moved.matrix, (std::array<double, 6>{1, 0, 2, 0, 1, 0}));
  EXPECT_EQ(moved.fill, (Rgb{1, 2, 3}));
}

}  // namespace
}  // namespace pyfastdl
