#include "transform/pixels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/row_source.h"
#include "base/status.h"
#include "transform/transform_testing.h"

namespace pyfastdl {
namespace {

constexpr std::array<double, 3> kMean{0.485, 0.456, 0.406};
constexpr std::array<double, 3> kStd{0.229, 0.224, 0.225};

constexpr DType kFloats[] = {DType::float32, DType::float16, DType::bfloat16};

// The value of a float16's bits.
double from_float16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  const double size = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? INFINITY
                                       : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -size : size;
}

double from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// The nearest of the type's values, by trying the neighbours of a guess with the low bits cut off: independent of how
// the writer rounds. Ties go to the even one.
template <class Value>
std::uint16_t nearest(double x, std::uint16_t guess, Value value_of) {
  std::uint16_t best = guess;
  for (int step = -2; step <= 2; ++step) {
    const auto candidate = static_cast<std::uint16_t>(guess + step);
    if ((candidate ^ guess) & 0x8000) continue;
    const double now = std::fabs(value_of(best) - x), then = std::fabs(value_of(candidate) - x);
    if (then < now || (then == now && candidate % 2 == 0)) best = candidate;
  }
  return best;
}

std::uint16_t expected16(DType dtype, float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (dtype == DType::bfloat16) return nearest(value, static_cast<std::uint16_t>(bits >> 16), from_bfloat16);
  const int exponent = static_cast<int>(bits >> 23 & 255) - 127 + 15;
  std::uint16_t guess = bits >> 16 & 0x8000;
  if (exponent >= 1) {
    guess |= static_cast<std::uint16_t>(exponent << 10 | (bits >> 13 & 1023));
  } else {
    guess |= static_cast<std::uint16_t>(std::fabs(static_cast<double>(value)) * 0x1p24);
  }
  return nearest(value, guess, from_float16);
}

// A row in which every channel sees every byte, in another order each.
std::vector<std::uint8_t> row_of(int width) {
  std::vector<std::uint8_t> row(static_cast<std::size_t>(width) * 3 + kRowPadding, 0xEE);
  for (int x = 0; x < width; ++x) {
    row[static_cast<std::size_t>(x) * 3] = static_cast<std::uint8_t>(x);
    row[static_cast<std::size_t>(x) * 3 + 1] = static_cast<std::uint8_t>(x * 7 + 3);
    row[static_cast<std::size_t>(x) * 3 + 2] = static_cast<std::uint8_t>(255 - x * 5);
  }
  return row;
}

PixelFormat format_of(DType dtype, Layout layout, bool normalize) {
  PixelFormat format{dtype, layout};
  if (normalize) {
    format.mean = kMean;
    format.std = kStd;
  }
  return format;
}

void expect_cell(const PixelFormat& format, int width, bool flip) {
  SCOPED_TRACE(std::string(dtype_name(format.dtype)) + (format.layout == Layout::chw ? " chw" : " hwc") +
               (format.mean ? " normalised" : "") + (flip ? " flipped " : " ") + std::to_string(width));
  const PixelWriter writer(format);
  const Size size{3, width};
  const std::size_t item = item_bytes(format.dtype);
  const std::size_t bytes = writer.cell_bytes(size);
  ASSERT_EQ(bytes, static_cast<std::size_t>(3 * width * 3) * item);
  // A guard behind the cell, and what the rows that are not written must keep.
  std::vector<std::byte> cell(bytes + 64, std::byte{0x5C});
  const std::vector<std::uint8_t> row = row_of(width);
  writer.write_row(row.data(), 1, size, flip, cell.data());

  std::vector<std::byte> expected(cell.size(), std::byte{0x5C});
  for (int x = 0; x < width; ++x) {
    for (int c = 0; c < 3; ++c) {
      const std::uint8_t byte =
          row[static_cast<std::size_t>(flip ? width - 1 - x : x) * 3 + static_cast<std::size_t>(c)];
      const std::size_t at = static_cast<std::size_t>(
          format.layout == Layout::chw ? (c * 3 + 1) * width + x : ((1 * width) + x) * 3 + c);
      const float value = writer.value(c, byte);
      const std::uint16_t value16 = expected16(format.dtype, value);
      const void* from = format.dtype == DType::uint8     ? static_cast<const void*>(&byte)
                         : format.dtype == DType::float32 ? static_cast<const void*>(&value)
                                                          : static_cast<const void*>(&value16);
      std::memcpy(expected.data() + at * item, from, item);
    }
  }
  EXPECT_TRUE(cell == expected);
}

TEST(PixelWriter, TableIsToTensorThenNormalize) {
  const PixelWriter plain(format_of(DType::float32, Layout::chw, false));
  const PixelWriter normalized(format_of(DType::float32, Layout::chw, true));
  for (int c = 0; c < 3; ++c) {
    for (int byte = 0; byte < 256; ++byte) {
      const volatile float scaled = static_cast<float>(byte) / 255.0f;
      EXPECT_EQ(plain.value(c, byte), scaled);
      const auto k = static_cast<std::size_t>(c);
      const volatile float centered = scaled - static_cast<float>(kMean[k]);
      EXPECT_EQ(normalized.value(c, byte), centered / static_cast<float>(kStd[k]));
    }
  }
}

TEST(PixelWriter, EveryFormatAndWidthOnEveryTarget) {
  testing::for_each_target([] {
    for (const DType dtype : {DType::uint8, DType::float16, DType::bfloat16, DType::float32}) {
      for (const Layout layout : {Layout::chw, Layout::hwc}) {
        for (const bool normalize : {false, true}) {
          if (normalize && dtype == DType::uint8) continue;
          for (const bool flip : {false, true}) {
            for (const int width : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 224, 256, 259}) {
              expect_cell(format_of(dtype, layout, normalize), width, flip);
            }
          }
        }
      }
    }
  });
}

