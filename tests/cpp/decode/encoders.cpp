#include "decode/encoders.h"

#include <png.h>
#include <webp/encode.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "decode/libjpeg.h"

namespace pyfastdl::testing {

std::uint32_t next_random(std::uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

Bytes picture(Size size, int channels, std::uint32_t seed) {
  Bytes out;
  out.reserve(static_cast<std::size_t>(size.height) * static_cast<std::size_t>(size.width * channels));
  std::uint32_t state = seed;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int smooth = (x * (3 + c) + y * (5 - c)) % 400;
        const int wave = smooth < 200 ? smooth : 400 - smooth;
        out.push_back(static_cast<std::uint8_t>(wave + static_cast<int>(next_random(state) % 56)));
      }
    }
  }
  return out;
}

Bytes picture(Size size, int channels, Scene scene, std::uint32_t seed) {
  if (scene == Scene::grainy) return picture(size, channels, seed);
  Bytes out;
  std::uint32_t state = seed;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < channels; ++c) {
        int value = 100 + 50 * c;
        if (scene == Scene::noise) value = static_cast<int>(next_random(state));
        if (scene == Scene::squares) value = ((x + c) / 3 + y / 5) % 2 == 0 ? 0 : 255;
        if (scene == Scene::smooth) value = (x * (c + 1) + y * (3 - c)) / 2;
        out.push_back(static_cast<std::uint8_t>(value));
      }
    }
  }
  return out;
}

Bytes make_jpeg(Size size, const JpegOptions& options) {
  struct Colors {
    int components;
    J_COLOR_SPACE in, stored;
  };
  const Colors colors = [&]() -> Colors {
    if (options.components > 0) return {options.components, JCS_UNKNOWN, JCS_UNKNOWN};
    switch (options.colors) {
      case JpegColors::gray:
        return {1, JCS_GRAYSCALE, JCS_GRAYSCALE};
      case JpegColors::rgb:
        return {3, JCS_RGB, JCS_RGB};
      case JpegColors::cmyk:
        return {4, JCS_CMYK, JCS_CMYK};
      case JpegColors::ycck:
        return {4, JCS_CMYK, JCS_YCCK};
      case JpegColors::ycc:
        break;
    }
    return {3, JCS_RGB, JCS_YCbCr};
  }();

  jpeg_compress_struct info;
  jpeg_error_mgr error;
  info.err = jpeg_std_error(&error);           // ends the program: these calls are right
  error.output_message = [](j_common_ptr) {};  // wide quantisation tables are meant
  jpeg_create_compress(&info);
  unsigned char* out = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&info, &out, &bytes);
  info.image_width = static_cast<JDIMENSION>(size.width);
  info.image_height = static_cast<JDIMENSION>(size.height);
  info.input_components = colors.components;
  info.in_color_space = colors.in;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, colors.stored);
  jpeg_set_quality(&info, options.quality, static_cast<boolean>(!options.wide_quant));
  info.optimize_coding = static_cast<boolean>(options.optimize);
  info.restart_interval = static_cast<unsigned int>(options.restart_mcus);
  info.write_Adobe_marker = static_cast<boolean>(info.write_Adobe_marker && options.adobe_marker);
  info.comp_info[0].h_samp_factor = options.luma_h;
  info.comp_info[0].v_samp_factor = options.luma_v;
  if (colors.stored == JCS_YCCK) {
    info.comp_info[3].h_samp_factor = options.luma_h;
    info.comp_info[3].v_samp_factor = options.luma_v;
  }
  info.restart_in_rows = options.restart_rows;
  info.arith_code = static_cast<boolean>(options.arithmetic);
  if (options.progressive) jpeg_simple_progression(&info);
  if (!options.tables) jpeg_suppress_tables(&info, TRUE);
  jpeg_start_compress(&info, static_cast<boolean>(options.tables));
  Bytes pixels = picture(size, colors.components, options.scene, options.seed);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = pixels.data() + static_cast<std::size_t>(info.next_scanline) *
                                       static_cast<std::size_t>(size.width * colors.components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  Bytes file(out, out + bytes);
  std::free(out);
  jpeg_destroy_compress(&info);
  return file;
}

Png make_png(Size size, const PngOptions& options) {
  Png made;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &made.file,
      [](png_structp p, png_bytep data, std::size_t n) {
        auto* file = static_cast<Bytes*>(png_get_io_ptr(p));
        file->insert(file->end(), data, data + n);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(size.width), static_cast<png_uint_32>(size.height),
               options.depth, options.color_type,
               options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  const int entries = options.palette_entries > 0 ? options.palette_entries : 1 << std::min(options.depth, 8);
  if (options.color_type == PNG_COLOR_TYPE_PALETTE) {
    made.palette = picture({1, entries}, 3, 7);
    std::vector<png_color> colors;
    for (std::size_t i = 0; i < made.palette.size(); i += 3) {
      colors.push_back({made.palette[i], made.palette[i + 1], made.palette[i + 2]});
    }
    png_set_PLTE(png, info, colors.data(), entries);
    // Indices past the palette are written on purpose.
    png_set_check_for_invalid_index(png, 0);
  }
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_ALL_FILTERS);
  png_write_info(png, info);
  made.raw_stride = png_get_rowbytes(png, info);
  made.raw = picture({size.height, static_cast<int>(made.raw_stride)}, 1);
  std::vector<png_bytep> rows;
  for (int y = 0; y < size.height; ++y) {
    rows.push_back(made.raw.data() + static_cast<std::size_t>(y) * made.raw_stride);
  }
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return made;
}

Bytes png_chunk(const std::string& name, const Bytes& data) {
  Bytes out(8 + data.size() + 4);
  const auto put = [&out](std::size_t at, std::uint32_t v) {
    for (std::size_t i = 0; i < 4; ++i) out[at + i] = static_cast<std::uint8_t>(v >> (24 - 8 * i));
  };
  put(0, static_cast<std::uint32_t>(data.size()));
  std::copy_n(name.begin(), 4, out.begin() + 4);
  std::copy(data.begin(), data.end(), out.begin() + 8);
  std::uint32_t crc = 0xffffffffu;
  for (std::size_t i = 4; i < 8 + data.size(); ++i) {
    crc ^= out[i];
    for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  put(8 + data.size(), ~crc);
  return out;
}

Bytes make_webp(Size size, bool lossless, bool alpha, float quality) {
  const Bytes pixels = picture(size, alpha ? 4 : 3);
  const int stride = size.width * (alpha ? 4 : 3);
  std::uint8_t* out = nullptr;
  std::size_t n = 0;
  if (lossless) {
    n = alpha ? WebPEncodeLosslessRGBA(pixels.data(), size.width, size.height, stride, &out)
              : WebPEncodeLosslessRGB(pixels.data(), size.width, size.height, stride, &out);
  } else {
    n = alpha ? WebPEncodeRGBA(pixels.data(), size.width, size.height, stride, quality, &out)
              : WebPEncodeRGB(pixels.data(), size.width, size.height, stride, quality, &out);
  }
  Bytes file(out, out + n);
  WebPFree(out);
  return file;
}

}  // namespace pyfastdl::testing
