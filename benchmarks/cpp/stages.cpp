// Where the time of one image goes, on one thread, by doing less and less of the work for the same random crops.
//
//   stages REPEATS CROPS SHARE < names of JPEG files, each ended by a zero byte
//
// SHARE is the crop's share of the image's area, in the image's proportions; 0 draws crops as RandomResizedCrop does.
// Prints one JSON object: for each file its size, and for each part the least CPU time in microseconds over the repeats,
// on average over the crops:
//   read      the file into memory, from the page cache
//   full      libjpeg-turbo decodes the whole image
//   entropy   libjpeg-turbo reads the coefficients down to the crop's last row, and drops them
//   floor     libjpeg-turbo decodes just the crop (jpeg_crop_scanline, jpeg_skip_scanlines): what a region costs
//   decode    the core decodes just the crop
//   resize    the core resizes it to 224 x 224 bytes, flipped by chance, from decoded pixels in memory
//   transform the core does that and normalises to float32, straight into a cell
//   all       the core decodes and does all of that
// clang-format off
#include <cstdio>  // jpeglib.h needs it, and says nothing about it
#include <jpeglib.h>
// clang-format on

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/pixels_source.h"
#include "decode/jpeg_decoder.h"
#include "read/file_reader.h"
#include "transform/plan.h"
#include "transform/transformer.h"

namespace {

using namespace pyfastdl;

constexpr Size kOut{224, 224};
constexpr int kCells = 64;  // of a batch: cells that are written in turn don't stay in the cache

double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

void check(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

// libjpeg's own error exit ends the program and says why.
class Turbo {
 public:
  Turbo() {
    info_.err = jpeg_std_error(&errors_);
    jpeg_create_decompress(&info_);
  }
  ~Turbo() { jpeg_destroy_decompress(&info_); }
  Turbo(const Turbo&) = delete;
  Turbo& operator=(const Turbo&) = delete;

  void entropy(const ByteBuffer& bytes, int rows) {
    start(bytes);
    jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(rows));
    jpeg_abort_decompress(&info_);
  }

  void region(const ByteBuffer& bytes, const Region& region) {
    start(bytes);
    if (region.size() != Size{static_cast<int>(info_.output_height), static_cast<int>(info_.output_width)}) {
      auto left = static_cast<JDIMENSION>(region.left), width = static_cast<JDIMENSION>(region.width);
      jpeg_crop_scanline(&info_, &left, &width);
      if (region.top > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(region.top));
    }
    row_.resize(std::size_t{info_.output_width} * static_cast<std::size_t>(info_.output_components));
    JSAMPROW row = row_.data();
    while (info_.output_scanline < static_cast<JDIMENSION>(region.bottom()))
      jpeg_read_scanlines(&info_, &row, 1);
    jpeg_abort_decompress(&info_);
  }

 private:
  void start(const ByteBuffer& bytes) {
    jpeg_mem_src(&info_, bytes.data(), bytes.size());
    jpeg_read_header(&info_, TRUE);
    if (info_.num_components == 3) info_.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info_);
  }

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  std::vector<unsigned char> row_;
};

void decode(Decoder& decoder, const ByteBuffer& bytes, const Region& region,
            std::vector<std::uint8_t>& memory) {
  check(decoder.open({bytes.data(), bytes.size()}, {}));
  check(decoder.start(region));
  constexpr int kRowsAtOnce = 16;
  const std::size_t stride = decoder.row_bytes() + kRowPadding;
  memory.resize(stride * kRowsAtOnce);
  std::uint8_t* rows[kRowsAtOnce];
  for (std::size_t i = 0; i < kRowsAtOnce; ++i) rows[i] = memory.data() + i * stride;
  for (int y = 0; y < region.height; y += kRowsAtOnce)
    check(decoder.read_rows(rows, std::min(kRowsAtOnce, region.height - y)));
  check(decoder.finish());
}

// The whole image, for what is measured apart from decoding.
PixelsSource decode_whole(Decoder& decoder, const ByteBuffer& bytes, std::vector<std::uint8_t>& memory) {
  check(decoder.open({bytes.data(), bytes.size()}, {}));
  const Size size = decoder.size();
  check(decoder.start(whole(size)));
  const std::size_t stride = decoder.row_bytes() + kRowPadding;
  memory.resize(stride * static_cast<std::size_t>(size.height));
  for (int y = 0; y < size.height; ++y) {
    std::uint8_t* row = memory.data() + stride * static_cast<std::size_t>(y);
    check(decoder.read_rows(&row, 1));
  }
  check(decoder.finish());
  return {memory.data() + decoder.row_offset(), size, kPixelBytes, static_cast<std::ptrdiff_t>(stride)};
}

