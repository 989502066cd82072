#include "base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace pyfastdl {
namespace {

// Defined a second time, by decoding everything: what fs_less must agree with.
bool less_by_definition(std::string_view a, std::string_view b) {
  const auto decoded = [](std::string_view bytes) {
    std::u32string text;
    for (std::size_t at = 0; at < bytes.size();) {
      const CodePoint c = decode_fs(bytes, at);
      text += c.value;
      at += c.length;
    }
    return text;
  };
  return decoded(a) < decoded(b);
}

std::u32string decode_all(std::string_view bytes) {
  std::u32string text;
  for (std::size_t at = 0; at < bytes.size(); at += decode_fs(bytes, at).length)
    text += decode_fs(bytes, at).value;
  return text;
}

TEST(DecodeFs, ReadsValidSequences) {
  EXPECT_EQ(decode_all("a\x7f"), U"a\x7f");
  EXPECT_EQ(decode_all("\xc2\x80\xc3\xa9\xdf\xbf"), U"\u0080\u00e9\u07ff");
  EXPECT_EQ(decode_all("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"), U"\u0800\ud7ff\ue000\uffff");
  EXPECT_EQ(decode_all("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"), U"\U00010000\U0010ffff");
}

TEST(DecodeFs, EscapesEachByteOfAnInvalidSequence) {
  const std::vector<std::string> invalid = {
      "\x80",  // a continuation alone
      "\xc0\x80",
      "\xc1\xbf",          // overlong
      "\xe0\x9f\xbf",      // overlong
      "\xed\xa0\x80",      // a surrogate
      "\xf0\x8f\xbf\xbf",  // overlong
      "\xf4\x90\x80\x80",  // above U+10FFFF
      "\xf5\x80\x80\x80",
      "\xff",  // no lead
      "\xc3",
      "\xe2\x82",
      "\xf0\x9f\x98",  // cut off
  };
  for (const std::string& bytes : invalid) {
    std::u32string want;
    for (const char c : bytes) want += static_cast<char32_t>(0xDC00 + static_cast<unsigned char>(c));
    EXPECT_EQ(decode_all(bytes), want) << printable(bytes);
    EXPECT_EQ(decode_all(bytes + "A"), want + U"A") << printable(bytes);
  }
}

TEST(FsLess, OrdersByCodePointNotByByte) {
  EXPECT_TRUE(fs_less("a", "b"));
  EXPECT_TRUE(fs_less("", "a"));
  EXPECT_TRUE(fs_less("a", "a!"));
  EXPECT_FALSE(fs_less("a", "a"));
  EXPECT_TRUE(fs_less("10", "2"));
  EXPECT_TRUE(fs_less("B", "a"));
  EXPECT_TRUE(fs_less("z", "\xc3\xa9"));
  // An undecodable byte is U+DCxx: below U+FF01, though 0xFF is the greatest byte; above U+00E9, though 0x80 is less.
  EXPECT_TRUE(fs_less("\xff", "\xef\xbc\x81"));
  EXPECT_TRUE(fs_less("\xc3\xa9", "\x80"));
}

TEST(FsLess, AgreesWithItsDefinitionOnEverySmallString) {
  // Bytes that begin, go on with, break off and never belong to sequences.
  const std::string alphabet("a/\x80\x9f\xa0\xbf\xc3\xe0\xe2\xed\xee\xf0\xf4\xff", 14);
  std::vector<std::string> words = {""};
  for (std::size_t begin = 0, length = 0; length < 3; ++length) {
    const std::size_t end = words.size();
    for (; begin < end; ++begin) {
      for (const char c : alphabet) words.push_back(words[begin] + c);
    }
  }
  ASSERT_EQ(words.size(), 1u + 14 + 14 * 14 + 14 * 14 * 14);
  for (std::size_t i = 0; i < words.size(); i += 3) {
    for (const std::string& other : words) {
      ASSERT_EQ(fs_less(words[i], other), less_by_definition(words[i], other))
          << printable(words[i]) << " and " << printable(other);
    }
  }
}

TEST(Printable, IsValidAndPlain) {
  EXPECT_EQ(printable("caf\xc3\xa9.jpg"), "caf\xc3\xa9.jpg");
  EXPECT_EQ(printable("a\xff\nb\x7f"), "a\\xff\\x0ab\\x7f");
  EXPECT_EQ(quoted("a b"), "'a b'");
}

}  // namespace
}  // namespace pyfastdl