// Whole cells, wherever they begin in memory.
TEST(PixelWriter, WholeCellsAtAnyAddressOnEveryTarget) {
  testing::for_each_target([] {
    const PixelWriter writer(format_of(DType::float32, Layout::chw, true));
    for (const Size size : {Size{130, 160}, Size{130, 161}}) {
      const std::vector<std::uint8_t> row = row_of(size.width);
      const std::size_t floats = writer.cell_bytes(size) / sizeof(float);
      std::vector<float> memory(floats + 64, -7.0f);
      for (const bool flip : {false, true}) {
        for (const std::size_t offset : {0, 1, 4, 8}) {
          float* cell =
              memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64 / 4 + offset;
          for (int y = 0; y < size.height; ++y) {
            writer.write_row(row.data(), y, size, flip, reinterpret_cast<std::byte*>(cell));
          }
          for (std::size_t i = 0; i < floats; ++i) {
            const auto width = static_cast<std::size_t>(size.width);
            const std::size_t c = i / (floats / 3), x = i % width;
            const std::uint8_t byte = row[(flip ? width - 1 - x : x) * 3 + c];
            ASSERT_EQ(cell[i], writer.value(static_cast<int>(c), byte))
                << "item " << i << ", offset " << offset;
          }
          EXPECT_EQ(cell[floats], -7.0f);
          std::fill(memory.begin(), memory.end(), -7.0f);
        }
      }
    }
  });
}

// The usual numbers must take the fast way: the arithmetic of the kernels gives the table's values.
TEST(PixelWriter, UsualNumbersAreVectorized) {
  for (const DType dtype : kFloats) {
    EXPECT_TRUE(PixelWriter(format_of(dtype, Layout::chw, false)).vectorized());
    EXPECT_TRUE(PixelWriter(format_of(dtype, Layout::hwc, true)).vectorized());
  }
}

// Whatever the numbers, the cell is the table's, also where the fast way has to be given up.
TEST(PixelWriter, UnusualNumbersAreStillTheTables) {
  const std::array<double, 3> stds[] = {
      {1e-3, 3.0, 0.1}, {1e-6, 1e6, 7e-5}, {1.0 / 255, 255, -0.5}, {1e-38, 1e38, 0.3}};
  const std::array<double, 3> means[] = {{0, 1, -1}, {0.1, 100, 1e-6}, {0.5, 0.5, 0.5}};
  for (const auto& std : stds) {
    for (const auto& mean : means) {
      for (const DType dtype : {DType::float32, DType::bfloat16}) {
        expect_cell({dtype, Layout::chw, mean, std}, 256, false);
      }
    }
  }
}

TEST(PixelWriter, Float16EndsInInfinityAndSubnormals) {
  // (1 - mean) * 65536: just below the middle of the largest float16 and the next power of two, the middle, far above.
  const PixelWriter large(
      {DType::float16, Layout::hwc, {{17 * 0x1p-16, 16 * 0x1p-16, 0}}, {{0x1p-16, 0x1p-16, 0x1p-20}}});
  const PixelWriter small({DType::float16, Layout::hwc, {{0, 0, 0}}, {{255.0 * 256, 1e5, 1e12}}});
  const std::uint8_t white[3 + kRowPadding] = {255, 255, 255};
  std::uint16_t cell[3];
  large.write_row(white, 0, {1, 1}, false, reinterpret_cast<std::byte*>(cell));
  EXPECT_EQ(cell[0], 0x7BFF);  // 65504, the largest
  EXPECT_EQ(cell[1], 0x7C00);  // infinity
  EXPECT_EQ(cell[2], 0x7C00);
  small.write_row(white, 0, {1, 1}, false, reinterpret_cast<std::byte*>(cell));
  EXPECT_EQ(from_float16(cell[0]), 257 * 0x1p-24);  // 1 / 65280 in steps of 2^-24
  EXPECT_EQ(cell[1], 168);                          // 1e-5 * 2^24 = 167.77
  EXPECT_EQ(cell[2], 0);
}

TEST(PixelWriter, RefusesWhatCannotWork) {
  const auto message = [](const PixelFormat& format) -> std::string {
    try {
      PixelWriter writer(format);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_argument);
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message({DType::uint8, Layout::chw, kMean, kStd}).find("uint8"), std::string::npos);
  EXPECT_NE(message({DType::float32, Layout::chw, kMean}).find("both mean and std"), std::string::npos);
  EXPECT_NE(message({DType::float32, Layout::chw, kMean, {{1, 0, 1}}}).find("green"), std::string::npos);
  EXPECT_NE(message({DType::float32, Layout::chw, kMean, {{1, 1, 1e-60}}}).find("blue"), std::string::npos);
  EXPECT_NE(message({DType::float32, Layout::chw, {{NAN, 0, 0}}, kStd}).find("red"), std::string::npos);
  EXPECT_EQ(message({DType::float32, Layout::chw, kMean, kStd}), "");
}

}  // namespace
}  // namespace pyfastdl
