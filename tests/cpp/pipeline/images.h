// Small JPEG files for the tests of the pipeline.
#pragma once

#include <cstddef>
#include <cstdio>
// jpeglib.h needs the two above.
#include <jpeglib.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace pyfastdl::testing {

// `step` 0: a picture of one gray level, so that its pixels are known after decoding and resizing. Otherwise one that
// rises to the right and downwards, so that every crop and flip looks different.
inline std::vector<unsigned char> encode_gray(int height, int width, std::uint8_t level, int step = 0) {
  jpeg_compress_struct c;
  jpeg_error_mgr errors;
  c.err = jpeg_std_error(&errors);
  jpeg_create_compress(&c);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // libjpeg's type
  jpeg_mem_dest(&c, &bytes, &size);
  c.image_width = static_cast<JDIMENSION>(width);
  c.image_height = static_cast<JDIMENSION>(height);
  c.input_components = 3;
  c.in_color_space = JCS_RGB;
  jpeg_set_defaults(&c);
  jpeg_set_quality(&c, 100, TRUE);
  jpeg_start_compress(&c, TRUE);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(width) * 3);
  while (c.next_scanline < c.image_height) {
    for (int x = 0; x < width * 3; ++x) {
      row[static_cast<std::size_t>(x)] =
          static_cast<std::uint8_t>(level + step * (x / 3 + 2 * static_cast<int>(c.next_scanline)));
    }
    JSAMPROW rows[1] = {row.data()};
    jpeg_write_scanlines(&c, rows, 1);
  }
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  std::vector<unsigned char> file(bytes, bytes + size);
  std::free(bytes);
  return file;
}

inline void write_bytes(const std::string& path, const std::vector<unsigned char>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace pyfastdl::testing
