#include "decode/sniff.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "decode/decoder_set.h"
#include "decode/decoding.h"
#include "decode/encoders.h"

namespace pyfastdl {
namespace {

using std::string_view_literals::operator""sv;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(Sniff, GoesByMagicBytes) {
  EXPECT_EQ(sniff(testing::make_jpeg({8, 8})), Codec::jpeg);
  EXPECT_EQ(sniff(testing::make_png({8, 8}).file), Codec::png);
  EXPECT_EQ(sniff(testing::make_webp({8, 8}, true, false)), Codec::webp);
  for (const auto text : {""sv, "\xff"sv, "\xff\xd8"sv, "\x89PNG\r\n\x1a"sv, "RIFF1234WEBPVP"sv,
                          "RIFF1234WEBPVP8?"sv, "RIFF1234WAVEfmt "sv, "GIF89a"sv, "<html>"sv}) {
    EXPECT_EQ(sniff(bytes_of(text)), Codec::other) << text;
  }
}

TEST(Describe, NamesWhatFilesReallyAre) {
  struct Case {
    std::string_view bytes;
    const char* words;
  };
  const Case cases[] = {
      {""sv, "an empty file"},
      {"\0"sv, "a single zero byte"},
      {"\0\0\0\0\0\0"sv, "zero bytes only"},
      {"<!DOCTYPE html>\n<html>"sv, "an HTML page"},
      {"\xef\xbb\xbf  \n<HTML><body>"sv, "an HTML page"},
      {"<?xml version=\"1.0\"?><svg xmlns="sv, "an SVG drawing"},
      {"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code>"sv, "an XML document"},
      {"{\"error\": 404}"sv, "JSON text"},
      {"Too many requests\n"sv, "plain text"},
      {"  \n "sv, "blank text"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:"sv, "a Git LFS pointer"},
      {"GIF89a\1\0\1\0"sv, "a GIF image"},
      {"BM\x46\0\0\0"sv, "a BMP image"},
      {"II*\0\x08\0\0\0"sv, "a TIFF image"},
      {"\0\0\0\x20"
       "ftypavif"sv,
       "an AVIF image"},
      {"\0\0\0\x18"
       "ftypmp42"sv,
       "an MP4 or QuickTime video"},
      {"\x1f\x8b\x08\0"sv, "a gzip archive"},
      {"PK\x03\x04\x14\0"sv, "a zip archive"},
      {"%PDF-1.7"sv, "a PDF document"},
      {"\xff\xd8\xff\xe0"sv, "a JPEG image"},
      {"\x01\x02\xfe\xff"sv, "4 bytes of unknown binary data, starting 01 02 fe ff"},
      {"\x80"sv, "1 byte of unknown binary data, starting 80"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(describe(bytes_of(c.bytes)).substr(0, std::string_view(c.words).size()), c.words) << c.bytes;
  }
  std::string tar(512, '\0');
  tar.replace(0, 5, "a.txt").replace(257, 5, "ustar");
  EXPECT_EQ(describe(bytes_of(tar)), "a tar archive");
}

TEST(DecoderSet, MakesEachDecoderOnce) {
  DecoderSet set;
  EXPECT_EQ(set.find(Codec::other), nullptr);
  for (const Codec codec : {Codec::jpeg, Codec::png, Codec::webp}) {
    Decoder* decoder = set.find(codec);
    ASSERT_NE(decoder, nullptr);
    EXPECT_EQ(set.find(codec), decoder);
  }
  EXPECT_NE(set.find(Codec::jpeg), set.find(Codec::png));
  const testing::Bytes png = testing::make_png({5, 6}).file;
  EXPECT_TRUE(testing::decode(*set.find(sniff(png)), png).status.ok());
}

TEST(CodecVersions, AreNumbers) {
  for (const auto& [name, version] : codec_versions()) {
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(!version.empty() && version[0] >= '0' && version[0] <= '9') << name << " " << version;
  }
}

}  // namespace
}  // namespace pyfastdl
