// Small files for tests and fuzzers, made by the codecs' own encoders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/geometry.h"

namespace pyfastdl::testing {

using Bytes = std::vector<std::uint8_t>;

// A picture with gradients and noise, `channels` bytes a pixel; the same for the same arguments.
Bytes picture(Size size, int channels, std::uint32_t seed = 1);

enum class JpegColors { ycc, gray, rgb, cmyk, ycck };

// What a picture shows: gradients with noise, noise alone, one colour, black and white squares, or gradients alone.
enum class Scene { grainy, noise, flat, squares, smooth };
Bytes picture(Size size, int channels, Scene scene, std::uint32_t seed);

struct JpegOptions {
  int luma_h = 2;
  int luma_v = 2;
  JpegColors colors = JpegColors::ycc;
  bool progressive = false;
  int restart_rows = 0;
  int quality = 90;
  bool adobe_marker = true;
  bool arithmetic = false;
  bool tables = true;
  int components = 0;       // 0: what the colours say; else that many, without a meaning
  bool optimize = false;    // Huffman tables made for this file
  int restart_mcus = 0;     // a restart interval that need not end with a row
  bool wide_quant = false;  // quantisation tables may have entries above 255
  Scene scene = Scene::grainy;
  std::uint32_t seed = 1;
};
Bytes make_jpeg(Size size, const JpegOptions& options = {});

struct PngOptions {
  int color_type = 2;
  int depth = 8;
  bool interlaced = false;
  int palette_entries = 0;  // 0: as many as the depth has
};
struct Png {
  Bytes file;
  Bytes raw;  // rows as PNG packs them, without filters
  std::size_t raw_stride = 0;
  Bytes palette;
};
Png make_png(Size size, const PngOptions& options = {});

// A chunk with its right checksum.
Bytes png_chunk(const std::string& name, const Bytes& data);

Bytes make_webp(Size size, bool lossless, bool alpha, float quality = 80);

std::uint32_t next_random(std::uint32_t& state);

}  // namespace pyfastdl::testing
