// Our own JPEG engine against libjpeg, through the same class: the same pixels, and failure where libjpeg fails.
#include "decode/jpeg_baseline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "decode/decoding.h"
#include "decode/encoders.h"
#include "decode/jpeg_decoder.h"

namespace pyfastdl {
namespace {

using testing::Bytes;
using testing::decode;
using testing::Decoded;
using testing::JpegColors;
using testing::JpegOptions;
using testing::make_jpeg;
using testing::next_random;
using testing::random_region;
using testing::Scene;

class JpegBaseline : public ::testing::Test {
 protected:
  JpegBaseline() { library_.set_engine(JpegEngine::libjpeg); }

  int below(int n) { return static_cast<int>(next_random(state_) % static_cast<std::uint32_t>(n)); }

  // Both engines on the same bytes; true if they agree. What failed before its end has no pixels to compare.
  ::testing::AssertionResult agree(const Bytes& file, const Region* region, int rows_a_call) {
    const Decoded own = decode(own_, file, region, rows_a_call);
    const Decoded library = decode(library_, file, region, rows_a_call);
    if (own.status.code() != library.status.code()) {
      return ::testing::AssertionFailure()
             << "'" << own.status.message() << "', libjpeg says '" << library.status.message() << "'";
    }
    if (own.status.ok() && own.rgb != library.rgb) return ::testing::AssertionFailure() << "other pixels";
    return ::testing::AssertionSuccess();
  }

  bool own_decoded() const { return !own_.used_libjpeg(); }

  // The whole file, a region at random, and one at its end.
  void expect_agreement(const Bytes& file, Size size, const std::string& what) {
    const Region random = random_region(size, state_);
    const Region end{size.height - (size.height + 3) / 4, size.width / 2, (size.height + 3) / 4,
                     size.width - size.width / 2};
    ASSERT_TRUE(agree(file, nullptr, 1 + below(20))) << what;
    ASSERT_TRUE(agree(file, &end, 1 + below(20))) << what << ", at the end";
    ASSERT_TRUE(agree(file, &random, 1 + below(20)))
        << what << ", top " << random.top << " left " << random.left << " height " << random.height
        << " width " << random.width;
  }

