// Writes the fuzzers' seeds into DIR/<target>: one small file of each kind for the decoders, those with regions behind
// them, and plain bytes for what is made from numbers.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>

#include "decode/encoders.h"

namespace {

using namespace pyfastdl;
using testing::Bytes;

void write(const std::filesystem::path& folder, const std::string& name, const Bytes& bytes) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void write_jpegs(const std::filesystem::path& folder, Size size) {
  using testing::JpegColors;
  for (const auto& [h, v] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}}) {
    for (const bool progressive : {false, true}) {
      for (const int restarts : {0, 1}) {
        write(folder,
              std::to_string(h) + std::to_string(v) + (progressive ? "p" : "b") + std::to_string(restarts),
              testing::make_jpeg(
                  size, {.luma_h = h, .luma_v = v, .progressive = progressive, .restart_rows = restarts}));
      }
    }
  }
  write(folder, "gray", testing::make_jpeg(size, {.luma_h = 1, .luma_v = 1, .colors = JpegColors::gray}));
  write(folder, "optimized", testing::make_jpeg(size, {.quality = 75, .optimize = true, .restart_mcus = 2}));
  write(folder, "wide", testing::make_jpeg(size, {.quality = 2, .wide_quant = true}));
  write(folder, "noise", testing::make_jpeg(size, {.quality = 100, .scene = testing::Scene::noise}));
  write(folder, "rgb", testing::make_jpeg(size, {.luma_h = 1, .luma_v = 1, .colors = JpegColors::rgb}));
  write(folder, "cmyk", testing::make_jpeg(size, {.luma_h = 1, .luma_v = 1, .colors = JpegColors::cmyk}));
  write(folder, "ycck", testing::make_jpeg(size, {.colors = JpegColors::ycck}));
  write(folder, "arithmetic", testing::make_jpeg(size, {.arithmetic = true}));
}

void write_pngs(const std::filesystem::path& folder, Size size) {
  for (const int color : {0, 2, 3, 4, 6}) {
    for (const int depth : {1, 2, 4, 8, 16}) {
      if ((color == 3 && depth == 16) || (color != 0 && color != 3 && depth < 8)) continue;
      for (const bool interlaced : {false, true}) {
        write(folder, std::to_string(color) + "_" + std::to_string(depth) + (interlaced ? "i" : ""),
              testing::make_png(size, {.color_type = color, .depth = depth, .interlaced = interlaced}).file);
      }
    }
  }
}

void write_webps(const std::filesystem::path& folder, Size size) {
  for (const bool lossless : {false, true}) {
    for (const bool alpha : {false, true}) {
      write(folder, std::string(lossless ? "lossless" : "lossy") + (alpha ? "_alpha" : ""),
            testing::make_webp(size, lossless, alpha, 40));
    }
  }
}

// Some bytes, the same every time.
Bytes bytes_of(std::mt19937& random, std::size_t count) {
  Bytes bytes(count);
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random());
  return bytes;
}

void write_numbers(const std::filesystem::path& folder, std::mt19937& random) {
  for (const std::size_t count : {16, 64, 200, 500, 1000, 3000}) {
    for (const char* copy : {"a", "b", "c"})
      write(folder, std::to_string(count) + copy, bytes_of(random, count));
  }
}

void write_orientations(const std::filesystem::path& folder) {
  // One entry: tag 0x0112, SHORT, one value, 6.
  const Bytes little = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3,
                        0,   1,   0,  0, 0, 6, 0, 0, 0, 0, 0,    0,    0};
  const Bytes big = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0};
  Bytes with_header = {'E', 'x', 'i', 'f', 0, 0};
  with_header.insert(with_header.end(), big.begin(), big.end());
  const std::string xmp = "<x:xmpmeta><rdf:Description tiff:Orientation=\"8\"/></x:xmpmeta>";
  write(folder, "little", little);
  write(folder, "big", big);
  write(folder, "with_header", with_header);
  write(folder, "xmp", Bytes(xmp.begin(), xmp.end()));
}

void write_with_regions(const std::filesystem::path& from, const std::filesystem::path& to,
                        std::mt19937& random) {
  constexpr std::size_t kNumbers = 25;  // three regions, and how many there are
  for (const auto& entry : std::filesystem::directory_iterator(from)) {
    std::ifstream file(entry.path(), std::ios::binary);
    Bytes bytes{std::istreambuf_iterator<char>(file), {}};
    const Bytes numbers = bytes_of(random, kNumbers);
    bytes.insert(bytes.end(), numbers.begin(), numbers.end());
    write(to, from.filename().string() + "_" + entry.path().filename().string(), bytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " DIR\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const Size size{19, 37};
  write_jpegs(folder / "jpeg", size);
  write_jpegs(folder / "jpeg_engines", size);
  write_pngs(folder / "png", size);
  write_webps(folder / "webp", size);
  write_orientations(folder / "exif");
  std::mt19937 random(1);
  for (const char* codec : {"jpeg", "png", "webp"})
    write_with_regions(folder / codec, folder / "regions", random);
  for (const char* target : {"paths", "scan", "transform"}) write_numbers(folder / target, random);
  return 0;
}
