#include "transform/resizer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "base/byte_buffer.h"
#include "transform/resize_kernels.h"

namespace pyfastdl {
namespace {

// Rows asked from the source at once: few enough to stay in the first-level cache on their way to the first pass.
constexpr int kReadRows = 8;

// Scratch beyond this is given back after the image that needed it.
constexpr std::size_t kKeepBytes = std::size_t{1} << 20;

std::size_t rgb_bytes(int width) { return static_cast<std::size_t>(width) * 3; }

std::size_t padded_stride(std::size_t bytes) { return (bytes + kRowPadding + 63) / 64 * 64; }

// Rows of equal length in one buffer.
class Rows {
 public:
  void resize(int count, std::size_t bytes) {
    stride_ = padded_stride(bytes);
    buffer_.resize(stride_ * static_cast<std::size_t>(count));
  }
  std::uint8_t* row(int i) { return buffer_.data() + stride_ * static_cast<std::size_t>(i); }
  void trim() { buffer_.trim(kKeepBytes); }

 private:
  ByteBuffer buffer_;
  std::size_t stride_ = 0;
};

}  // namespace

struct Resizer::Scratch {
  Taps taps_x, taps_y;
  PackedTaps packed_x, packed_y;
  Rows input;    // as the source writes them
  Rows ring;     // between the passes: row i stands at i % ring_size
  Rows blended;  // a group of rows of the vertical pass
  Rows output;   // up to a group of finished rows
  int ring_size = 0;
  std::vector<const std::uint8_t*> tap_rows;
};

namespace {

// One run: the source's rows counted from 0, and how far they were read.
class Run {
 public:
  Run(Resizer::Scratch& scratch, const ResizeSpec& spec, RowSource& source, RowSink& sink)
      : s_(scratch), spec_(spec), source_(source), sink_(sink) {}

  Status run(int top, int left);

 private:
  Status copy();
  Status horizontal_only();
  Status through_ring();
  Status fill_ring(int end);
  template <class From, class To>
  void resample(int count, From from, To to);
  void blend(int i, int bytes, std::uint8_t* out);
  void put_rgbx(const std::uint8_t* rgbx);

