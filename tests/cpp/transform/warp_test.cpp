#include "transform/warp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "transform/affine_matrix.h"
#include "transform/transform_testing.h"

namespace pyfastdl {
namespace {

constexpr std::array<std::uint8_t, 3> kFill{10, 200, 77};

// What Pillow's filters do, a channel at a time.
double at(const testing::RgbImage& image, int y, int x, int c) {
  return image.at(std::clamp(y, 0, image.size.height - 1), std::clamp(x, 0, image.size.width - 1))[c];
}

double bilinear(const double* v, double d) { return v[0] + (v[1] - v[0]) * d; }

double bicubic(const double* v, double d) {
  const double p2 = -v[0] + v[2], p3 = 2 * (v[0] - v[1]) + v[2] - v[3], p4 = -v[0] + v[1] - v[2] + v[3];
  return v[1] + d * (p2 + d * (p3 + d * p4));
}

testing::RgbImage expected_of(const Affine& op, const testing::RgbImage& image) {
  testing::RgbImage out(image.size);
  const auto& m = op.matrix;
  const int side = op.sampling == Sampling::bilinear ? 2 : 4;
  const auto blend = op.sampling == Sampling::bilinear ? bilinear : bicubic;
  for (int y = 0; y < image.size.height; ++y) {
    for (int x = 0; x < image.size.width; ++x) {
      double from_x = m[0] * (x + 0.5) + m[1] * (y + 0.5) + m[2];
      double from_y = m[3] * (x + 0.5) + m[4] * (y + 0.5) + m[5];
      const bool in = from_x >= 0 && from_x < image.size.width && from_y >= 0 && from_y < image.size.height;
      from_x -= 0.5;
      from_y -= 0.5;
      for (int c = 0; c < 3; ++c) {
        if (!in) {
          out.at(y, x)[c] = op.fill[static_cast<std::size_t>(c)];
          continue;
        }
        const int low_x = static_cast<int>(std::floor(from_x)), low_y = static_cast<int>(std::floor(from_y));
        double column[4], row[4];
        for (int k = 0; k < side; ++k) {
          for (int i = 0; i < side; ++i)
            row[i] = at(image, low_y + k + 1 - side / 2, low_x + i + 1 - side / 2, c);
          column[k] = blend(row, from_x - low_x);
        }
        out.at(y, x)[c] = static_cast<std::uint8_t>(std::clamp(blend(column, from_y - low_y), 0.0, 255.0));
      }
    }
  }
  return out;
}

testing::RgbImage warped(const Affine& op, testing::RgbImage image) {
  ByteBuffer scratch;
  warp(op, image.bytes.data(), image.size, scratch);
  return image;
}

TEST(Warp, BlendsNeighboursOnEveryTarget) {
  testing::for_each_target([] {
    for (int width = 1; width <= 70; ++width) {
      const Size size{std::max(1, 71 - width), width};
      const testing::RgbImage image = testing::noise(size, static_cast<unsigned>(width));
      for (const double angle : {0.0, 13.0, 90.0, 200.0}) {
        const AffineMatrix matrix = inverse_affine_matrix({width * 0.5, size.height * 0.5}, angle,
                                                          {1.5, -0.25}, 0.8 + angle / 400, {angle / 9, 3});
        for (const Sampling sampling : {Sampling::bilinear, Sampling::bicubic}) {
          const Affine op{matrix, sampling, kFill};
          ASSERT_TRUE(warped(op, image) == expected_of(op, image))
              << width << " wide, " << angle << " degrees";
        }
      }
    }
  });
}

TEST(Warp, TheIdentityIsTheImage) {
  for (const Sampling sampling : {Sampling::nearest, Sampling::bilinear, Sampling::bicubic}) {
    for (const Size size : {Size{1, 1}, Size{7, 33}, Size{50, 2}}) {
      const testing::RgbImage image = testing::noise(size, 5);
      EXPECT_TRUE(warped({{1, 0, 0, 0, 1, 0}, sampling, kFill}, image) == image);
    }
  }
}

// Places whose rounding isn't in question: all three ways of the nearest pixel agree.
TEST(Warp, NearestMovesMirrorsAndTransposes) {
  const testing::RgbImage image = testing::noise({40, 40}, 7);
  const auto expect = [&](const AffineMatrix& matrix, auto place) {
    testing::RgbImage expected(image.size);
    for (int y = 0; y < 40; ++y) {
      for (int x = 0; x < 40; ++x) {
        const auto [from_y, from_x] = place(y, x);
        const bool in = from_y >= 0 && from_y < 40 && from_x >= 0 && from_x < 40;
        std::copy_n(in ? image.at(from_y, from_x) : kFill.data(), 3, expected.at(y, x));
      }
    }
    EXPECT_TRUE(warped({matrix, Sampling::nearest, kFill}, image) == expected);
  };
  using P = std::pair<int, int>;
  expect({1, 0, 5, 0, 1, -3}, [](int y, int x) { return P{y - 3, x + 5}; });
  expect({-1, 0, 40, 0, 1, 0}, [](int y, int x) { return P{y, 39 - x}; });
  expect({1, 0, 100, 0, 1, 0}, [](int, int) { return P{-1, -1}; });
  expect({0.5, 0, 0, 0, 2, 0},
         [](int y, int x) { return P{2 * y + 1, x / 2}; });  // 2 y + 1 is a centre's edge
  expect({0, 1, 0, 1, 0, 0}, [](int y, int x) { return P{x, y}; });
  expect({0, -1, 45, 1, 0, 2}, [](int y, int x) { return P{x + 2, 44 - y}; });
  expect({0, 1, 100000, 1, 0, 0}, [](int, int) { return P{-1, -1}; });  // too far for fixed point
  expect({1, 2000, 0, 0, 1, 0}, [](int, int) { return P{-1, -1}; });
}

// Numbers at the edge of what fits, or that aren't finite, give the fill and touch nothing else.
TEST(Warp, AnyMatrixIsSafe) {
  const double numbers[] = {0,        1,     -1,           1e-300, 0.4999,   819, -32767.99,
                            32767.99, 65535, 2147483648.0, 1e300,  INFINITY, NAN};
  for (const Size size : {Size{1, 1}, Size{3, 40}, Size{40, 1}}) {
    const testing::RgbImage image = testing::noise(size, 9);
    std::minstd_rand random(1);
    for (int i = 0; i < 3000; ++i) {
      AffineMatrix matrix;
      for (double& number : matrix) number = numbers[random() % std::size(numbers)];
      for (const Sampling sampling : {Sampling::nearest, Sampling::bilinear, Sampling::bicubic}) {
        warped({matrix, sampling, kFill}, image);
      }
    }
  }
  const AffineMatrix lost{NAN, 0, 0, 0, 1, 0};
  for (const Sampling sampling : {Sampling::nearest, Sampling::bilinear, Sampling::bicubic}) {
    const testing::RgbImage out = warped({lost, sampling, kFill}, testing::noise({1, 1}, 1));
    EXPECT_TRUE(std::equal(kFill.begin(), kFill.end(), out.bytes.begin()));
  }
}

testing::RgbImage rotated(double degrees, testing::RgbImage image) {
  ByteBuffer scratch;
  rotate({degrees, Sampling::bilinear, kFill}, image.bytes.data(), image.size, scratch);
  return image;
}

TEST(Rotate, QuartersOfSquaresMovePixels) {
  for (const int side : {1, 2, 3, 8, 33}) {
    const testing::RgbImage image = testing::noise({side, side}, 3);
    testing::RgbImage quarter(image.size);
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) std::copy_n(image.at(x, side - 1 - y), 3, quarter.at(y, x));
    }
    EXPECT_TRUE(rotated(90, image) == quarter);
    EXPECT_TRUE(rotated(-270, image) == quarter);
    EXPECT_TRUE(rotated(450, image) == quarter);
    EXPECT_TRUE(rotated(270, quarter) == image);
    EXPECT_TRUE(rotated(360, image) == image);
    EXPECT_TRUE(rotated(180, image) == rotated(90, quarter));
  }
}

TEST(Rotate, HalfATurnOfAnyShape) {
  const testing::RgbImage image = testing::noise({5, 8}, 3);
  const testing::RgbImage half = rotated(180, image);
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 8; ++x)
      EXPECT_TRUE(std::equal(half.at(y, x), half.at(y, x) + 3, image.at(4 - y, 7 - x)));
  }
  EXPECT_TRUE(rotated(-180, half) == image);
}

}  // namespace
}  // namespace pyfastdl
