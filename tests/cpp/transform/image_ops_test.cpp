#include "transform/image_ops.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "transform/point_ops.h"
#include "transform/transform_testing.h"

namespace pyfastdl {
namespace {

testing::RgbImage after(std::vector<ImageOp> ops, testing::RgbImage image) {
  ImageOps().run(ops, image.bytes.data(), image.size);
  return image;
}

TEST(ImageOps, RunsOneAfterAnother) {
  const testing::RgbImage image = testing::noise({20, 31}, 3);
  EXPECT_TRUE(after({}, image) == image);
  EXPECT_TRUE(after({Invert{}, Invert{}}, image) == image);
  EXPECT_TRUE(after({AdjustBrightness{0.5}, Invert{}}, image) ==
              after({Invert{}}, after({AdjustBrightness{0.5}}, image)));
  EXPECT_FALSE(after({AdjustBrightness{0.5}, Invert{}}, image) ==
               after({Invert{}, AdjustBrightness{0.5}}, image));
}

TEST(ImageOps, OneRunnerTakesImagesOfAnySize) {
  const std::vector<ImageOp> ops{AdjustSharpness{1.5}, Rotate{10, Sampling::bicubic, {1, 2, 3}},
                                 Affine{{1, 0.1, 0, 0, 1, 0}}};
  ImageOps runner;
  for (const Size size : {Size{30, 40}, Size{1, 1}, Size{2, 90}, Size{64, 3}}) {
    testing::RgbImage image = testing::noise(size, 5);
    const testing::RgbImage expected = after(ops, image);
    runner.run(ops, image.bytes.data(), size);
    EXPECT_TRUE(image == expected);
    runner.trim(0);
  }
}

TEST(ImageOps, FactorsOfOneChangeNothing) {
  const testing::RgbImage image = testing::noise({20, 31}, 3);
  EXPECT_TRUE(after({AdjustBrightness{1}, AdjustContrast{1}, AdjustSaturation{1}, AdjustSharpness{1}},
                    image) == image);
}

TEST(PointOps, EveryByteAndCount) {
  for (std::size_t count = 0; count <= 260; ++count) {
    std::vector<std::uint8_t> bytes(261);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
    const std::vector<std::uint8_t> before = bytes;
    const auto expect = [&](auto operation, auto plain) {
      bytes = before;
      operation();
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        ASSERT_EQ(bytes[i], i < count ? static_cast<std::uint8_t>(plain(before[i])) : before[i]);
      }
    };
    expect([&] { invert(bytes.data(), count); }, [](int x) { return 255 - x; });
    for (int bits = 0; bits <= 8; ++bits) {
      expect([&] { posterize(bytes.data(), count, bits); },
             [&](int x) { return x >> (8 - bits) << (8 - bits); });
    }
    for (const double threshold : {-1.0, 0.0, 0.5, 128.0, 254.5, 255.0, 255.5, 1e300}) {
      expect([&] { solarize(bytes.data(), count, threshold); },
             [&](int x) { return x < threshold ? x : 255 - x; });
    }
  }
}

TEST(PointOps, AutocontrastReachesBothEndsOfEachChannel) {
  for (int pixels = 1; pixels <= 130; ++pixels) {
    std::vector<std::uint8_t> rgb(static_cast<std::size_t>(pixels) * 3, 100);
    for (std::size_t i = 0; i < rgb.size(); i += 3) rgb[i + 1] = static_cast<std::uint8_t>(50 + i / 3);
    autocontrast(rgb.data(), static_cast<std::size_t>(pixels));
    EXPECT_EQ(rgb[0], 100);  // of one level: stays
    EXPECT_EQ(rgb[1], pixels == 1 ? 50 : 0);
    // 255 in theory; what is cut off below it in double stays 254, as in Pillow.
    EXPECT_GE(rgb[rgb.size() - 2], pixels == 1 ? 50 : 254);
  }
}

TEST(PointOps, EqualizeLeavesWhatHasTooFewPixels) {
  testing::RgbImage image = testing::noise({9, 9}, 3);
  const testing::RgbImage before = image;
  equalize(image.bytes.data(), 81);
  EXPECT_TRUE(image == before);
}

}  // namespace
}  // namespace pyfastdl