  JpegDecoder own_, library_;
  std::uint32_t state_ = 7;
};

TEST_F(JpegBaseline, EqualsLibjpegForFilesAndRegionsOfAnyKind) {
  int files = 0, own_files = 0;
  for (int i = 0; i < 1500; ++i) {
    const bool small = below(4) == 0;
    const Size size{1 + below(small ? 20 : 140), 1 + below(small ? 20 : 140)};
    JpegOptions options;
    options.luma_h = 1 + below(2);
    options.luma_v = 1 + below(2);
    if (below(6) == 0) options.colors = JpegColors::gray;
    options.quality = below(3) == 0 ? 1 + below(100) : 60 + below(41);
    options.optimize = below(2) == 0;
    if (below(4) == 0) options.restart_rows = 1 + below(2);
    if (below(4) == 0) options.restart_mcus = 1 + below(12);
    options.wide_quant = below(4) == 0;
    options.scene = static_cast<Scene>(below(5));
    options.seed = static_cast<std::uint32_t>(i);
    const Bytes file = make_jpeg(size, options);
    const std::string what = std::to_string(size.height) + " x " + std::to_string(size.width) + ", luma " +
                             std::to_string(options.luma_h) + "x" + std::to_string(options.luma_v) +
                             ", quality " + std::to_string(options.quality) + ", file " + std::to_string(i);
    ASSERT_TRUE(agree(file, nullptr, 1 + below(20))) << what;
    ++files;
    own_files += own_decoded() ? 1 : 0;
    for (int r = 0; r < 6; ++r) {
      const Region region = random_region(size, state_);
      ASSERT_TRUE(agree(file, &region, 1 + below(20)))
          << what << ": top " << region.top << " left " << region.left << " height " << region.height
          << " width " << region.width;
    }
  }
  // All but very narrow ones and a few with insane coefficients.
  EXPECT_GT(own_files, files * 9 / 10);
}

TEST_F(JpegBaseline, CoefficientsAtTheirLimitsEqualLibjpeg) {
  for (const Scene scene : {Scene::noise, Scene::squares}) {
    for (const int quality : {1, 2, 5, 10, 25, 50, 100}) {
      for (const bool wide : {false, true}) {
        const Bytes file = make_jpeg(
            {64, 64}, {.luma_h = 1, .luma_v = 1, .quality = quality, .wide_quant = wide, .scene = scene});
        ASSERT_TRUE(agree(file, nullptr, 16)) << "quality " << quality;
      }
    }
  }
}

TEST_F(JpegBaseline, KindsOfFilesAreDecodedByTheRightEngine) {
  const Size size{40, 52};
  const auto engine_of = [&](const JpegOptions& options) {
    EXPECT_TRUE(decode(own_, make_jpeg(size, options)).status.ok());
    return own_.used_libjpeg() ? JpegEngine::libjpeg : JpegEngine::own_where_exact;
  };
  constexpr JpegEngine kOwn = JpegEngine::own_where_exact;
  EXPECT_EQ(engine_of({}), kOwn);
  EXPECT_EQ(engine_of({.luma_h = 1, .luma_v = 1, .restart_rows = 1}), kOwn);
  EXPECT_EQ(engine_of({.luma_h = 1, .luma_v = 2, .optimize = true}), kOwn);
  EXPECT_EQ(engine_of({.luma_h = 2, .luma_v = 1, .restart_mcus = 3}), kOwn);
  EXPECT_EQ(engine_of({.colors = JpegColors::gray}), kOwn);
  EXPECT_EQ(engine_of({.quality = 3, .wide_quant = true}), kOwn);
  EXPECT_EQ(engine_of({.progressive = true}), JpegEngine::libjpeg);
  EXPECT_EQ(engine_of({.luma_h = 1, .luma_v = 1, .colors = JpegColors::rgb}), JpegEngine::libjpeg);
  EXPECT_EQ(engine_of({.colors = JpegColors::ycck}), JpegEngine::libjpeg);
  EXPECT_EQ(engine_of({.luma_h = 4}), JpegEngine::libjpeg);
}

TEST_F(JpegBaseline, FilesCutAnywhereFailWhereLibjpegFails) {
  const Size size{35, 43};
  for (const JpegOptions& options :
       {JpegOptions{}, JpegOptions{.luma_h = 1, .luma_v = 1, .restart_mcus = 4}}) {
    const Bytes file = make_jpeg(size, options);
    for (std::size_t n = 0; n < file.size(); ++n) {
      Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n));
      const std::string what = "cut to " + std::to_string(n) + " bytes";
      expect_agreement(cut, size, what);
      cut.insert(cut.end(), {0x20, 0x20, 0x20});
      expect_agreement(cut, size, what + " and junk");
      cut.insert(cut.end(), {0xFF, 0xD9});
      expect_agreement(cut, size, what + ", junk and an end marker");
    }
  }
}

TEST_F(JpegBaseline, FilesWithOneWrongByteGiveWhatLibjpegGives) {
  const Size size{27, 37};
  int repaired = 0, own_files = 0;
  for (const JpegOptions& options :
       {JpegOptions{.quality = 60}, JpegOptions{.luma_h = 2, .luma_v = 1, .quality = 60, .restart_mcus = 2},
        JpegOptions{.luma_h = 1, .luma_v = 2, .quality = 50, .optimize = true}}) {
    const Bytes file = make_jpeg(size, options);
    for (std::size_t i = 0; i < file.size(); ++i) {
      for (const int change : {0x01, 0x80, 0xFF, 1 + below(255), 256}) {
        Bytes wrong = file;
        wrong[i] = change == 256 ? 0xFF : static_cast<std::uint8_t>(wrong[i] ^ change);
        expect_agreement(wrong, size, "byte " + std::to_string(i) + " is " + std::to_string(wrong[i]));
        (own_decoded() ? own_files : repaired) += 1;
      }
    }
  }
  // Both ways were taken.
  EXPECT_GT(own_files, 500);
  EXPECT_GT(repaired, 500);
}

