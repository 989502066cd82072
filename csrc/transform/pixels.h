// PixelFormat and PixelWriter: finished RGB rows into a cell, as the numbers and the layout that the user asked for.
//
// A writer is constant once made and is shared by all threads. It owns tables of 256 values a channel, which say what
// every byte becomes; the vector kernels were checked against them when the writer was made. Nothing blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/geometry.h"

namespace pyfastdl {

enum class DType { uint8, float16, bfloat16, float32 };
enum class Layout { chw, hwc };  // hwc is torch's channels_last

constexpr std::size_t item_bytes(DType dtype) {
  return dtype == DType::uint8 ? 1 : dtype == DType::float32 ? 4 : 2;
}
std::string_view dtype_name(DType dtype);  // as torch spells it

// How bytes become floats: x / 255 (ToTensor), x * (1 / 255) (v2's ToDtype with scale, which differs in the last bit of
// half of the values), or x.
enum class Scale { divide, multiply, none };

// uint8: the bytes. Floats: scaled, then, where mean and std are given, Normalize ((x - mean) / std), then rounded to
// nearest even for the 16-bit types. `arithmetic` is the dtype of that: float32, or a 16-bit one, after which each of the
// steps rounds to it, as torch does for tensors of that dtype.
struct PixelFormat {
  DType dtype = DType::float32;
  Layout layout = Layout::chw;
  std::optional<std::array<double, 3>> mean = std::nullopt;
  std::optional<std::array<double, 3>> std = std::nullopt;
  Scale scale = Scale::divide;
  DType arithmetic = DType::float32;
};

// 1 / divisor, as the sum of two floats.
struct Reciprocal {
  float divisor = 1;
  float hi = 1;
  float lo = 0;
};

// A PixelFormat as the kernels want it.
struct PixelConstants {
  DType dtype = DType::float32;
  Layout layout = Layout::chw;
  bool normalize = false;
  bool multiply = false;  // by scale.hi, rather than divide by scale
  Reciprocal scale;
  std::array<float, 3> mean{};
  std::array<Reciprocal, 3> by_std;
};

class PixelWriter {
 public:
  // Throws Error (invalid_argument): mean without std or the reverse, a std that is 0 in float32, numbers that are not
  // finite, or a normalisation of uint8.
  explicit PixelWriter(const PixelFormat& format);

  const PixelFormat& format() const { return format_; }
  std::size_t cell_bytes(Size size) const;

  // Writes row `y` of the cell, mirrored if `flip`. `rgb` has size.width pixels (3 bytes each) and kRowPadding readable
  // bytes more.
  void write_row(const std::uint8_t* rgb, int y, Size size, bool flip, std::byte* cell) const;

  // What a byte of a channel becomes in float32.
  float value(int channel, int byte) const { return table_[channel][byte]; }
  // A float as a tensor of the format's arithmetic holds it.
  float arithmetic_value(float value) const;
  // What Normalize makes of a channel's float; the same float where there is no Normalize.
  float normalized(int channel, float value) const;
  // One number as the cell has it, item_bytes(format().dtype) bytes: cut for uint8, which must be able to hold it.
  void store(float value, std::byte* item) const;

  // False where the vector arithmetic did not give the table's values, and tables are read instead.
  bool vectorized() const { return vectorized_; }

 private:
  void write_row_by_table(const std::uint8_t* rgb, int y, Size size, bool flip, std::byte* cell) const;
  bool kernel_matches_table() const;

  PixelFormat format_;
  PixelConstants constants_;
  std::array<std::array<float, 256>, 3> table_{};
  std::array<std::array<std::uint16_t, 256>, 3> table16_{};  // rounded, for the 16-bit types
  bool vectorized_ = false;
};

}  // namespace pyfastdl
