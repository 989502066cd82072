#include "decode/jpeg_baseline.h"

#include <algorithm>
#include <new>
#include <span>

#include "base/row_source.h"
#include "decode/jpeg_color.h"

namespace pyfastdl {
namespace {

constexpr std::size_t kKeptSamples = std::size_t{2} << 20;

// Room beside a plane's blocks: a sample on the left, and a group of pixels on the right.
constexpr std::ptrdiff_t kLeftRoom = 16;
constexpr std::ptrdiff_t kRightRoom = 2 * kColorGroup;

// Between rows of MCUs predictions must stay below this; a row adds less than 2^30, so that they never overflow.
constexpr std::int32_t kMostDc = 1 << 24;
constexpr std::int64_t kMostMcusAtOnce = 4096;

// An interval is jumped over only if libjpeg could not find an overflow of a prediction in it: its error.
constexpr std::int64_t kMostJumped = 8192;

constexpr int up(int n, int unit) { return (n + unit - 1) / unit; }

}  // namespace

bool BaselineJpeg::start(const jpeg_decompress_struct& header, const Region& region) {
  if (!idct_has_vectors() || !understand(header)) return false;
  region_ = region;
  next_row_ = region.top;
  try {
    plan_planes();
    if (!build_tables(header)) return false;
    const std::int64_t mcus = std::int64_t{mcus_across_} * mcus_down_;
    interval_mcus_ = header.restart_interval > 0 ? static_cast<std::int64_t>(header.restart_interval) : mcus;
    const std::span<const std::uint8_t> data(header.src->next_input_byte, header.src->bytes_in_buffer);
    if (!scan_.read(data, static_cast<std::size_t>((mcus + interval_mcus_ - 1) / interval_mcus_)))
      return false;
    allocate();
  } catch (const std::bad_alloc&) {
    return false;  // libjpeg says so, if it is short of memory as well
  }
  idct_.clear();
  begin_interval(0);
  return true;
}

// Whether the file is of the kind, and its measures.
bool BaselineJpeg::understand(const jpeg_decompress_struct& header) {
  if (header.progressive_mode || header.arith_code || header.data_precision != 8) return false;
  if (header.Ss != 0 || header.Se != DCTSIZE2 - 1 || header.Ah != 0 || header.Al != 0) return false;
  const int components = header.num_components;
  const bool gray = components == 1 && header.jpeg_color_space == JCS_GRAYSCALE;
  const bool ycc = components == 3 && header.jpeg_color_space == JCS_YCbCr;
  if ((!gray && !ycc) || header.comps_in_scan != components) return false;
  size_ = {static_cast<int>(header.image_height), static_cast<int>(header.image_width)};
  for (int c = 0; c < components; ++c) {
    const jpeg_component_info& info = header.comp_info[c];
    if (header.cur_comp_info[c] != &info) return false;
    Plane& plane = planes_[c];
    // A component on its own is not interleaved, whatever its sampling.
    plane.across = gray ? 1 : info.h_samp_factor;
    plane.down = gray ? 1 : info.v_samp_factor;
    if (c == 0 ? plane.across > 2 || plane.down > 2 : plane.across != 1 || plane.down != 1) return false;
    const int across = planes_[0].across / plane.across, down = planes_[0].down / plane.down;
    plane.size = {up(size_.height, down), up(size_.width, across)};
    // Of so narrow ones libjpeg repeats the samples.
    if (across == 2 && plane.size.width <= 2) return false;
  }
  planes_used_ = components;
  mcus_across_ = up(size_.width, 8 * planes_[0].across);
  mcus_down_ = up(size_.height, 8 * planes_[0].down);
  return true;
}

bool BaselineJpeg::build_tables(const jpeg_decompress_struct& header) {
  // MCUs may reach beyond the image, by blocks that nobody needs.
  const bool skips = region_ != whole(size_) || up(size_.width, 8) % planes_[0].across != 0 ||
                     up(size_.height, 8) % planes_[0].down != 0;
  int max_size[NUM_HUFF_TBLS];
  std::fill_n(max_size, NUM_HUFF_TBLS, 15);
  for (int c = 0; c < planes_used_; ++c) {
    const jpeg_component_info& info = header.comp_info[c];
    const auto in_range = [](int n) { return n >= 0 && n < NUM_HUFF_TBLS; };
    if (!in_range(info.dc_tbl_no) || !in_range(info.ac_tbl_no) || info.quant_tbl_no < 0 ||
        info.quant_tbl_no >= NUM_QUANT_TBLS) {
      return false;
    }
    const JQUANT_TBL* quant = header.quant_tbl_ptrs[info.quant_tbl_no];
    const JHUFF_TBL* dc = header.dc_huff_tbl_ptrs[info.dc_tbl_no];
    if (quant == nullptr || dc == nullptr || !dc_tables_[info.dc_tbl_no].build(*dc)) return false;
    int most = 1;
    for (int k = 0; k < DCTSIZE2; ++k) {
      components_[c].quant[k] = quant->quantval[k];
      if (k > 0) most = std::max(most, int{components_[c].quant[k]});
    }
    // So that coefficients from the table need no check.
    int& size = max_size[info.ac_tbl_no];
    while (size > 0 && ((1 << size) - 1) * most > kMostCoefficient) --size;
    components_[c].dc = &dc_tables_[info.dc_tbl_no];
    components_[c].ac = &ac_tables_[info.ac_tbl_no];
  }
  for (int c = 0; c < planes_used_; ++c) {
    const int n = header.comp_info[c].ac_tbl_no;
    const JHUFF_TBL* ac = header.ac_huff_tbl_ptrs[n];
    if (ac == nullptr || !ac_tables_[n].build(*ac, max_size[n], skips)) return false;
  }
  return true;
}

// Which blocks and which rows the region needs: its own pixels, and one sample around it where a component is
// smaller than the image.
void BaselineJpeg::plan_planes() {
  first_mcu_ = mcus_across_;
  end_mcu_ = 0;
  for (int c = 0; c < planes_used_; ++c) {
    Plane& plane = planes_[c];
    const int across = planes_[0].across / plane.across, down = planes_[0].down / plane.down;
    const int left = std::max(region_.left / across - (across - 1), 0);
    const int right = std::min((region_.right() - 1) / across + (across - 1), plane.size.width - 1);
    plane.first_row = std::max(region_.top / down - (down - 1), 0);
    plane.end_row = std::min((region_.bottom() - 1) / down + (down - 1), plane.size.height - 1) + 1;
    plane.first_block = left / 8;
    plane.end_block = right / 8 + 1;
    first_mcu_ = std::min(first_mcu_, plane.first_block / plane.across);
    end_mcu_ = std::max(end_mcu_, (plane.end_block - 1) / plane.across + 1);
  }
  next_mcu_row_ = mcus_down_;
  for (int c = 0; c < planes_used_; ++c) {
    next_mcu_row_ = std::min(next_mcu_row_, planes_[c].first_row / (8 * planes_[c].down));
  }
  first_column_ = region_.left & ~(planes_[0].across - 1);
  pixels_ = up(region_.right() - first_column_, kColorGroup) * kColorGroup;
  row_bytes_ = static_cast<std::size_t>(pixels_) * kPixelBytes;
  row_offset_ = static_cast<std::size_t>(region_.left - first_column_) * kPixelBytes;
}

void BaselineJpeg::allocate() {
  std::size_t total = 0;
  for (int c = 0; c < planes_used_; ++c) {
    Plane& plane = planes_[c];
    plane.stride = kLeftRoom + (plane.end_block - plane.first_block) * 8 + kRightRoom;
    total += static_cast<std::size_t>(plane.stride) * static_cast<std::size_t>(16 * plane.down);
  }
  if (total <= kKeptSamples) samples_.trim(kKeptSamples);
  samples_.resize(total);
  upsampled_.resize(static_cast<std::size_t>(pixels_) * 2);
  std::uint8_t* memory = samples_.data();
  blocks_per_mcu_ = 0;
  for (int c = 0; c < planes_used_; ++c) {
    Plane& plane = planes_[c];
    plane.samples = memory + kLeftRoom;
    memory += plane.stride * (16 * plane.down);
    for (int b = 0; b < plane.across * plane.down; ++b) {
      blocks_[blocks_per_mcu_++] = {.component = &components_[c],
                                    .slot = c,
                                    .across = plane.across,
                                    .column = b % plane.across,
                                    .first = plane.first_block,
                                    .end = plane.end_block,
                                    .samples = nullptr,
                                    .stride = plane.stride};
    }
  }
}

void BaselineJpeg::begin_interval(std::int64_t interval) {
  interval_ = interval;
  next_mcu_ = interval * interval_mcus_;
  const auto i = static_cast<std::size_t>(interval);
  entropy_ = {.reader = BitReader(scan_.begin(i)), .dc = {}, .last = scan_.end(i) + 8};
}

// Walks through the interval at hand until `mcu` comes next, or its end.
bool BaselineJpeg::walk_to(std::int64_t mcu) {
  while (next_mcu_ < mcu) {
    const std::int64_t count = std::min(mcu - next_mcu_, kMostMcusAtOnce);
    if (!skip_mcus(entropy_, blocks_, blocks_per_mcu_, static_cast<int>(count)) || !sound()) return false;
    next_mcu_ += count;
  }
  return true;
}

// Makes `mcu` the next one in the stream. Intervals in between are jumped over: whatever is in them, libjpeg is back in
// step at the marker behind them.
bool BaselineJpeg::go_to(std::int64_t mcu) {
  const std::int64_t interval = mcu / interval_mcus_;
  if (interval_ < interval && interval_mcus_ <= kMostJumped) begin_interval(interval);
  while (interval_ < interval) {
    if (!walk_to((interval_ + 1) * interval_mcus_)) return false;
    begin_interval(interval_ + 1);
  }
  return walk_to(mcu);
}

// Whether what was decoded so far was there, and is believable.
bool BaselineJpeg::sound() const {
  const auto i = static_cast<std::size_t>(interval_);
  const auto small = [](std::int32_t dc) { return dc < kMostDc && dc > -kMostDc; };
  return entropy_.reader.taken(scan_.begin(i)) <= (scan_.end(i) - scan_.begin(i)) * 8 &&
         std::all_of(entropy_.dc, entropy_.dc + 3, small);
}

bool BaselineJpeg::decode_row_of_mcus() {
  const int mcu_row = next_mcu_row_++;
  // Blocks in rows that nobody needs are walked through like those beside the region.
  int b = 0;
  for (int c = 0; c < planes_used_; ++c) {
    const Plane& plane = planes_[c];
    for (int i = 0; i < plane.down; ++i) {
      const int y = (mcu_row * plane.down + i) * 8;
      const bool needed = y < plane.end_row && y + 8 > plane.first_row;
      for (int j = 0; j < plane.across; ++j, ++b) {
        blocks_[b].end = needed ? plane.end_block : plane.first_block;
        blocks_[b].samples = plane.row(y);
      }
    }
  }
  const std::int64_t row_start = std::int64_t{mcu_row} * mcus_across_;
  for (int first = first_mcu_; first < end_mcu_;) {
    if (!go_to(row_start + first)) return false;
    const std::int64_t left = (interval_ + 1) * interval_mcus_ - next_mcu_;
    const int count = static_cast<int>(std::min<std::int64_t>(end_mcu_ - first, left));
    if (!decode_mcus(entropy_, blocks_, blocks_per_mcu_, first, first + count, idct_) || !sound())
      return false;
    next_mcu_ += count;
    first += count;
  }
  if (!idct_.flush()) return false;
  repeat_edges(mcu_row);
  return true;
}

// The samples beyond the left and the right edge, for upsampling across.
void BaselineJpeg::repeat_edges(int mcu_row) {
  if (planes_[0].across == 1) return;
  for (int c = 1; c < planes_used_; ++c) {
    const Plane& plane = planes_[c];
    for (int y = mcu_row * 8; y < mcu_row * 8 + 8; ++y) {
      if (plane.first_block == 0) *plane.at(y, -1) = *plane.at(y, 0);
      const int width = plane.size.width;
      if (plane.end_block * 8 >= width) *plane.at(y, width) = *plane.at(y, width - 1);
    }
  }
}

void BaselineJpeg::write_row(int y, std::uint8_t* out) {
  const std::uint8_t* luma = planes_[0].at(y, first_column_);
  if (planes_used_ == 1) return gray_to_rgbx(luma, pixels_, out);
  const int across = planes_[0].across, down = planes_[0].down;
  const std::uint8_t* chroma[2];
  for (int c = 1; c < 3; ++c) {
    const Plane& plane = planes_[c];
    const int x = first_column_ / across;
    std::uint8_t* upsampled =
        upsampled_.data() + static_cast<std::size_t>(c - 1) * static_cast<std::size_t>(pixels_);
    chroma[c - 1] = upsampled;
    const std::uint8_t* near = plane.at(y / down, x);
    const int other = std::clamp(y / 2 + (y % 2 == 0 ? -1 : 1), 0, plane.size.height - 1);
    if (down == 1 && across == 1) {
      chroma[c - 1] = near;
    } else if (down == 1) {
      upsample_across(near, pixels_, upsampled);
    } else if (across == 1) {
      upsample_down(near, plane.at(other, x), y % 2 == 0 ? 1 : 2, pixels_, upsampled);
    } else {
      upsample_both(near, plane.at(other, x), pixels_, upsampled);
    }
  }
  ycc_to_rgbx(luma, chroma[0], chroma[1], pixels_, out);
}

int BaselineJpeg::read_rows(std::uint8_t* const* rows, int count) {
  const int down = planes_[0].down;
  for (int i = 0; i < count; ++i, ++next_row_) {
    // Where colours have half the height, a row looks at the next one's.
    const int last_needed = std::min(next_row_ + (down == 2 ? 1 : 0), size_.height - 1);
    while (next_mcu_row_ <= last_needed / (8 * down)) {
      if (!decode_row_of_mcus()) return i;
    }
    write_row(next_row_, rows[i]);
  }
  return count;
}

bool BaselineJpeg::read_to_end() {
  const std::int64_t mcus = std::int64_t{mcus_across_} * mcus_down_;
  return go_to(mcus - 1) && walk_to(mcus);
}

}  // namespace pyfastdl
