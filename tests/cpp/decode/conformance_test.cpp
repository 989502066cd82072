// What the decoder contract promises, checked for every decoder and kind of file.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "decode/decoding.h"
#include "decode/encoders.h"
#include "decode/jpeg_decoder.h"
#include "decode/png_decoder.h"
#include "decode/sniff.h"
#include "decode/webp_decoder.h"

namespace pyfastdl {
namespace {

using testing::Bytes;
using testing::crop_rgb;
using testing::decode;
using testing::Decoded;
using testing::random_region;

constexpr Size kSize{37, 53};

struct Case {
  std::string name;
  Codec codec;
  Bytes bytes;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

std::unique_ptr<Decoder> make_decoder(Codec codec) {
  if (codec == Codec::jpeg) return std::make_unique<JpegDecoder>();
  if (codec == Codec::png) return std::make_unique<PngDecoder>();
  return std::make_unique<WebpDecoder>();
}

std::vector<Case> cases() {
  using testing::JpegColors;
  using testing::JpegOptions;
  using testing::make_jpeg;
  using testing::make_png;
  using testing::make_webp;
  using testing::PngOptions;
  std::vector<Case> all;
  const auto jpeg = [&](const char* name, const JpegOptions& options) {
    all.push_back({std::string("jpeg_") + name, Codec::jpeg, make_jpeg(kSize, options)});
  };
  jpeg("420", {});
  jpeg("420_progressive", {.progressive = true});
  jpeg("444_restarts", {.luma_h = 1, .luma_v = 1, .restart_rows = 1});
  jpeg("gray", {.luma_h = 1, .luma_v = 1, .colors = JpegColors::gray});
  jpeg("cmyk", {.luma_h = 1, .luma_v = 1, .colors = JpegColors::cmyk});
  jpeg("ycck", {.colors = JpegColors::ycck});
  const auto png = [&](const char* name, const PngOptions& options) {
    all.push_back({std::string("png_") + name, Codec::png, make_png(kSize, options).file});
  };
  png("rgb", {});
  png("rgba_interlaced", {.color_type = 6, .interlaced = true});
  png("palette4", {.color_type = 3, .depth = 4});
  png("gray1", {.color_type = 0, .depth = 1});
  png("gray16", {.color_type = 0, .depth = 16});
  png("gray_alpha16_interlaced", {.color_type = 4, .depth = 16, .interlaced = true});
  all.push_back({"webp_lossy", Codec::webp, make_webp(kSize, false, false)});
  all.push_back({"webp_lossy_alpha", Codec::webp, make_webp(kSize, false, true)});
  all.push_back({"webp_lossless_alpha", Codec::webp, make_webp(kSize, true, true)});
  return all;
}

class Conformance : public ::testing::TestWithParam<Case> {
 protected:
  const Bytes& bytes() const { return GetParam().bytes; }
  Decoded whole_image() { return decode(*decoder_, bytes()); }