  Resizer::Scratch& s_;
  const ResizeSpec& spec_;
  RowSource& source_;
  RowSink& sink_;
  Region region_;  // needed part of the crop
  bool horizontal_ = false;
  bool vertical_ = false;
  bool vertical_first_ = false;
  int rows_read_ = 0;
};

Status Run::run(int top, int left) {
  horizontal_ = spec_.resizes_columns();
  vertical_ = spec_.resizes_rows();
  // Without a horizontal pass the ring holds source rows, as when the vertical one comes first.
  vertical_first_ = !horizontal_ || vertical_first(spec_.order, spec_.in, spec_.out);

  const Region& window = spec_.window;
  region_ = window;
  if (horizontal_) {
    compute_taps(spec_.filter, spec_.in.width, spec_.out.width, window.left, window.width, s_.taps_x,
                 spec_.columns);
    pack_horizontal(s_.taps_x, s_.packed_x);
    region_.left = s_.taps_x.begin;
    region_.width = s_.taps_x.end - s_.taps_x.begin;
  }
  if (vertical_) {
    compute_taps(spec_.filter, spec_.in.height, spec_.out.height, window.top, window.height, s_.taps_y,
                 spec_.rows);
    pack_vertical(s_.taps_y, s_.packed_y);
    region_.top = s_.taps_y.begin;
    region_.height = s_.taps_y.end - s_.taps_y.begin;
  }
  Status status = source_.start({region_.top + top, region_.left + left, region_.height, region_.width});
  if (!status.ok()) return status;
  if (vertical_) return through_ring();
  return horizontal_ ? horizontal_only() : copy();
}

Status Run::copy() {
  s_.input.resize(kReadRows, source_.row_bytes());
  s_.output.resize(1, rgb_bytes(region_.width));
  std::array<std::uint8_t*, kReadRows> rows;
  for (int i = 0; i < kReadRows; ++i) rows[i] = s_.input.row(i);
  for (int count; rows_read_ < region_.height; rows_read_ += count) {
    count = std::min(kReadRows, region_.height - rows_read_);
    Status status = source_.read_rows(rows.data(), count);
    if (!status.ok()) return status;
    for (int i = 0; i < count; ++i) put_rgbx(rows[i] + source_.row_offset());
  }
  return {};
}

Status Run::horizontal_only() {
  s_.input.resize(kReadRows, source_.row_bytes());
  s_.output.resize(kRowGroup, rgb_bytes(s_.packed_x.size));
  std::array<std::uint8_t*, kReadRows> rows;
  for (int i = 0; i < kReadRows; ++i) rows[i] = s_.input.row(i);
  const std::size_t offset = source_.row_offset();
  for (int count; rows_read_ < region_.height; rows_read_ += count) {
    count = std::min(kReadRows, region_.height - rows_read_);
    Status status = source_.read_rows(rows.data(), count);
    if (!status.ok()) return status;
    for (int i = 0; i < count; i += kRowGroup) {
      const int group = std::min(kRowGroup, count - i);
      resample(group, [&](int k) { return rows[i + k] + offset; }, [&](int k) { return s_.output.row(k); });
      for (int k = 0; k < group; ++k) sink_.put_row(s_.output.row(k));
    }
  }
  return {};
}

Status Run::through_ring() {
  // Source rows are RGBX; the horizontal pass makes them RGB.
  const std::size_t blended_bytes =
      vertical_first_ ? static_cast<std::size_t>(region_.width) * kPixelBytes : rgb_bytes(spec_.window.width);
  s_.ring_size = s_.taps_y.longest + kReadRows;
  s_.ring.resize(s_.ring_size, vertical_first_ ? source_.row_bytes() : rgb_bytes(s_.packed_x.size));
  if (!vertical_first_) s_.input.resize(kReadRows, source_.row_bytes());
  s_.tap_rows.resize(static_cast<std::size_t>(s_.packed_y.pairs) * 2);
  const bool horizontal_last = vertical_first_ && horizontal_;
  s_.output.resize(kRowGroup, rgb_bytes(horizontal_last ? s_.packed_x.size : spec_.window.width));
  s_.blended.resize(kRowGroup, blended_bytes);

  const int height = spec_.window.height;
  for (int y = 0; y < height; y += kRowGroup) {
    const int count = std::min(kRowGroup, height - y);
    for (int k = 0; k < count; ++k) {
      Status status = fill_ring(s_.packed_y.first[y + k] + s_.taps_y.count[y + k]);
      if (!status.ok()) return status;
      blend(y + k, static_cast<int>(blended_bytes), s_.blended.row(k));
      if (!horizontal_) put_rgbx(s_.blended.row(k));
      if (!vertical_first_) sink_.put_row(s_.blended.row(k));
    }
    if (horizontal_last) {
      resample(count, [&](int k) { return s_.blended.row(k); }, [&](int k) { return s_.output.row(k); });
      for (int k = 0; k < count; ++k) sink_.put_row(s_.output.row(k));
    }
  }
  return {};
}

// Reads on until the ring has the rows before `end`. Up to kReadRows at once: the ring has room for that many more
// than an output's taps span.
Status Run::fill_ring(int end) {
  while (rows_read_ < end) {
    const int count = std::min(kReadRows, region_.height - rows_read_);
    std::array<std::uint8_t*, kReadRows> ring_rows;
    std::array<std::uint8_t*, kReadRows> input_rows;
    for (int i = 0; i < count; ++i) {
      ring_rows[i] = s_.ring.row((rows_read_ + i) % s_.ring_size);
      input_rows[i] = vertical_first_ ? ring_rows[i] : s_.input.row(i);
    }
    Status status = source_.read_rows(input_rows.data(), count);
    if (!status.ok()) return status;
    if (!vertical_first_) {
      const std::size_t offset = source_.row_offset();
      for (int i = 0; i < count; i += kRowGroup) {
        resample(
            std::min(kRowGroup, count - i), [&](int k) { return input_rows[i + k] + offset; },
            [&](int k) { return ring_rows[i + k]; });
      }
    }
    rows_read_ += count;
  }
  return {};
}

// The horizontal pass over 1 to kRowGroup rows: what is missing to a group is the last row again.
template <class From, class To>
void Run::resample(int count, From from, To to) {
  const std::uint8_t* rows[kRowGroup];
  std::uint8_t* out[kRowGroup];
  for (int k = 0; k < kRowGroup; ++k) {
    rows[k] = from(std::min(k, count - 1));
    out[k] = to(std::min(k, count - 1));
  }
  resample_rows(rows, s_.packed_x, out);
}

// Output row `i` of the vertical pass from the ring.
void Run::blend(int i, int bytes, std::uint8_t* out) {
  const std::size_t offset = vertical_first_ ? source_.row_offset() : 0;
  const int count = s_.taps_y.count[i];
  const int pairs = (count + 1) / 2;
  int slot = s_.packed_y.first[i] % s_.ring_size;
  for (int k = 0; k < count; ++k) {
    s_.tap_rows[k] = s_.ring.row(slot) + offset;
    if (++slot == s_.ring_size) slot = 0;
  }
  if (count % 2 != 0) s_.tap_rows[count] = s_.tap_rows[count - 1];
  blend_rows(s_.tap_rows.data(), s_.packed_y.output(i), pairs, bytes, out);
}

// A finished row that no horizontal pass made RGB.
void Run::put_rgbx(const std::uint8_t* rgbx) {
  drop_x(rgbx, spec_.window.width, s_.output.row(0));
  sink_.put_row(s_.output.row(0));
}

}  // namespace

Region needed_region(const ResizeSpec& spec) {
  Region region = spec.window;
  Taps taps;
  if (spec.resizes_columns()) {
    compute_taps(spec.filter, spec.in.width, spec.out.width, region.left, region.width, taps, spec.columns);
    region.left = taps.begin;
    region.width = taps.end - taps.begin;
  }
  if (spec.resizes_rows()) {
    compute_taps(spec.filter, spec.in.height, spec.out.height, region.top, region.height, taps, spec.rows);
    region.top = taps.begin;
    region.height = taps.end - taps.begin;
  }
  return region;
}

Resizer::Resizer() : scratch_(std::make_unique<Scratch>()) {}
Resizer::~Resizer() = default;

Status Resizer::run(const ResizeSpec& spec, RowSource& source, int top, int left, RowSink& sink) {
  Status status = Run(*scratch_, spec, source, sink).run(top, left);
  scratch_->input.trim();
  scratch_->ring.trim();
  scratch_->blended.trim();
  scratch_->output.trim();
  return status;
}

}  // namespace pyfastdl
