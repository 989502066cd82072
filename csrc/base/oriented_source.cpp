#include "base/oriented_source.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace pyfastdl {
namespace {

// Rows read at once: with 16, a column of them fills a cache line of a turned row.
constexpr int kRows = 16;

// What a small image took is kept for the next one.
constexpr std::size_t kKeptBytes = std::size_t{1} << 20;

// The orientations of EXIF 2.3 (tag 0x0112), as what becomes of the stored image: whether its columns come in reverse
// order, whether its rows do, and (5 to 8) whether rows and columns then change places.
constexpr bool columns_reversed(int o) { return o == 2 || o == 3 || o == 7 || o == 8; }
constexpr bool rows_reversed(int o) { return o == 3 || o == 4 || o == 6 || o == 7; }

void mirror(const std::uint8_t* from, std::uint8_t* to, int width) {
  for (int x = 0; x < width; ++x) {
    std::memcpy(to + static_cast<std::ptrdiff_t>(x) * kPixelBytes,
                from + static_cast<std::ptrdiff_t>(width - 1 - x) * kPixelBytes, kPixelBytes);
  }
}

}  // namespace

Region OrientedSource::stored(const Region& region) const {
  const Size size = source_->size();
  Region r = swaps_sides() ? Region{region.left, region.top, region.width, region.height} : region;
  if (columns_reversed(orientation_)) r.left = size.width - r.right();
  if (rows_reversed(orientation_)) r.top = size.height - r.bottom();
  return r;
}

std::uint64_t OrientedSource::start_bytes(const Region& region) const {
  const std::uint64_t inner = source_->start_bytes(stored(region));
  if (streams()) return inner;
  return inner + std::uint64_t{kPixelBytes} * static_cast<std::uint64_t>(region.height) *
                     static_cast<std::uint64_t>(region.width);
}

Status OrientedSource::start(const Region& region) {
  region_ = region;
  next_row_ = 0;
  const Region from = stored(region);
  if (Status s = source_->start(from); !s.ok()) return s;
  try {
    rows_.resize(kRows * (source_->row_bytes() + kRowPadding));
    if (streams()) return {};
    turned_.resize(static_cast<std::size_t>(region.height) * row_bytes());
  } catch (const std::bad_alloc&) {
    return {Errc::out_of_memory, "not enough memory to turn the image as its EXIF orientation says"};
  }
  return read_turned(from);
}

Status OrientedSource::read_turned(const Region& from) {
  const std::size_t stride = source_->row_bytes() + kRowPadding;
  std::array<std::uint8_t*, kRows> rows;
  std::array<const std::uint8_t*, kRows> pixels;
  for (std::size_t k = 0; k < kRows; ++k) {
    rows[k] = rows_.data() + k * stride;
    pixels[k] = rows[k] + source_->row_offset();
  }
  for (int y = 0; y < from.height; y += kRows) {
    const int count = std::min(kRows, from.height - y);
    if (Status s = source_->read_rows(rows.data(), count); !s.ok()) return s;
    place(pixels.data(), y, count, from);
  }
  return {};
}

// Rows [first, first + count) of the stored region to where they belong in the turned one.
void OrientedSource::place(const std::uint8_t* const* rows, int first, int count, const Region& from) {
  const auto stride = static_cast<std::ptrdiff_t>(row_bytes());
  std::uint8_t* const out = turned_.data();
  const auto turned_row = [&](int k) {
    return rows_reversed(orientation_) ? from.height - 1 - (first + k) : first + k;
  };
  if (!swaps_sides()) {
    for (int k = 0; k < count; ++k) {
      std::uint8_t* to = out + turned_row(k) * stride;
      if (columns_reversed(orientation_)) {
        mirror(rows[k], to, from.width);
      } else {
        std::memcpy(to, rows[k], row_bytes());
      }
    }
    return;
  }
  for (int x = 0; x < from.width; ++x) {
    std::uint8_t* row = out + (columns_reversed(orientation_) ? from.width - 1 - x : x) * stride;
    for (int k = 0; k < count; ++k) {
      std::memcpy(row + std::ptrdiff_t{turned_row(k)} * kPixelBytes,
                  rows[k] + std::ptrdiff_t{x} * kPixelBytes, kPixelBytes);
    }
  }
}

Status OrientedSource::mirror_rows(std::uint8_t* const* rows, int count) {
  const std::size_t stride = source_->row_bytes() + kRowPadding;
  std::array<std::uint8_t*, kRows> scratch;
  for (std::size_t k = 0; k < kRows; ++k) scratch[k] = rows_.data() + k * stride;
  for (int done = 0; done < count; done += kRows) {
    const int n = std::min(kRows, count - done);
    if (Status s = source_->read_rows(scratch.data(), n); !s.ok()) return s;
    for (int k = 0; k < n; ++k) {
      const std::uint8_t* from = scratch[static_cast<std::size_t>(k)] + source_->row_offset();
      if (columns_reversed(orientation_)) {
        mirror(from, rows[done + k], region_.width);
      } else {
        std::memcpy(rows[done + k], from, row_bytes());
      }
    }
  }
  return {};
}

Status OrientedSource::read_rows(std::uint8_t* const* rows, int count) {
  if (streams()) return mirror_rows(rows, count);
  for (int i = 0; i < count; ++i, ++next_row_) {
    std::memcpy(rows[i], turned_.data() + static_cast<std::size_t>(next_row_) * row_bytes(), row_bytes());
  }
  return {};
}

void OrientedSource::close() {
  turned_.trim(kKeptBytes);
  rows_.trim(kKeptBytes);
}

}  // namespace pyfastdl