TEST_F(JpegBaseline, BytesAreInsertedAndLostAsLibjpegTakesIt) {
  const Size size{27, 37};
  for (const int restart_mcus : {0, 3}) {
    const Bytes file = make_jpeg(size, {.quality = 60, .restart_mcus = restart_mcus});
    for (std::size_t i = 600; i < file.size(); ++i) {
      Bytes longer = file, shorter = file;
      const std::uint8_t byte = below(3) == 0 ? 0xFF : static_cast<std::uint8_t>(below(256));
      longer.insert(longer.begin() + static_cast<std::ptrdiff_t>(i), byte);
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
      expect_agreement(longer, size, "a byte before " + std::to_string(i));
      expect_agreement(shorter, size, "without byte " + std::to_string(i));
    }
  }
}

// Rows are promised in our engine's layout before libjpeg takes over.
TEST_F(JpegBaseline, LibjpegTakesOverInTheMiddleOfAnImage) {
  const Size size{160, 90};
  Bytes file = make_jpeg(size, {.luma_h = 2, .luma_v = 2, .scene = Scene::noise});
  // Codes of sixteen ones don't exist, whichever the table.
  const std::size_t at = file.size() * 3 / 4;
  for (std::size_t i = 0; i < 8; i += 2) {
    file[at + i] = 0xFF;
    file[at + i + 1] = 0x00;
  }
  const Region region{3, 11, 150, 61};
  ASSERT_TRUE(own_.open(file, {}).ok());
  ASSERT_TRUE(own_.start(region).ok());
  const std::size_t row_bytes = own_.row_bytes(), row_offset = own_.row_offset();
  EXPECT_TRUE(own_decoded());
  Bytes rgb;
  Bytes row(row_bytes + kRowPadding);
  for (int y = 0; y < region.height; ++y) {
    if (y == 20) {
      EXPECT_TRUE(own_decoded());
    }
    std::uint8_t* rows[] = {row.data()};
    ASSERT_TRUE(own_.read_rows(rows, 1).ok());
    for (int x = 0; x < region.width; ++x) {
      const std::uint8_t* pixel = row.data() + row_offset + x * kPixelBytes;
      rgb.insert(rgb.end(), pixel, pixel + 3);
    }
  }
  ASSERT_TRUE(own_.finish().ok());
  EXPECT_FALSE(own_decoded());
  EXPECT_EQ(own_.row_bytes(), row_bytes);
  EXPECT_EQ(own_.row_offset(), row_offset);
  EXPECT_EQ(rgb, decode(library_, file, &region).rgb);
  // And the decoder is as good as new.
  const Bytes sound = make_jpeg(size);
  ASSERT_TRUE(agree(sound, nullptr, 16));
  EXPECT_TRUE(own_decoded());
}

// Intervals that are jumped over may hold anything but markers.
TEST_F(JpegBaseline, DamageInIntervalsAboveTheRegionChangesNothing) {
  const Size size{200, 64};
  const Bytes file = make_jpeg(size, {.restart_rows = 1});
  Bytes wrong = file;
  for (std::size_t i = 700; i < 900; ++i) {
    if (wrong[i] < 0xF0 && wrong[i - 1] != 0xFF && wrong[i] != 0)
      wrong[i] = static_cast<std::uint8_t>(below(255));
  }
  const Region region{150, 5, 30, 40};
  ASSERT_TRUE(agree(wrong, &region, 7));
  EXPECT_TRUE(own_decoded());
  EXPECT_EQ(decode(own_, wrong, &region).rgb, decode(own_, file, &region).rgb);
}

}  // namespace
}  // namespace pyfastdl
