#include "decode/jpeg_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "decode/decoding.h"
#include "decode/encoders.h"
#include "decode/jpeg_trust.h"
#include "decode/libjpeg.h"

namespace pyfastdl {
namespace {

using testing::Bytes;
using testing::crop_rgb;
using testing::decode;
using testing::Decoded;
using testing::JpegColors;
using testing::JpegOptions;
using testing::make_jpeg;
using testing::random_region;

struct Sampling {
  const char* name;
  int h;
  int v;
  JpegColors colors = JpegColors::ycc;
};

// JpegRegions::always: nothing but the margins makes these regions equal.
TEST(JpegDecoder, RegionsEqualTheFullDecodeForEverySampling) {
  constexpr Sampling kSamplings[] = {
      {"4:4:4", 1, 1},
      {"4:2:2", 2, 1},
      {"4:2:0", 2, 2},
      {"4:4:0", 1, 2},
      {"4:1:1", 4, 1},
      {"4:1:0", 4, 2},
      {"1x4", 1, 4},
      {"3x1", 3, 1},
      {"gray", 1, 1, JpegColors::gray},
      {"gray 2x2", 2, 2, JpegColors::gray},
      {"RGB", 1, 1, JpegColors::rgb},
      {"CMYK", 1, 1, JpegColors::cmyk},
      {"YCCK", 2, 2, JpegColors::ycck},
  };
  constexpr Size kSizes[] = {{97, 131}, {64, 96}, {1, 70}, {70, 1}, {9, 300}, {203, 17}, {3, 3}};
  JpegDecoder full, part;
  full.set_regions(JpegRegions::never);
  part.set_regions(JpegRegions::always);
  full.set_engine(JpegEngine::libjpeg);
  part.set_engine(JpegEngine::libjpeg);
  std::uint32_t state = 3;
  int regions = 0;
  for (const Sampling& s : kSamplings) {
    for (const Size size : kSizes) {
      for (const bool progressive : {false, true}) {
        for (const int restart_rows : {0, 1}) {
          const Bytes file = make_jpeg(size, {.luma_h = s.h,
                                              .luma_v = s.v,
                                              .colors = s.colors,
                                              .progressive = progressive,
                                              .restart_rows = restart_rows});
          const Decoded expected = decode(full, file);
          ASSERT_TRUE(expected.status.ok()) << expected.status.message();
          for (int i = 0; i < 25; ++i, ++regions) {
            const Region r = random_region(size, state);
            const Decoded got = decode(part, file, &r, 1 + i % 20);
            ASSERT_TRUE(got.status.ok()) << got.status.message();
            ASSERT_EQ(part.last_was_region(), r != whole(size));
            ASSERT_EQ(got.rgb, crop_rgb(expected.rgb, size, r))
                << s.name << (progressive ? " progressive" : "") << " restart rows " << restart_rows << ", "
                << size.height << " x " << size.width << ": top " << r.top << " left " << r.left << " height "
                << r.height << " width " << r.width;
          }
        }
      }
    }
  }
  EXPECT_EQ(regions, 13 * 7 * 2 * 2 * 25);
}

TEST(JpegDecoder, FullDecodeOnDemandGivesTheSameAndItsReason) {
  const Size size{90, 120};
  const Bytes file = make_jpeg(size);
  const Region r{20, 30, 40, 50};
  JpegDecoder decoder;
  const Decoded part = decode(decoder, file, &r);
  EXPECT_EQ(jpeg_regions_untrusted(), nullptr);
  EXPECT_TRUE(decoder.last_was_region());
  EXPECT_EQ(decoder.full_decode_reason(), nullptr);
  EXPECT_LT(decoder.row_bytes(), static_cast<std::size_t>(size.width) * kPixelBytes);

  decoder.set_regions(JpegRegions::never);
  EXPECT_EQ(decode(decoder, file, &r).rgb, part.rgb);
  EXPECT_FALSE(decoder.last_was_region());
  EXPECT_NE(decoder.full_decode_reason(), nullptr);
  // Everything is no part of itself.
  decode(decoder, file);
  EXPECT_EQ(decoder.full_decode_reason(), nullptr);
}

// The first scans of a progressive file, properly ended: libjpeg smooths then, and its versions differ in how.
TEST(JpegDecoder, UnfinishedProgressiveFilesAreLeftToPillow) {
  const Bytes file = make_jpeg({120, 160}, {.progressive = true, .quality = 30});
  std::size_t scans = 0, cut = 0;
  for (std::size_t i = 0; i + 1 < file.size() && cut == 0; ++i) {
    if (file[i] == 0xFF && file[i + 1] == 0xDA && ++scans == 3) cut = i;
  }
  ASSERT_GT(cut, 0u);
  Bytes unfinished(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(cut));
  unfinished.insert(unfinished.end(), {0xFF, 0xD9});
  JpegDecoder decoder;
  EXPECT_EQ(decode(decoder, unfinished).status.code(), Errc::unsupported);
  const Region part{10, 20, 30, 40};
  EXPECT_EQ(decode(decoder, unfinished, &part).status.code(), Errc::unsupported);
  EXPECT_TRUE(decode(decoder, file).status.ok());
}

// libjpeg passes over TEM (FF 01), Pillow refuses the file.
TEST(JpegDecoder, MarkersThatPillowDoesNotKnowAreRefused) {
  Bytes file = make_jpeg({20, 20});
  JpegDecoder decoder;
  file.insert(file.begin() + 2, {0xFF, 0x01});
  const Status status = decoder.open(file, {});
  EXPECT_EQ(status.code(), Errc::bad_data);
  EXPECT_NE(status.message().find("marker of unknown code 1"), std::string::npos) << status.message();
  file[3] = 0xFF;  // padding
  EXPECT_TRUE(decode(decoder, file).status.ok());
}

TEST(JpegDecoder, SaysWhatItMustHoldBeforeItDoes) {
  JpegDecoder decoder;
  const Bytes sequential = make_jpeg({100, 150});
  ASSERT_TRUE(decoder.open(sequential, {}).ok());
  EXPECT_EQ(decoder.start_bytes(whole({100, 150})), 0u);
  // 7 x 10 iMCUs of six blocks, each of 64 coefficients of two bytes.
  const Bytes progressive = make_jpeg({100, 150}, {.progressive = true});
  ASSERT_TRUE(decoder.open(progressive, {}).ok());
  EXPECT_EQ(decoder.start_bytes({0, 0, 1, 1}), 7u * 10 * 6 * 128);
}

TEST(JpegDecoder, ShrinksAllOfItAndRegionsAlike) {
  const Size size{133, 201};
  for (const JpegOptions& options :
       {JpegOptions{}, JpegOptions{.luma_h = 2, .luma_v = 1}, JpegOptions{.luma_h = 1, .luma_v = 1},
        JpegOptions{.progressive = true}, JpegOptions{.colors = JpegColors::gray}}) {
    const Bytes file = make_jpeg(size, options);
    JpegDecoder decoder;
    const Decoded exact = decode(decoder, file);
    for (int eighths = 1; eighths <= 8; ++eighths) {
      const Size small{(size.height * eighths + 7) / 8, (size.width * eighths + 7) / 8};
      const auto rgb_of = [&](const Region& region) {
        EXPECT_TRUE(decoder.open(file, {}).ok());
        EXPECT_TRUE(decoder.shrink(eighths));
        EXPECT_EQ(decoder.size(), small);
        EXPECT_TRUE(decoder.start(region).ok());
        Bytes row(decoder.row_bytes() + kRowPadding), rgb;
        for (int y = 0; y < region.height; ++y) {
          std::uint8_t* rows[] = {row.data()};
          EXPECT_TRUE(decoder.read_rows(rows, 1).ok());
          for (int x = 0; x < region.width; ++x) {
            const std::uint8_t* pixel =
                row.data() + decoder.row_offset() + static_cast<std::size_t>(x) * kPixelBytes;
            rgb.insert(rgb.end(), pixel, pixel + 3);
          }
        }
        EXPECT_TRUE(decoder.finish().ok());
        return rgb;
      };
      const Bytes all = rgb_of(whole(small));
      std::uint32_t state = 7;
      for (int i = 0; i < 12; ++i) {
        const Region r = random_region(small, state);
        ASSERT_EQ(rgb_of(r), crop_rgb(all, small, r)) << "eighths " << eighths << " region " << i;
      }
      // The same picture: on the whole the same brightness.
      const auto mean = [](const Bytes& bytes) {
        double sum = 0;
        for (const std::uint8_t b : bytes) sum += b;
        return sum / static_cast<double>(bytes.size());
      };
      EXPECT_NEAR(mean(all), mean(exact.rgb), 3);
    }
    // The next image is exact again.
    EXPECT_EQ(decode(decoder, file).rgb, exact.rgb);
  }
}

TEST(JpegDecoder, TablesOfOneFileNeverReachTheNext) {
  const Size size{40, 40};
  JpegDecoder decoder;
  ASSERT_TRUE(decode(decoder, make_jpeg(size)).status.ok());
  const Decoded bare = decode(decoder, make_jpeg(size, {.tables = false}));
  EXPECT_EQ(bare.status.code(), Errc::bad_data);
}

TEST(JpegDecoder, TheEndMarkerMayBeMissingAndJunkMayFollow) {
  const Size size{100, 60};
  const Bytes file = make_jpeg(size);
  JpegDecoder decoder;
  const Decoded expected = decode(decoder, file);
  Bytes junk = file;
  junk.insert(junk.end(), 1000, 0x20);
  const Region top{0, 0, 5, 60};
  const Decoded with_junk = decode(decoder, junk);
  ASSERT_TRUE(with_junk.status.ok()) << with_junk.status.message();
  EXPECT_EQ(with_junk.rgb, expected.rgb);
  EXPECT_TRUE(decode(decoder, junk, &top).status.ok());

  // The file is cut far below the region; only finish() can tell.
  const Bytes half(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(file.size() * 3 / 4));
  Bytes half_and_junk = half;
  half_and_junk.insert(half_and_junk.end(), 10, 0x20);
  ASSERT_TRUE(decoder.open(half, {}).ok());
  ASSERT_TRUE(decoder.start(top).ok());
  std::vector<std::uint8_t> row(decoder.row_bytes() + kRowPadding);
  for (int y = 0; y < top.height; ++y) {
    std::uint8_t* rows[] = {row.data()};
    ASSERT_TRUE(decoder.read_rows(rows, 1).ok());
  }
  const Status status = decoder.finish();
  EXPECT_EQ(status.code(), Errc::bad_data);
  EXPECT_NE(status.message().find("cut off"), std::string::npos) << status.message();

  // Skipping rows notices the end by itself.
  ASSERT_TRUE(decoder.open(half, {}).ok());
  EXPECT_EQ(decoder.start({95, 0, 5, 60}).code(), Errc::bad_data);
}

TEST(JpegDecoder, ScansAreLimited) {
  const Bytes file = make_jpeg({40, 40}, {.progressive = true});
  DecodeLimits limits;
  limits.max_scans = 10;  // what jpeg_simple_progression writes for three components
  JpegDecoder decoder;
  EXPECT_TRUE(decode(decoder, file, nullptr, 16, limits).status.ok());
  limits.max_scans = 9;
  const Decoded refused = decode(decoder, file, nullptr, 16, limits);
  EXPECT_EQ(refused.status.code(), Errc::limit);
  EXPECT_NE(refused.status.message().find("more than 9 scans"), std::string::npos)
      << refused.status.message();
}

// Hundreds of tiny refinement scans that cost a pass each: CASES F4.
TEST(JpegDecoder, ThousandsOfScansEndAtTheLimit) {
  const Bytes file = make_jpeg({16, 16}, {.progressive = true});
  std::size_t last = 0;
  for (std::size_t i = 0; i + 1 < file.size(); ++i) {
    if (file[i] == 0xFF && file[i + 1] == 0xDA) last = i;
  }
  const auto end = file.end() - 2;
  Bytes long_file(file.begin(), end);
  for (int i = 0; i < 2000; ++i) {
    long_file.insert(long_file.end(), file.begin() + static_cast<std::ptrdiff_t>(last), end);
  }
  long_file.insert(long_file.end(), {0xFF, 0xD9});
  JpegDecoder decoder;
  EXPECT_EQ(decode(decoder, long_file).status.code(), Errc::limit);
}

TEST(JpegDecoder, KindsForPillowAreNamed) {
  JpegDecoder decoder;
  const Status arithmetic = decoder.open(make_jpeg({20, 20}, {.arithmetic = true}), {});
  EXPECT_EQ(arithmetic.code(), Errc::unsupported);
  EXPECT_NE(arithmetic.message().find("arithmetic"), std::string::npos) << arithmetic.message();
  EXPECT_EQ(decoder.open(make_jpeg({20, 20}, {.luma_h = 1, .luma_v = 1, .components = 2}), {}).code(),
            Errc::unsupported);

  Bytes file = make_jpeg({20, 20});
  const std::uint8_t sof0[] = {0xFF, 0xC0};
  const auto sof = std::search(file.begin(), file.end(), std::begin(sof0), std::end(sof0));
  ASSERT_NE(sof, file.end());
  Bytes lossless = file, deep = file;
  lossless[static_cast<std::size_t>(sof - file.begin()) + 1] = 0xC3;
  deep[static_cast<std::size_t>(sof - file.begin()) + 4] = 12;
  EXPECT_EQ(decoder.open(lossless, {}).code(), Errc::unsupported);
  EXPECT_EQ(decoder.open(deep, {}).code(), Errc::unsupported);
}

// The samples as the file stores them, C M Y K.
Bytes stored_cmyk(const Bytes& file) {
  jpeg_decompress_struct info;
  jpeg_error_mgr error;
  info.err = jpeg_std_error(&error);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, file.data(), file.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_CMYK;
  jpeg_start_decompress(&info);
  const std::size_t stride = std::size_t{info.output_width} * 4;
  Bytes out(stride * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = out.data() + info.output_scanline * stride;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_destroy_decompress(&info);
  return out;
}

TEST(JpegDecoder, FourComponentsAreInvertedWithOrWithoutAdobesMarker) {
  JpegDecoder decoder;
  for (const JpegColors colors : {JpegColors::cmyk, JpegColors::ycck}) {
    for (const bool marker : {true, false}) {
      const Bytes file =
          make_jpeg({30, 41}, {.luma_h = 1, .luma_v = 1, .colors = colors, .adobe_marker = marker});
      const Bytes cmyk = stored_cmyk(file);
      const Decoded got = decode(decoder, file);
      ASSERT_TRUE(got.status.ok()) << got.status.message();
      for (std::size_t i = 0; i < got.rgb.size(); ++i) {
        const int k = cmyk[i / 3 * 4 + 3];
        const int ink = 255 - cmyk[i / 3 * 4 + i % 3];
        // Pillow's rounding division by 255.
        const int product = k * ink + 128;
        ASSERT_EQ(got.rgb[i], k - ((product + (product >> 8)) >> 8)) << "byte " << i;
      }
    }
  }
}

}  // namespace
}  // namespace pyfastdl
