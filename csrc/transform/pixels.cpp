#include "transform/pixels.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/row_source.h"
#include "base/status.h"
#include "transform/pixel_kernels.h"

namespace pyfastdl {
namespace {

constexpr std::array<const char*, 3> kChannelNames = {"red", "green", "blue"};

[[noreturn]] void refuse(const std::string& message) { throw Error(Errc::invalid_argument, message); }

Reciprocal reciprocal(float divisor) {
  Reciprocal r;
  r.divisor = divisor;
  const double exact = 1.0 / static_cast<double>(divisor);
  r.hi = static_cast<float>(exact);
  r.lo = static_cast<float>(exact - static_cast<double>(r.hi));
  return r;
}

// To nearest even. The argument is not NaN.
std::uint16_t to_bfloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

// To nearest even; infinite where float16 ends. The argument is not NaN.
std::uint16_t to_float16(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(static_cast<double>(value));
  if (size >= 65520.0) return sign | 0x7C00;
  int exponent;
  std::frexp(size, &exponent);                            // size = [0.5, 1) * 2^exponent
  const int unit = size < 0x1p-14 ? -24 : exponent - 11;  // one in the last place is 2^unit
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(size, -unit)));
  // The leading bit of `units` adds the last one to the exponent's field, a carry out of the fraction one more.
  return static_cast<std::uint16_t>(sign | (((unit + 24) << 10) + units));
}

float from_float16(std::uint16_t half) {
  const int exponent = half >> 10 & 0x1F;
  const int fraction = half & 0x3FF;
  const float sign = (half & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 0x1F) return sign * HUGE_VALF;
  return sign * (exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                               : std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25));
}

float from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// As a tensor of that dtype holds it.
float rounded(float value, DType dtype) {
  if (dtype == DType::float16) return from_float16(to_float16(value));
  if (dtype == DType::bfloat16) return from_bfloat16(to_bfloat16(value));
  return value;
}

// What hi + lo is to be, for each way to scale a byte.
Reciprocal scaling(Scale scale) {
  switch (scale) {
    case Scale::divide:
      return reciprocal(255.0f);
    case Scale::multiply:
      return {255.0f, static_cast<float>(1.0 / 255.0), 0.0f};
    case Scale::none:
      break;
  }
  return {};
}

}  // namespace

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::uint8:
      return "uint8";
    case DType::float16:
      return "float16";
    case DType::bfloat16:
      return "bfloat16";
    case DType::float32:
      return "float32";
  }
  return "";
}

PixelWriter::PixelWriter(const PixelFormat& format) : format_(format) {
  if (format.mean.has_value() != format.std.has_value())
    refuse("Normalize needs both mean and std; only one was given");
  const bool normalize = format.mean.has_value();
  if (normalize && format.dtype == DType::uint8) {
    refuse("Normalize gives numbers that uint8 can't hold: choose a float dtype, or normalise on the device");
  }
  constants_.dtype = format.dtype;
  constants_.layout = format.layout;
  constants_.normalize = normalize;
  constants_.multiply = format.scale == Scale::multiply;
  constants_.scale = scaling(format.scale);
  for (int c = 0; normalize && c < 3; ++c) {
    constants_.mean[c] = rounded(static_cast<float>((*format.mean)[c]), format.arithmetic);
    const float std = rounded(static_cast<float>((*format.std)[c]), format.arithmetic);
    if (!std::isfinite(constants_.mean[c]) || !std::isfinite(std) || std == 0.0f) {
      refuse("Normalize needs a finite mean and a finite std that isn't 0 in " +
             std::string(dtype_name(format.arithmetic)) + ", but for " + std::string(kChannelNames[c]) +
             " mean is " + std::to_string((*format.mean)[c]) + " and std is " +
             std::to_string((*format.std)[c]));
    }
    constants_.by_std[c] = reciprocal(std);
  }
  for (int c = 0; c < 3; ++c) {
    for (int byte = 0; byte < 256; ++byte) {
      const auto x = static_cast<float>(byte);
      const float scaled = constants_.multiply ? x * constants_.scale.hi : x / constants_.scale.divisor;
      const float value = normalized(c, rounded(scaled, format.arithmetic));
      table_[c][byte] = value;
      table16_[c][byte] = format.dtype == DType::float16 ? to_float16(value) : to_bfloat16(value);
    }
  }
  vectorized_ = kernel_matches_table();
}