  std::unique_ptr<Decoder> decoder_ = make_decoder(GetParam().codec);
};

TEST_P(Conformance, RowsComeInOrderHoweverManyAreAskedFor) {
  const Decoded expected = whole_image();
  ASSERT_TRUE(expected.status.ok()) << expected.status.message();
  EXPECT_EQ(expected.size, kSize);
  EXPECT_EQ(expected.rgb.size(), static_cast<std::size_t>(kSize.height * kSize.width * 3));
  for (const int rows : {1, 3, 1000}) {
    const Decoded again = decode(*decoder_, bytes(), nullptr, rows);
    ASSERT_TRUE(again.status.ok()) << again.status.message();
    EXPECT_EQ(again.rgb, expected.rgb) << rows << " rows a call";
  }
}

TEST_P(Conformance, RegionEqualsCropOfTheWhole) {
  const Decoded expected = whole_image();
  std::uint32_t state = 5;
  for (int i = 0; i < 200; ++i) {
    const Region r = random_region(kSize, state);
    const Decoded part = decode(*decoder_, bytes(), &r, 1 + i % 7);
    ASSERT_TRUE(part.status.ok()) << part.status.message();
    ASSERT_EQ(part.rgb, crop_rgb(expected.rgb, kSize, r))
        << "top " << r.top << " left " << r.left << " height " << r.height << " width " << r.width;
  }
}

TEST_P(Conformance, AnyErrorLeavesTheDecoderUsable) {
  const Decoded expected = whole_image();
  Bytes half(bytes().begin(), bytes().begin() + static_cast<std::ptrdiff_t>(bytes().size() / 2));
  Bytes garbage(bytes().begin(), bytes().begin() + 32);
  garbage.resize(500, 0x5a);
  const std::string page = "<!DOCTYPE html><html><body>404 Not Found</body></html>";
  const Bytes html(page.begin(), page.end());
  for (const Bytes& bad : {Bytes(), Bytes{0xff}, garbage, html, half}) {
    const Decoded failed = decode(*decoder_, bad);
    EXPECT_EQ(failed.status.code(), Errc::bad_data) << bad.size() << " bytes: " << failed.status.message();
    const Decoded good = whole_image();
    ASSERT_TRUE(good.status.ok()) << good.status.message();
    EXPECT_EQ(good.rgb, expected.rgb);
  }
  EXPECT_NE(decode(*decoder_, html).status.message().find("an HTML page"), std::string::npos);
  EXPECT_NE(decode(*decoder_, Bytes()).status.message().find("an empty file"), std::string::npos);
}

TEST_P(Conformance, AnImageMayBeLeftHalfRead) {
  const Decoded expected = whole_image();
  for (const int read : {0, 1, 20}) {
    ASSERT_TRUE(decoder_->open(bytes(), {}).ok());
    ASSERT_TRUE(decoder_->start(whole(kSize)).ok());
    Bytes row(decoder_->row_bytes() + kRowPadding);
    for (int y = 0; y < read; ++y) {
      std::uint8_t* rows[] = {row.data()};
      ASSERT_TRUE(decoder_->read_rows(rows, 1).ok());
    }
    EXPECT_EQ(whole_image().rgb, expected.rgb);
  }
}

// Whether a cut counts must not depend on where the region lies, and a cut never gives other pixels.
TEST_P(Conformance, CutAtEveryByte) {
  const Decoded expected = whole_image();
  const std::size_t n = bytes().size();
  std::uint32_t state = 9;
  for (std::size_t cut = 0; cut < n; ++cut) {
    const Bytes part(bytes().begin(), bytes().begin() + static_cast<std::ptrdiff_t>(cut));
    const Decoded all = decode(*decoder_, part);
    if (all.status.ok()) {
      ASSERT_EQ(all.rgb, expected.rgb) << "cut at " << cut;
      ASSERT_GT(cut, n - 40) << "a cut in the data was not noticed";
    } else {
      ASSERT_EQ(all.status.code(), Errc::bad_data) << all.status.message();
      ASSERT_FALSE(all.status.message().empty());
    }
    const Region r = random_region(kSize, state);
    const Decoded region = decode(*decoder_, part, &r);
    ASSERT_EQ(region.status.ok(), all.status.ok())
        << "cut at " << cut << " of " << n << ", rows " << r.top << " to " << r.bottom() << ": "
        << region.status.message() << " / " << all.status.message();
  }
}

TEST_P(Conformance, DamageNeverCrashesAndRegionsAgree) {
  std::uint32_t state = 11;
  int decoded = 0;
  for (int i = 0; i < 1500; ++i) {
    Bytes damaged = bytes();
    for (std::uint32_t k = testing::next_random(state) % 4 + 1; k > 0; --k) {
      damaged[testing::next_random(state) % damaged.size()] =
          static_cast<std::uint8_t>(testing::next_random(state));
    }
    DecodeLimits limits;
    limits.max_pixels = 1 << 20;
    const Decoded all = decode(*decoder_, damaged, nullptr, 16, limits);
    if (!all.status.ok()) continue;
    ++decoded;
    const Region r = random_region(all.size, state);
    const Decoded part = decode(*decoder_, damaged, &r, 16, limits);
    ASSERT_TRUE(part.status.ok()) << part.status.message();
    ASSERT_EQ(part.rgb, crop_rgb(all.rgb, all.size, r)) << "damage " << i;
  }
  EXPECT_GT(decoded, 0);
}

TEST_P(Conformance, PixelLimit) {
  DecodeLimits limits;
  limits.max_pixels = static_cast<std::uint64_t>(kSize.height * kSize.width);
  EXPECT_TRUE(decoder_->open(bytes(), limits).ok());
  limits.max_pixels -= 1;
  const Status status = decoder_->open(bytes(), limits);
  EXPECT_EQ(status.code(), Errc::limit);
  EXPECT_NE(status.message().find("37 x 53 = 1961"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("limit of 1960"), std::string::npos) << status.message();
}

INSTANTIATE_TEST_SUITE_P(Files, Conformance, ::testing::ValuesIn(cases()),
                         [](const ::testing::TestParamInfo<Case>& info) { return info.param.name; });

}  // namespace
}  // namespace pyfastdl
