#include "base/oriented_source.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/pixels_source.h"

namespace pyfastdl {
namespace {

struct Picture {
  explicit Picture(Size s) : size(s), rgbx(static_cast<std::size_t>(s.height * s.width) * 4) {
    for (std::size_t i = 0; i < rgbx.size(); ++i) rgbx[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  }
  const std::uint8_t* at(int y, int x) const {
    return rgbx.data() + (static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
                          static_cast<std::size_t>(x)) *
                             4;
  }
  Size size;
  std::vector<std::uint8_t> rgbx;
};

// Where a pixel of the turned image is stored: written out from the EXIF standard's table (which side of the stored
// image is the visual top and left).
void stored_at(int orientation, Size stored, int y, int x, int& from_y, int& from_x) {
  const int h = stored.height, w = stored.width;
  switch (orientation) {
    case 1:
      from_y = y, from_x = x;
      break;
    case 2:
      from_y = y, from_x = w - 1 - x;
      break;
    case 3:
      from_y = h - 1 - y, from_x = w - 1 - x;
      break;
    case 4:
      from_y = h - 1 - y, from_x = x;
      break;
    case 5:
      from_y = x, from_x = y;
      break;
    case 6:
      from_y = h - 1 - x, from_x = y;
      break;
    case 7:
      from_y = h - 1 - x, from_x = w - 1 - y;
      break;
    default:
      from_y = x, from_x = w - 1 - y;
      break;
  }
}

void expect_region(OrientedSource& source, const Picture& picture, int orientation, const Region& region,
                   int rows_a_call) {
  ASSERT_TRUE(source.start(region).ok());
  const std::size_t row = source.row_bytes();
  EXPECT_GE(row, source.row_offset() + static_cast<std::size_t>(region.width) * kPixelBytes);
  std::vector<std::uint8_t> memory((row + kRowPadding) * static_cast<std::size_t>(region.height));
  std::vector<std::uint8_t*> rows;
  for (int y = 0; y < region.height; ++y) {
    rows.push_back(memory.data() + static_cast<std::size_t>(y) * (row + kRowPadding));
  }
  for (int y = 0; y < region.height; y += rows_a_call) {
    ASSERT_TRUE(source.read_rows(rows.data() + y, std::min(rows_a_call, region.height - y)).ok());
  }
  EXPECT_TRUE(source.finish().ok());
  for (int y = 0; y < region.height; ++y) {
    for (int x = 0; x < region.width; ++x) {
      int from_y = 0, from_x = 0;
      stored_at(orientation, picture.size, region.top + y, region.left + x, from_y, from_x);
      for (int c = 0; c < 3; ++c) {
        ASSERT_EQ(
            rows[static_cast<std::size_t>(y)][source.row_offset() + static_cast<std::size_t>(4 * x + c)],
            picture.at(from_y, from_x)[c])
            << "orientation " << orientation << " y " << y << " x " << x;
      }
    }
  }
}

TEST(OrientedSource, TurnsAnyRegion) {
  OrientedSource source;
  for (const Size size : {Size{1, 1}, Size{1, 7}, Size{7, 1}, Size{5, 3}, Size{37, 50}}) {
    const Picture picture(size);
    PixelsSource stored(picture.rgbx.data(), size, 4, size.width * 4);
    for (int orientation = 1; orientation <= 8; ++orientation) {
      source.reset(stored, orientation);
      const Size turned = source.size();
      EXPECT_EQ(turned, (orientation < 5 ? size : Size{size.width, size.height}));
      for (const Region& region :
           {whole(turned),
            Region{turned.height / 2, turned.width / 3, (turned.height + 2) / 3, (turned.width + 1) / 2},
            Region{turned.height - 1, turned.width - 1, 1, 1}}) {
        for (const int rows_a_call : {1, 8, 40}) {
          expect_region(source, picture, orientation, region, rows_a_call);
        }
      }
      source.close();
    }
  }
}

TEST(OrientedSource, SaysWhatItWillHold) {
  const Picture picture({37, 50});
  PixelsSource stored(picture.rgbx.data(), picture.size, 4, 200);
  OrientedSource source;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    source.reset(stored, orientation);
    EXPECT_EQ(source.start_bytes({1, 2, 10, 20}), orientation <= 2 ? 0u : 800u);
  }
}

}  // namespace
}  // namespace pyfastdl