float PixelWriter::arithmetic_value(float value) const { return rounded(value, format_.arithmetic); }

float PixelWriter::normalized(int channel, float value) const {
  if (!constants_.normalize) return value;
  const float centred = rounded(value - constants_.mean[channel], format_.arithmetic);
  return rounded(centred / constants_.by_std[channel].divisor, format_.arithmetic);
}

void PixelWriter::store(float value, std::byte* item) const {
  switch (format_.dtype) {
    case DType::uint8:
      *item = static_cast<std::byte>(static_cast<std::uint8_t>(value));
      return;
    case DType::float32:
      std::memcpy(item, &value, sizeof(value));
      return;
    case DType::float16:
    case DType::bfloat16:
      break;
  }
  const std::uint16_t bits = format_.dtype == DType::float16 ? to_float16(value) : to_bfloat16(value);
  std::memcpy(item, &bits, sizeof(bits));
}

std::size_t PixelWriter::cell_bytes(Size size) const {
  return static_cast<std::size_t>(size.height) * static_cast<std::size_t>(size.width) * 3 *
         item_bytes(format_.dtype);
}

void PixelWriter::write_row(const std::uint8_t* rgb, int y, Size size, bool flip, std::byte* cell) const {
  if (vectorized_) {
    const std::size_t row_items =
        static_cast<std::size_t>(size.width) * (format_.layout == Layout::hwc ? 3 : 1);
    std::byte* row = cell + static_cast<std::size_t>(y) * row_items * item_bytes(format_.dtype);
    if (write_pixels(constants_, rgb, size.width, flip, row, cell_bytes(size) / 3)) return;
  }
  write_row_by_table(rgb, y, size, flip, cell);
}

void PixelWriter::write_row_by_table(const std::uint8_t* rgb, int y, Size size, bool flip,
                                     std::byte* cell) const {
  const std::size_t item = item_bytes(format_.dtype);
  const bool planes = format_.layout == Layout::chw;
  const std::size_t width = static_cast<std::size_t>(size.width);
  const std::size_t pixel_step = planes ? item : 3 * item;
  const std::size_t channel_step = planes ? cell_bytes(size) / 3 : item;
  std::byte* out = cell + static_cast<std::size_t>(y) * width * pixel_step;
  for (std::size_t x = 0; x < width; ++x, out += pixel_step) {
    const std::uint8_t* pixel = rgb + (flip ? width - 1 - x : x) * 3;
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint8_t byte = pixel[c];
      const void* value = format_.dtype == DType::uint8     ? static_cast<const void*>(&byte)
                          : format_.dtype == DType::float32 ? static_cast<const void*>(&table_[c][byte])
                                                            : static_cast<const void*>(&table16_[c][byte]);
      std::memcpy(out + c * channel_step, value, item);
    }
  }
}

// Every byte of every channel, once.
bool PixelWriter::kernel_matches_table() const {
  const Size size{1, 256};
  std::vector<std::uint8_t> row(256 * 3 + kRowPadding);
  for (std::size_t i = 0; i < 256 * 3; ++i) row[i] = static_cast<std::uint8_t>(i / 3);
  std::vector<std::byte> expected(cell_bytes(size));
  std::vector<std::byte> actual(cell_bytes(size));
  write_row_by_table(row.data(), 0, size, false, expected.data());
  return write_pixels(constants_, row.data(), size.width, false, actual.data(), cell_bytes(size) / 3) &&
         expected == actual;
}

}  // namespace pyfastdl
