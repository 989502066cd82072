#include "transform/erasure.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/random.h"

namespace pyfastdl {
namespace {

constexpr Size kSize{5, 7};

std::vector<float> erased(const Erasure& erasure, const PixelFormat& format) {
  const PixelWriter writer(format);
  std::vector<std::byte> cell(writer.cell_bytes(kSize));
  erase(erasure, writer, kSize, cell.data());
  std::vector<float> values(cell.size() / sizeof(float));
  std::memcpy(values.data(), cell.data(), cell.size());
  return values;
}

TEST(Erasure, WritesItsBoxInEitherLayout) {
  const Erasure erasure{{1, 2, 3, 4}, std::array<double, 3>{7, 8, 9}};
  const std::vector<float> planes = erased(erasure, {});
  const std::vector<float> pixels = erased(erasure, {DType::float32, Layout::hwc});
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < 5; ++y) {
      for (int x = 0; x < 7; ++x) {
        const bool in = y >= 1 && y < 4 && x >= 2 && x < 6;
        const float expected = in ? static_cast<float>(7 + c) : 0;
        EXPECT_EQ(planes[static_cast<std::size_t>((c * 5 + y) * 7 + x)], expected);
        EXPECT_EQ(pixels[static_cast<std::size_t>((y * 7 + x) * 3 + c)], expected);
      }
    }
  }
}

TEST(Erasure, NormalizesWhatWasErasedBefore) {
  Erasure erasure{{0, 0, 1, 1}, std::array<double, 3>{1, 1, 1}};
  const PixelFormat format{DType::float32, Layout::chw, std::array<double, 3>{0.5, 0.5, 0.5},
                           std::array<double, 3>{0.25, 0.25, 0.25}};
  EXPECT_EQ(erased(erasure, format)[0], 1);
  erasure.normalize = true;
  EXPECT_EQ(erased(erasure, format)[0], 2);
}

TEST(Erasure, NoiseIsMirroredWithTheImage) {
  Erasure erasure{{1, 2, 3, 4}, std::nullopt, 99};
  const std::vector<float> plain = erased(erasure, {});
  std::vector<float> noise(36);
  NormalNoise(99).fill(noise.data(), noise.size());
  erasure.flip = erasure.flip_vertical = true;
  const std::vector<float> mirrored = erased(erasure, {});
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 4; ++x) {
        const float expected = noise[static_cast<std::size_t>((c * 3 + y) * 4 + x)];
        EXPECT_EQ(plain[static_cast<std::size_t>((c * 5 + 1 + y) * 7 + 2 + x)], expected);
        EXPECT_EQ(mirrored[static_cast<std::size_t>((c * 5 + 3 - y) * 7 + 5 - x)], expected);
      }
    }
  }
}

TEST(Erasure, AnEmptyBoxWritesNothing) {
  EXPECT_EQ(erased({{2, 2, 0, 3}, std::array<double, 3>{1, 1, 1}}, {}), std::vector<float>(105));
}

}  // namespace
}  // namespace pyfastdl
