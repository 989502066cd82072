// libjpeg-turbo alone: how fast one thread decodes JPEG files in full, from memory, into RGB.
//
//   jpeg_turbo EPOCHS < names, each ended by a zero byte
//
// Reads all files first, decodes them once to warm up, then EPOCHS times; prints one JSON object. Settings are those that
// Pillow and the core use: the slow integer transform and fancy upsampling (libjpeg's defaults).
// clang-format off
#include <cstdio>  // jpeglib.h needs it, and says nothing about it
#include <jpeglib.h>
// clang-format on

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<unsigned char>;

#define PYFASTDL_TEXT_OF(value) #value
#define PYFASTDL_TEXT(macro) PYFASTDL_TEXT_OF(macro)

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Bytes read_file(const std::string& name) {
  std::ifstream stream(name, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + name);
  return Bytes(std::istreambuf_iterator<char>(stream), {});
}

bool is_jpeg(const Bytes& bytes) {
  return bytes.size() > 3 && bytes[0] == 0xFF && bytes[1] == 0xD8 && bytes[2] == 0xFF;
}

// libjpeg's own error exit ends the program and says why: right for files that other loaders have just read.
class Decoder {
 public:
  Decoder() {
    info_.err = jpeg_std_error(&errors_);
    jpeg_create_decompress(&info_);
  }
  ~Decoder() { jpeg_destroy_decompress(&info_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  void decode(const Bytes& bytes) {
    jpeg_mem_src(&info_, bytes.data(), bytes.size());
    jpeg_read_header(&info_, TRUE);
    if (info_.num_components == 3) info_.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info_);
    const std::size_t stride = std::size_t{info_.output_width} * info_.output_components;
    pixels_.resize(stride * info_.output_height);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = pixels_.data() + stride * info_.output_scanline;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
  }

 private:
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  Bytes pixels_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error("usage: jpeg_turbo EPOCHS < names");
  const int epochs = std::atoi(argv[1]);
  std::vector<Bytes> files;
  for (std::string name; std::getline(std::cin, name, '\0');) {
    Bytes bytes = read_file(name);
    if (is_jpeg(bytes)) files.push_back(std::move(bytes));
  }
  Decoder decoder;
  std::printf(
      "{\"libjpeg_turbo\": \"" PYFASTDL_TEXT(LIBJPEG_TURBO_VERSION) "\", \"images\": %zu, \"epochs\": [",
      files.size());
  for (int epoch = 0; epoch <= epochs; ++epoch) {
    const double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (const Bytes& bytes : files) decoder.decode(bytes);
    if (epoch == 0) continue;
    std::printf("%s{\"wall_s\": %.6f, \"cpu_s\": %.6f}", epoch > 1 ? ", " : "",
                seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
  }
  std::puts("]}");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
