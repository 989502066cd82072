// What the transform's tests share: images, the slow and plain reference, a source that checks its caller, and a loop
// over every vector target of this machine.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "base/row_source.h"
#include "transform/filter.h"

namespace pyfastdl::testing {

// Tests that look at very many values look at fewer when they run slowly.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// RGB, three bytes a pixel, rows one after another.
struct RgbImage {
  Size size;
  std::vector<std::uint8_t> bytes;

  explicit RgbImage(Size s) : size(s), bytes(static_cast<std::size_t>(s.height) * s.width * 3) {}
  std::uint8_t* at(int y, int x) { return bytes.data() + (static_cast<std::size_t>(y) * size.width + x) * 3; }
  const std::uint8_t* at(int y, int x) const { return const_cast<RgbImage*>(this)->at(y, x); }
  friend bool operator==(const RgbImage&, const RgbImage&) = default;
};

// Noise; every other seed gives only 0 and 255, which brings filters that overshoot to their ends.
inline RgbImage noise(Size size, unsigned seed) {
  RgbImage image(size);
  std::minstd_rand random(seed);
  for (std::uint8_t& byte : image.bytes) {
    const unsigned value = static_cast<unsigned>(random() >> 8);
    byte = static_cast<std::uint8_t>(seed % 2 != 0 ? value : (value & 1u) * 255u);
  }
  return image;
}

// `region` of the image; zeros where it lies outside.
inline RgbImage crop(const RgbImage& image, const Region& region) {
  RgbImage out(region.size());
  for (int y = 0; y < region.height; ++y) {
    for (int x = 0; x < region.width; ++x) {
      const int from_y = y + region.top, from_x = x + region.left;
      if (from_y < 0 || from_y >= image.size.height || from_x < 0 || from_x >= image.size.width) continue;
      std::copy_n(image.at(from_y, from_x), 3, out.at(y, x));
    }
  }
  return out;
}

inline RgbImage mirror(const RgbImage& image) {
  RgbImage out(image.size);
  for (int y = 0; y < image.size.height; ++y) {
    for (int x = 0; x < image.size.width; ++x)
      std::copy_n(image.at(y, image.size.width - 1 - x), 3, out.at(y, x));
  }
  return out;
}

// One pass of Pillow's resize, as its definition says it.
inline RgbImage resize_axis(const RgbImage& image, int out, bool vertical, Filter filter) {
  const int in = vertical ? image.size.height : image.size.width;
  if (in == out) return image;
  Taps taps;
  compute_taps(filter, in, out, 0, out, taps);
  RgbImage result(vertical ? Size{out, image.size.width} : Size{image.size.height, out});
  for (int y = 0; y < result.size.height; ++y) {
    for (int x = 0; x < result.size.width; ++x) {
      const int i = vertical ? y : x;
      for (int c = 0; c < 3; ++c) {
        std::int64_t sum = 1 << (kWeightBits - 1);
        for (int k = 0; k < taps.count[i]; ++k) {
          const int from = taps.first[i] + k;
          sum += std::int64_t{taps.weight(i, k)} * (vertical ? image.at(from, x) : image.at(y, from))[c];
        }
        result.at(y, x)[c] = static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kWeightBits, 0, 255));
      }
    }
  }
  return result;
}

inline RgbImage resize(const RgbImage& image, Size out, Filter filter, PassOrder order) {
  if (vertical_first(order, image.size, out)) {
    return resize_axis(resize_axis(image, out.height, true, filter), out.width, false, filter);
  }
  return resize_axis(resize_axis(image, out.width, false, filter), out.height, true, filter);
}

// An image as a RowSource that fails the test when its caller breaks the protocol: rows asked twice, out of order, or
// beyond the region; finish() before the last row. It writes some bytes around the region, as decoders may.
class StrictSource : public RowSource {
 public:
  explicit StrictSource(const RgbImage& image) : image_(image) {}

  Size size() const override { return image_.size; }

  Status start(const Region& region) override {
    EXPECT_TRUE(inside(region, image_.size) && region.height > 0 && region.width > 0);
    EXPECT_EQ(starts_++, 0);
    region_ = region;
    return {};
  }

  std::size_t row_bytes() const override {
    return static_cast<std::size_t>(region_.width) * kPixelBytes + 2 * kAround;
  }
  std::size_t row_offset() const override { return kAround; }

  Status read_rows(std::uint8_t* const* rows, int count) override {
    EXPECT_GT(count, 0);
    EXPECT_LE(rows_read_ + count, region_.height);
    for (int i = 0; i < count; ++i, ++rows_read_) {
      if (rows_read_ == fail_at_) return {Errc::bad_data, "cut off"};
      std::fill_n(rows[i], row_bytes(), std::uint8_t{0xA5});
      for (int x = 0; x < region_.width; ++x) {
        std::copy_n(image_.at(region_.top + rows_read_, region_.left + x), 3,
                    rows[i] + kAround + x * kPixelBytes);
      }
    }
    return {};
  }

  Status finish() override {
    EXPECT_EQ(rows_read_, region_.height);
    ++finishes_;
    return finish_status_;
  }

  const Region& region() const { return region_; }
  int rows_read() const { return rows_read_; }
  int starts() const { return starts_; }
  int finishes() const { return finishes_; }
  void fail_at(int row) { fail_at_ = row; }
  void fail_finish(Status status) { finish_status_ = std::move(status); }

 private:
  static constexpr std::size_t kAround = 20;

  const RgbImage& image_;
  Region region_;
  int rows_read_ = 0;
  int starts_ = 0;
  int finishes_ = 0;
  int fail_at_ = -1;
  Status finish_status_;
};

// Runs the test once with each set of vector instructions that this machine has.
template <class Test>
void for_each_target(Test test) {
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    test();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

inline constexpr Filter kFilters[] = {Filter::box, Filter::bilinear, Filter::bicubic, Filter::lanczos};
inline constexpr PassOrder kPassOrders[] = {PassOrder::horizontal_first, PassOrder::tall_vertical_first,
                                            PassOrder::shrink_vertical_first};

}  // namespace pyfastdl::testing
