#include "decode/png_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "decode/decoding.h"
#include "decode/encoders.h"

namespace pyfastdl {
namespace {

using testing::Bytes;
using testing::decode;
using testing::Decoded;
using testing::make_png;
using testing::Png;
using testing::png_chunk;
using testing::PngOptions;

constexpr Size kSize{19, 45};
constexpr std::size_t kFirstChunk = 8;
constexpr std::size_t kBehindHeader = 8 + 25;

int channels(int color_type) { return color_type == 2 ? 3 : color_type == 4 ? 2 : color_type == 6 ? 4 : 1; }

// A sample as it is stored.
int sample(const Png& png, const PngOptions& o, int y, int x, int c) {
  const std::uint8_t* row = png.raw.data() + static_cast<std::size_t>(y) * png.raw_stride;
  const std::size_t i = static_cast<std::size_t>(x * channels(o.color_type) + c);
  if (o.depth == 16) return row[2 * i] << 8 | row[2 * i + 1];
  if (o.depth == 8) return row[i];
  const std::size_t bit = i * static_cast<std::size_t>(o.depth);
  return row[bit / 8] >> (8 - o.depth - static_cast<int>(bit % 8)) & ((1 << o.depth) - 1);
}

// What Pillow's convert("RGB") gives, in the words of PNG's specification but for 16-bit gray, which it
// clips.
Bytes expected_rgb(const Png& png, const PngOptions& o) {
  Bytes out;
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const int v = sample(png, o, y, x, o.color_type == 2 || o.color_type == 6 ? c : 0);
        if (o.color_type == 3) {
          const std::size_t at = static_cast<std::size_t>(v * 3 + c);
          out.push_back(at < png.palette.size() ? png.palette[at] : 0);
        } else if (o.depth == 16) {
          out.push_back(static_cast<std::uint8_t>(o.color_type == 0 ? std::min(v, 255) : v >> 8));
        } else {
          out.push_back(static_cast<std::uint8_t>(v * 255 / ((1 << o.depth) - 1)));
        }
      }
    }
  }
  return out;
}

Bytes inserted(const Bytes& file, std::size_t at, const Bytes& chunk) {
  Bytes out = file;
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), chunk.begin(), chunk.end());
  return out;
}

std::size_t find(const Bytes& file, const char* name) {
  const auto at = std::search(file.begin(), file.end(), name, name + 4);
  return static_cast<std::size_t>(at - file.begin()) - 4;
}

TEST(PngDecoder, EveryColorTypeDepthAndInterlace) {
  struct Kind {
    int color_type;
    std::vector<int> depths;
  };
  const Kind kinds[] = {{0, {1, 2, 4, 8, 16}}, {2, {8, 16}}, {3, {1, 2, 4, 8}}, {4, {8, 16}}, {6, {8, 16}}};
  PngDecoder decoder;
  for (const Kind& kind : kinds) {
    for (const int depth : kind.depths) {
      for (const bool interlaced : {false, true}) {
        const PngOptions options{.color_type = kind.color_type, .depth = depth, .interlaced = interlaced};
        const Png png = make_png(kSize, options);
        const Decoded got = decode(decoder, png.file);
        ASSERT_TRUE(got.status.ok()) << got.status.message();
        ASSERT_EQ(got.rgb, expected_rgb(png, options))
            << "colour type " << kind.color_type << " depth " << depth << " interlaced " << interlaced;
      }
    }
  }
}

TEST(PngDecoder, TransparencyIsDropped) {
  const PngOptions gray{.color_type = 0, .depth = 4}, palette{.color_type = 3, .depth = 2};
  PngDecoder decoder;
  for (const PngOptions& options : {gray, palette}) {
    const Png png = make_png(kSize, options);
    const Bytes trns = png_chunk("tRNS", options.color_type == 0 ? Bytes{0, 3} : Bytes{0, 128, 255});
    const Decoded got = decode(decoder, inserted(png.file, find(png.file, "IDAT"), trns));
    ASSERT_TRUE(got.status.ok()) << got.status.message();
    EXPECT_EQ(got.rgb, expected_rgb(png, options));
  }
}

TEST(PngDecoder, IndicesPastThePaletteAreBlack) {
  const PngOptions options{.color_type = 3, .depth = 4, .palette_entries = 5};
  const Png png = make_png(kSize, options);
  PngDecoder decoder;
  const Decoded got = decode(decoder, png.file);
  ASSERT_TRUE(got.status.ok()) << got.status.message();
  EXPECT_EQ(got.rgb, expected_rgb(png, options));
}

TEST(PngDecoder, AncillaryChunksDontMatterWhateverTheyHold) {
  const PngOptions options{};
  const Png png = make_png(kSize, options);
  PngDecoder decoder;
  for (const char* name :
       {"gAMA", "cHRM", "iCCP", "sRGB", "tEXt", "zTXt", "iTXt", "eXIf", "pHYs", "tIME", "prVt"}) {
    for (const Bytes& data : {Bytes(), Bytes(3, 0xff), Bytes(5000, 0x78)}) {
      const Bytes chunk = png_chunk(name, data);
      const Decoded before = decode(decoder, inserted(png.file, kBehindHeader, chunk));
      ASSERT_TRUE(before.status.ok()) << name << ": " << before.status.message();
      EXPECT_EQ(before.rgb, expected_rgb(png, options));
      EXPECT_TRUE(decode(decoder, inserted(png.file, find(png.file, "IEND"), chunk)).status.ok()) << name;
    }
  }
}

