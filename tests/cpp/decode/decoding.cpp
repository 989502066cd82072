#include "decode/decoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pyfastdl::testing {
namespace {

Status decode_rows(Decoder& decoder, const Region& region, int rows_a_call, Bytes& rgb) {
  if (Status s = decoder.start(region); !s.ok()) return s;
  constexpr std::size_t kCanary = 16;
  constexpr std::uint8_t kCanaryByte = 0xA5;
  const std::size_t room = decoder.row_bytes() + kRowPadding;
  EXPECT_GE(decoder.row_bytes(), decoder.row_offset() + static_cast<std::size_t>(region.width) * kPixelBytes);
  for (int y = 0; y < region.height; y += rows_a_call) {
    const int count = std::min(rows_a_call, region.height - y);
    std::vector<Bytes> memory(static_cast<std::size_t>(count), Bytes(room + kCanary, kCanaryByte));
    std::vector<std::uint8_t*> rows;
    for (Bytes& row : memory) rows.push_back(row.data());
    if (Status s = decoder.read_rows(rows.data(), count); !s.ok()) return s;
    for (const Bytes& row : memory) {
      for (std::size_t i = room; i < row.size(); ++i) EXPECT_EQ(row[i], kCanaryByte) << "row written too far";
      for (int x = 0; x < region.width; ++x) {
        const std::uint8_t* pixel =
            row.data() + decoder.row_offset() + static_cast<std::size_t>(x) * kPixelBytes;
        rgb.insert(rgb.end(), pixel, pixel + 3);
      }
    }
  }
  return decoder.finish();
}

}  // namespace

Decoded decode(Decoder& decoder, std::span<const std::uint8_t> bytes, const Region* region, int rows_a_call,
               const DecodeLimits& limits) {
  Decoded out;
  // A copy of its own, so that the address sanitizer sees a read past the end.
  const Bytes owned(bytes.begin(), bytes.end());
  out.status = decoder.open(owned, limits);
  if (!out.status.ok()) return out;
  out.size = decoder.size();
  // A damaged header may claim anything; a region of the true size may then not fit.
  if (region != nullptr && !inside(*region, out.size)) {
    out.status = Status(Errc::invalid_argument, "the region does not fit the image");
    return out;
  }
  out.status = decode_rows(decoder, region != nullptr ? *region : whole(out.size), rows_a_call, out.rgb);
  return out;
}

Bytes crop_rgb(const Bytes& rgb, Size size, const Region& region) {
  Bytes out;
  for (int y = region.top; y < region.bottom(); ++y) {
    const auto first = rgb.begin() + (static_cast<std::ptrdiff_t>(y) * size.width + region.left) * 3;
    out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(region.width) * 3);
  }
  return out;
}

Region random_region(Size size, std::uint32_t& state) {
  const auto below = [&state](int n) {
    return static_cast<int>(next_random(state) % static_cast<std::uint32_t>(n));
  };
  const auto length = [&](int all) {
    const int kind = below(6);
    return kind == 0 ? 1 : kind == 1 ? all : 1 + below(all);
  };
  const auto offset = [&](int free) {
    const int kind = below(6);
    return kind == 0 ? 0 : kind == 1 ? free : below(free + 1);
  };
  Region r;
  r.height = length(size.height);
  r.width = length(size.width);
  r.top = offset(size.height - r.height);
  r.left = offset(size.width - r.width);
  return r;
}

}  // namespace pyfastdl::testing