std::shared_ptr<const Plan> make_plan(Size image, double share, bool normalize) {
  RandomResizedCrop crop{.size = kOut};
  if (share > 0) {
    crop.scale = {share, share};
    crop.ratio.fill(static_cast<double>(image.width) / image.height);
  }
  std::vector<Op> ops = {crop, RandomHorizontalFlip{}};
  PixelFormat format{DType::uint8, Layout::hwc};
  if (normalize) {
    ops.push_back(Normalize{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}});
    format = {DType::float32, Layout::chw};
  }
  return std::make_shared<Plan>(ops, PassOrder::shrink_vertical_first, format);
}

class Bench {
 public:
  Bench(int repeats, int crops, double share) : repeats_(repeats), crops_(crops), share_(share) {}

  void measure(const std::string& name) {
    ByteBuffer bytes;
    const double read = least([&] { check(read_file(name, bytes, kMaxFileBytes)); });
    PixelsSource pixels = decode_whole(decoder_, bytes, pixels_);
    const Size size = pixels.size();
    const auto to_bytes = make_plan(size, share_, false), to_floats = make_plan(size, share_, true);
    Transformer resizing(to_bytes), all(to_floats);
    double parts[6] = {};
    double shown = 0;
    for (int i = 0; i < crops_; ++i) {
      const SampleKey key{.seed = 1, .index = static_cast<std::uint64_t>(i)};
      const Region region = std::get<DrawnCrop>(to_floats->sample(size, key)[0].value).box;
      shown += static_cast<double>(region.height) * region.width / size.height / size.width / crops_;
      const auto run = [&](Transformer& transformer, RowSource& source) {
        check(transformer.run(source, key, kOut, next_cell()));
      };
      parts[0] += least([&] { turbo_.entropy(bytes, region.bottom()); });
      parts[1] += least([&] { turbo_.region(bytes, region); });
      parts[2] += least([&] { decode(decoder_, bytes, region, rows_); });
      parts[3] += least([&] { run(resizing, pixels); });
      parts[4] += least([&] { run(all, pixels); });
      parts[5] += least([&] {
        check(decoder_.open({bytes.data(), bytes.size()}, {}));
        run(all, decoder_);
      });
    }
    for (double& part : parts) part /= crops_;
    const double full = least([&] { turbo_.region(bytes, whole(size)); });
    std::printf(
        "%s\n{\"height\": %d, \"width\": %d, \"bytes\": %zu, \"share\": %.4f, \"read\": %.2f, \"full\": "
        "%.2f, "
        "\"entropy\": %.2f, \"floor\": %.2f, \"decode\": %.2f, \"resize\": %.2f, "
        "\"transform\": %.2f, \"all\": %.2f}",
        is_first_ ? "" : ",", size.height, size.width, bytes.size(), shown, read, full, parts[0], parts[1],
        parts[2], parts[3], parts[4], parts[5]);
    is_first_ = false;
  }

 private:
  template <class Work>
  double least(const Work& work) const {
    double best = std::numeric_limits<double>::max();
    for (int i = 0; i < repeats_; ++i) {
      const double begin = cpu_us();
      work();
      best = std::min(best, cpu_us() - begin);
    }
    return best;
  }

  std::byte* next_cell() {
    const std::size_t bytes = std::size_t{4} * 3 * kOut.height * kOut.width;
    cells_.resize(kCells * bytes);
    return cells_.data() + static_cast<std::size_t>(cell_++ % kCells) * bytes;
  }

  const int repeats_, crops_;
  const double share_;
  bool is_first_ = true;
  Turbo turbo_;
  JpegDecoder decoder_;
  std::vector<std::uint8_t> rows_, pixels_;
  std::vector<std::byte> cells_;
  int cell_ = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) throw std::runtime_error("usage: stages REPEATS CROPS SHARE < names");
  Bench bench(std::atoi(argv[1]), std::atoi(argv[2]), std::atof(argv[3]));
  std::printf("{\"images\": [");
  for (std::string name; std::getline(std::cin, name, '\0');) bench.measure(name);
  std::puts("]}");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