TEST(PngDecoder, ChecksumsCountWherePillowLooks) {
  const Png png = make_png(kSize);
  PngDecoder decoder;
  Bytes chunk = png_chunk("gAMA", {0, 0, 0, 1});
  chunk.back() ^= 1;
  const Decoded before = decode(decoder, inserted(png.file, kBehindHeader, chunk));
  EXPECT_EQ(before.status.code(), Errc::bad_data);
  EXPECT_NE(before.status.message().find("gAMA"), std::string::npos) << before.status.message();
  EXPECT_TRUE(decode(decoder, inserted(png.file, find(png.file, "IEND"), chunk)).status.ok());

  Bytes header = png.file;
  header[kBehindHeader - 1] ^= 1;
  EXPECT_EQ(decode(decoder, header).status.code(), Errc::bad_data);
  Bytes data = png.file;
  data[find(data, "IEND") - 1] ^= 1;  // the checksum of IDAT
  EXPECT_TRUE(decode(decoder, data).status.ok());
}

// Pillow reads the chunks behind the image data as well, and raises if one is cut off; a missing end is fine.
TEST(PngDecoder, ChunksBehindTheDataMustBeWhole) {
  const Png png = make_png(kSize);
  const Bytes text = png_chunk("tEXt", {'a', 0, 'b', 'c'});
  const std::size_t end = find(png.file, "IEND");
  const Bytes file = inserted(png.file, end, text);
  PngDecoder decoder;
  for (std::size_t n = end; n <= file.size(); ++n) {
    const bool in_text = n >= end + 8 && n < end + 8 + 4;
    const Decoded got = decode(decoder, Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n)));
    EXPECT_EQ(got.status.ok(), !in_text) << n - end << " bytes behind the data: " << got.status.message();
  }
}

TEST(PngDecoder, TheFirstFrameOfAnApngIsTheImage) {
  const Png png = make_png(kSize);
  const Bytes control = png_chunk("acTL", {0, 0, 0, 2, 0, 0, 0, 0});
  const auto frame = [](std::uint8_t sequence, std::uint8_t width) {
    return png_chunk(
        "fcTL", {0, 0, 0, sequence, 0, 0, 0, width, 0, 0, 0, 19, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 10, 0, 0});
  };
  PngDecoder decoder;
  Bytes file = inserted(png.file, find(png.file, "IEND"), frame(1, 45));
  file = inserted(file, find(png.file, "IDAT"), frame(0, 45));
  file = inserted(file, kBehindHeader, control);
  const Decoded got = decode(decoder, file);
  ASSERT_TRUE(got.status.ok()) << got.status.message();
  EXPECT_EQ(got.rgb, expected_rgb(png, {}));

  const Bytes small =
      inserted(inserted(png.file, find(png.file, "IDAT"), frame(0, 44)), kBehindHeader, control);
  EXPECT_EQ(decode(decoder, small).status.code(), Errc::unsupported);
}

TEST(PngDecoder, BrokenFilesSayWhatIsBroken) {
  const Png png = make_png(kSize);
  PngDecoder decoder;
  const auto expect = [&](const Bytes& file, const char* words) {
    const Status status = decode(decoder, file).status;
    EXPECT_EQ(status.code(), Errc::bad_data);
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  };
  Bytes no_data(png.file.begin(), png.file.begin() + static_cast<std::ptrdiff_t>(kBehindHeader));
  const Bytes end = png_chunk("IEND", {});
  no_data.insert(no_data.end(), end.begin(), end.end());
  expect(no_data, "no image data");

  const auto with_header = [&](const Bytes& header) {
    Bytes file(png.file.begin(), png.file.begin() + kFirstChunk);
    const Bytes chunk = png_chunk("IHDR", header);
    file.insert(file.end(), chunk.begin(), chunk.end());
    file.insert(file.end(), png.file.begin() + static_cast<std::ptrdiff_t>(kBehindHeader), png.file.end());
    return file;
  };
  expect(with_header({0, 0, 0, 9, 0, 0, 0, 9, 16, 3, 0, 0, 0}), "colour type 3 with 16 bits");
  expect(with_header({0, 0, 0, 0, 0, 0, 0, 9, 8, 2, 0, 0, 0}), "no pixels");
  expect(with_header({0, 0, 0, 9}), "instead of 13");
  // Larger than its data: an error, not a black remainder.
  expect(with_header({0, 0, 0, 45, 0, 0, 0, 25, 8, 2, 0, 0, 0}), "cut off");
  EXPECT_EQ(decode(decoder, with_header({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 8, 2, 0, 0, 0}))
                .status.code(),
            Errc::limit);
}

}  // namespace
}  // namespace pyfastdl
