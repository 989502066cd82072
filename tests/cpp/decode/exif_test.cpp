#include "decode/exif.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pyfastdl {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

// A little-endian block with one SHORT tag.
Bytes block(std::uint8_t value, std::uint8_t tag = 0x12) {
  return {'I', 'I', '*', 0, 8, 0, 0, 0, 1, 0, tag, 1, 3, 0, 1, 0, 0, 0, value, 0, 0, 0, 0, 0, 0, 0};
}

TEST(Exif, FindsTheTag) {
  EXPECT_EQ(exif_orientation(block(6)), 6);
  EXPECT_EQ(exif_orientation(block(9)), 1);
  EXPECT_EQ(exif_orientation(block(0)), 1);
  EXPECT_EQ(exif_orientation(block(6, 0x13)), std::nullopt);
  EXPECT_EQ(exif_orientation({}), std::nullopt);
  Bytes prefixed = {'E', 'x', 'i', 'f', 0, 0};
  const Bytes inside = block(3);
  prefixed.insert(prefixed.end(), inside.begin(), inside.end());
  EXPECT_EQ(exif_orientation(prefixed), 3);
}

TEST(Exif, ABrokenHeaderTurnsNothingAndAsksNobody) {
  Bytes wrong = block(6);
  wrong[0] = 'X';
  EXPECT_EQ(exif_orientation(wrong), 1);
  EXPECT_EQ(exif_orientation(bytes_of("II*")), 1);
}

// What Pillow's versions make of these differs.
TEST(Exif, LeavesToPillowWhatItsVersionsReadInTwoWays) {
  Bytes twice = block(6);
  const Bytes entry(twice.begin() + 10, twice.begin() + 22);
  twice.insert(twice.begin() + 22, entry.begin(), entry.end());
  twice[8] = 2;
  EXPECT_EQ(exif_orientation(twice), kAskPillow);
  EXPECT_EQ(orientation_of(twice, bytes_of("tiff:Orientation=\"8\"")), std::nullopt);
  twice[10] = 0x0F;  // another tag first, of eight shorts that start at byte 3
  twice[14] = 8;
  EXPECT_EQ(exif_orientation(twice), 6);
  twice[14] = 30;  // more of them than there are bytes
  EXPECT_EQ(exif_orientation(twice), kAskPillow);
  twice[14] = 8;
  twice[18] = 36;  // past the end
  EXPECT_EQ(exif_orientation(twice), kAskPillow);
}

// Wherever it is cut and whatever a byte becomes: an answer, and no byte read outside (the address sanitizer looks).
TEST(Exif, AnyDamageGivesAnAnswer) {
  const Bytes good = block(6);
  for (std::size_t cut = 0; cut <= good.size(); ++cut) {
    const Bytes part(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(cut));
    const auto found = exif_orientation(part);
    EXPECT_TRUE(!found || (*found >= kAskPillow && *found <= 8));
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      Bytes changed = good;
      changed[at] = static_cast<std::uint8_t>(value);
      const auto found = exif_orientation(changed);
      EXPECT_TRUE(!found || (*found >= kAskPillow && *found <= 8));
    }
  }
}

TEST(Xmp, FindsAttributesAndElements) {
  EXPECT_EQ(xmp_orientation(bytes_of("<a tiff:Orientation=\"8\"/>")), 8);
  EXPECT_EQ(xmp_orientation(bytes_of("<tiff:Orientation>5</tiff:Orientation>")), 5);
  EXPECT_EQ(xmp_orientation(
                bytes_of("tiff:Orientation tiff:Orientation='3' tiff:Orientation=\"x tiff:Orientation>2")),
            2);
  EXPECT_EQ(xmp_orientation(bytes_of("tiff:Orientation=\"9\"")), 1);
  EXPECT_EQ(xmp_orientation(bytes_of("tiff:Orientation=\"")), 1);
  EXPECT_EQ(xmp_orientation({}), 1);
}

TEST(Xmp, CountsOnlyWhereExifHasNoTag) {
  const Bytes xmp = bytes_of("tiff:Orientation=\"8\"");
  EXPECT_EQ(orientation_of({}, xmp), 8);
  EXPECT_EQ(orientation_of(block(6, 0x13), xmp), 8);
  EXPECT_EQ(orientation_of(block(0), xmp), 1);
}

}  // namespace
}  // namespace pyfastdl
