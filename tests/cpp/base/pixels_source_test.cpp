#include "base/pixels_source.h"

#include <gtest/gtest.h>

#include <vector>

namespace pyfastdl {
namespace {

TEST(RgbToRgbx, WidensAndTouchesNothingElse) {
  for (int count = 0; count < 20; ++count) {
    // No byte more than the pixels: the address sanitizer sees a read or a write too far.
    std::vector<std::uint8_t> rgb(static_cast<std::size_t>(count) * 3);
    for (std::size_t i = 0; i < rgb.size(); ++i) rgb[i] = static_cast<std::uint8_t>(i * 37 + 1);
    std::vector<std::uint8_t> rgbx(static_cast<std::size_t>(count) * 4);
    rgb_to_rgbx(rgb.data(), rgbx.data(), count);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(rgbx[4 * i + c], rgb[3 * i + c]);
      EXPECT_EQ(rgbx[4 * i + 3], 255);
    }
  }
}

TEST(PixelsSource, GivesTheRegionsRows) {
  constexpr Size size{5, 6};
  for (const int channels : {3, 4}) {
    const std::ptrdiff_t stride = size.width * channels + 7;
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(stride) * 5);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 11);
    PixelsSource source(pixels.data(), size, channels, stride);
    EXPECT_EQ(source.size(), size);
    ASSERT_TRUE(source.start({1, 2, 3, 4}).ok());
    EXPECT_EQ(source.row_bytes(), 16u);
    std::vector<std::uint8_t> rows(3 * 16);
    std::uint8_t* const pointers[] = {rows.data(), rows.data() + 16, rows.data() + 32};
    ASSERT_TRUE(source.read_rows(pointers, 1).ok());
    ASSERT_TRUE(source.read_rows(pointers + 1, 2).ok());
    EXPECT_TRUE(source.finish().ok());
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 4; ++x) {
        for (int c = 0; c < 3; ++c) {
          EXPECT_EQ(rows[static_cast<std::size_t>(y * 16 + x * 4 + c)],
                    pixels[static_cast<std::size_t>((y + 1) * stride + (x + 2) * channels + c)]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace pyfastdl
