#include "transform/sharpness.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

#include "transform/blend.h"
#include "transform/transform_testing.h"

namespace pyfastdl {
namespace {

// The filter as Pillow sums it: in float, the lowest row first.
std::uint8_t smoothed(const testing::RgbImage& image, int y, int x, int c) {
  const float one = 1.0f / 13.0f, five = 5.0f / 13.0f;
  float sum = 0.5f;
  for (const int row : {y + 1, y, y - 1}) {
    sum += image.at(row, x - 1)[c] * one + image.at(row, x)[c] * (row == y ? five : one) +
           image.at(row, x + 1)[c] * one;
  }
  return static_cast<std::uint8_t>(sum);
}

testing::RgbImage expected_of(const testing::RgbImage& image, float factor) {
  testing::RgbImage out(image.size);
  for (int y = 0; y < image.size.height; ++y) {
    for (int x = 0; x < image.size.width; ++x) {
      const bool inner = y > 0 && y + 1 < image.size.height && x > 0 && x + 1 < image.size.width;
      for (int c = 0; c < 3; ++c) {
        const int from = inner ? smoothed(image, y, x, c) : image.at(y, x)[c];
        out.at(y, x)[c] = blend_byte(from, image.at(y, x)[c], factor);
      }
    }
  }
  return out;
}

TEST(Sharpness, EveryWidthInPlaceOnEveryTarget) {
  testing::for_each_target([] {
    ByteBuffer scratch;
    for (int width = 1; width <= 70; ++width) {
      for (const int height : {1, 2, 3, 5}) {
        for (const float factor : {0.0f, 0.3f, 1.7f, -2.0f, 50.0f}) {
          const testing::RgbImage image =
              testing::noise({height, width}, static_cast<unsigned>(width + height));
          testing::RgbImage actual = image;
          adjust_sharpness(actual.bytes.data(), actual.size, factor, scratch);
          ASSERT_TRUE(actual == expected_of(image, factor)) << height << "x" << width << " by " << factor;
        }
      }
    }
  });
}

TEST(Sharpness, AFactorThatIsNoFiniteNumberReachesTheBorderToo) {
  ByteBuffer scratch;
  for (const float factor :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (const Size size : {Size{4, 5}, Size{2, 9}, Size{1, 1}}) {
      const testing::RgbImage image = testing::noise(size, 3);
      testing::RgbImage actual = image;
      adjust_sharpness(actual.bytes.data(), size, factor, scratch);
      EXPECT_TRUE(actual == expected_of(image, factor));
    }
  }
}

// Every sum of weighted bytes: the integer division gives what the float sum is cut off to.
TEST(Sharpness, ThirteenthsInIntegersAreTheFloatSums) {
  for (int n = 0; n <= 13 * 255; ++n) {
    const int division = (n + 6) / 13;
    EXPECT_EQ((static_cast<unsigned>(n) + 6) * 5042 >> 16, static_cast<unsigned>(division));
    for (const float error : {-1e-3f, 0.0f, 1e-3f}) {
      EXPECT_EQ(static_cast<int>(static_cast<float>(n) / 13.0f + 0.5f + error), division);
    }
  }
}

}  // namespace
}  // namespace pyfastdl
