#include "transform/border.h"

#include <gtest/gtest.h>

#include <string>

namespace pyfastdl {
namespace {

// What shows at the positions -n to size + n - 1 of "abc…".
std::string shown(PadMode mode, int size, int n) {
  std::string letters;
  for (int at = -n; at < size + n; ++at) letters += static_cast<char>('a' + mirrored(mode, at, size));
  return letters;
}

TEST(Border, RepeatsAsNumpyPadDoes) {
  EXPECT_EQ(shown(PadMode::edge, 3, 3), "aaaabcccc");
  EXPECT_EQ(shown(PadMode::reflect, 4, 3), "dcbabcdcba");
  EXPECT_EQ(shown(PadMode::symmetric, 4, 3), "cbaabcddcb");
  EXPECT_EQ(shown(PadMode::reflect, 2, 5), "babababababa");
  EXPECT_EQ(shown(PadMode::symmetric, 2, 5), "aabbaabbaabb");
  for (const PadMode mode : {PadMode::edge, PadMode::reflect, PadMode::symmetric})
    EXPECT_EQ(shown(mode, 1, 2), "aaaaa");
}

}  // namespace
}  // namespace pyfastdl
