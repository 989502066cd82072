#include "transform/color_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "transform/blend.h"
#include "transform/hue.h"
#include "transform/hue_kernels.h"
#include "transform/transform_testing.h"

namespace pyfastdl {
namespace {

constexpr float kFactors[] = {0.0f,
                              0.1f,
                              0.5f,
                              0.99f,
                              1.0f,
                              1.01f,
                              1.9f,
                              7.3f,
                              -0.4f,
                              1e9f,
                              std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};
constexpr int kWidths = 70;

// Runs both on the same noise of every width, and looks behind the last pixel too.
template <class Kernel, class Plain>
void expect_same(Kernel kernel, Plain plain) {
  testing::for_each_target([&] {
    for (int width = 1; width <= kWidths; ++width) {
      for (const unsigned seed : {1u, 2u}) {
        const testing::RgbImage image = testing::noise({2, width}, seed + 2 * static_cast<unsigned>(width));
        std::vector<std::uint8_t> actual = image.bytes, expected = image.bytes;
        const auto pixels = static_cast<std::size_t>(width);
        kernel(actual.data(), pixels);  // the second row stays as it is
        for (std::size_t i = 0; i < pixels; ++i) plain(expected.data() + i * 3);
        ASSERT_EQ(actual, expected) << width << " pixels";
      }
    }
  });
}

TEST(ColorKernels, BlendWithLevelIsThePlainBlend) {
  for (const float factor : kFactors) {
    for (const std::uint8_t level : {0, 1, 127, 255}) {
      expect_same([=](std::uint8_t* rgb, std::size_t n) { blend_with_level(rgb, n * 3, level, factor); },
                  [=](std::uint8_t* rgb) {
                    for (int c = 0; c < 3; ++c) rgb[c] = blend_byte(level, rgb[c], factor);
                  });
    }
  }
}

TEST(ColorKernels, BlendWithLevelTakesAnyNumberOfBytes) {
  testing::for_each_target([] {
    for (std::size_t count = 0; count <= 70; ++count) {
      std::vector<std::uint8_t> bytes(71, 200);
      blend_with_level(bytes.data(), count, 0, 0.5f);
      for (std::size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], i < count ? 100 : 200) << count;
    }
  });
}

TEST(ColorKernels, BlendWithGrayIsThePlainBlend) {
  for (const float factor : kFactors) {
    expect_same([=](std::uint8_t* rgb, std::size_t n) { blend_with_gray(rgb, n, factor); },
                [=](std::uint8_t* rgb) {
                  const int gray = gray_of(rgb);
                  for (int c = 0; c < 3; ++c) rgb[c] = blend_byte(gray, rgb[c], factor);
                });
  }
}

TEST(ColorKernels, GrayIsThePlainGray) {
  expect_same(to_gray, [](std::uint8_t* rgb) {
    const int gray = gray_of(rgb);
    for (int c = 0; c < 3; ++c) rgb[c] = static_cast<std::uint8_t>(gray);
  });
}

TEST(ColorKernels, GraySumIsTheSumOfPlainGrays) {
  testing::for_each_target([] {
    for (int width = 1; width <= kWidths; ++width) {
      const testing::RgbImage image = testing::noise({1, width}, static_cast<unsigned>(width));
      std::uint64_t sum = 0;
      for (int x = 0; x < width; ++x) sum += static_cast<std::uint64_t>(gray_of(image.at(0, x)));
      ASSERT_EQ(gray_sum(image.bytes.data(), static_cast<std::size_t>(width)), sum) << width;
    }
    // More than 32 bits.
    const std::vector<std::uint8_t> white(3 * 17'000'000, 255);
    EXPECT_EQ(gray_sum(white.data(), 17'000'000), 17'000'000ull * 255);
  });
}

TEST(ColorKernels, ExtremaAreEachChannels) {
  testing::for_each_target([] {
    for (int width = 1; width <= 2 * kWidths; ++width) {
      testing::RgbImage image({1, width});
      std::fill(image.bytes.begin(), image.bytes.end(), std::uint8_t{100});
      for (int x = 0; x < width; x += 3) {
        for (int c = 0; c < 3; ++c) {
          image.at(0, x)[c] = static_cast<std::uint8_t>(200 + c);
          const ChannelExtrema high = channel_extrema(image.bytes.data(), static_cast<std::size_t>(width));
          image.at(0, x)[c] = static_cast<std::uint8_t>(10 + c);
          const ChannelExtrema low = channel_extrema(image.bytes.data(), static_cast<std::size_t>(width));
          image.at(0, x)[c] = 100;
          for (std::size_t k = 0; k < 3; ++k) {
            const bool here = k == static_cast<std::size_t>(c);
            ASSERT_EQ(high.high[k], here ? 200 + c : 100) << width << ", " << x;
            ASSERT_EQ(low.low[k], here ? 10 + c : 100);
            ASSERT_EQ(high.low[k], here && width == 1 ? 200 + c : 100);
          }
        }
      }
    }
  });
}

TEST(HueKernels, EveryWidthIsThePlainTurn) {
  for (const std::uint8_t shift : {0, 1, 25, 127, 129, 255}) {
    expect_same([=](std::uint8_t* rgb, std::size_t n) { turn_hues(rgb, n, shift); },
                [=](std::uint8_t* rgb) { turn_hue(rgb, shift); });
  }
}

// `step` apart in each channel; a row of them at a time.
void expect_turns(int step, std::uint8_t shift) {
  std::vector<std::uint8_t> actual, expected;
  for (int r = 0; r < 256; r += step) {
    actual.clear();
    for (int g = 0; g < 256; g += step) {
      for (int b = 0; b < 256; b += step) {
        for (const int channel : {r, g, b}) actual.push_back(static_cast<std::uint8_t>(channel));
      }
    }
    expected = actual;
    turn_hues(actual.data(), actual.size() / 3, shift);
    for (std::size_t i = 0; i < expected.size(); i += 3) turn_hue(expected.data() + i, shift);
    ASSERT_EQ(actual, expected) << "red " << r << ", shift " << int{shift};
  }
}

TEST(HueKernels, ColoursTurnedByEveryShiftOnEveryTarget) {
  testing::for_each_target([] {
    for (int shift = 0; shift < 256; ++shift) expect_turns(15, static_cast<std::uint8_t>(shift));
  });
}

TEST(HueKernels, EveryColour) { expect_turns(testing::kSanitized ? 3 : 1, 0); }

TEST(Hue, ShiftIsCutOffAndGoesAround) {
  EXPECT_EQ(hue_shift(0), 0);
  EXPECT_EQ(hue_shift(0.5), 127);
  EXPECT_EQ(hue_shift(-0.5), 129);
  EXPECT_EQ(hue_shift(0.0039), 0);
  EXPECT_EQ(hue_shift(-0.0039), 0);
  EXPECT_EQ(hue_shift(-0.004), 255);
}

}  // namespace
}  // namespace pyfastdl
