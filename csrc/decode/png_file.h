// PngFile: the chunks of a PNG as Pillow reads them, and a clean PNG for libpng made from them.
//
// Pillow parses chunks itself and gives only the deflated data to a library. To decide as it does (which
// checksums count, where a cut matters, which frame of an APNG is the image), so does this: libpng never sees
// the file, but a stream of its IHDR and its IDAT data. Ancillary chunks don't reach libpng at all.
//
// One thread. Borrows the file's bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"

namespace pyfastdl {

class PngFile {
 public:
  // Reads up to the first IDAT chunk. Errc::unsupported where Pillow's answer depends on more than this class
  // knows.
  Status open(std::span<const std::uint8_t> bytes);

  std::uint32_t height() const { return height_; }
  std::uint32_t width() const { return width_; }
  int bit_depth() const { return bit_depth_; }
  int color_type() const {
    return color_type_;
  }  // as in IHDR: 0 gray, 2 RGB, 3 palette, 4 gray + alpha, 6 RGBA
  bool interlaced() const { return interlaced_; }
  std::span<const std::uint8_t> palette() const { return palette_; }  // RGB triples

  // The EXIF orientation, 1 to 8; nullopt where it may be in text chunks, which only Pillow reads.
  std::optional<int> orientation() const;

  // Copies the next `size` bytes of the clean stream; false when the image data end before.
  // Called while libpng may jump: see Note [setjmp].
  bool read(std::uint8_t* out, std::size_t size);

  // Whether all the image data that the file's chunk lengths promise are there.
  bool data_complete() const;

  // Whether a chunk behind the image data is cut off: Pillow reads them all, though nothing in them counts.
  bool tail_cut_off() const;

 private:
  struct Chunk {
    std::size_t begin = 0;   // of the data
    std::uint32_t size = 0;  // as the file claims
    std::array<char, 4> name{};
  };
  // The chunk at `at`; false if there is none.
  bool chunk_at(std::size_t at, Chunk& chunk) const;
  bool holds(const Chunk& chunk) const { return bytes_.size() - chunk.begin >= chunk.size; }
  static std::size_t behind(const Chunk& chunk) { return chunk.begin + chunk.size + 4; }
  Status take_chunk(const Chunk& chunk);
  Status take_header(const Chunk& chunk);
  Status take_frame_control(const Chunk& chunk);
  bool next_piece();
  // The first chunk behind the image data; false if there is none.
  bool first_behind_data(Chunk& chunk) const;

  std::span<const std::uint8_t> bytes_;
  std::uint32_t height_ = 0;
  std::uint32_t width_ = 0;
  int bit_depth_ = 0;
  int color_type_ = 0;
  bool interlaced_ = false;
  bool has_header_ = false;
  bool animated_ = false;
  std::span<const std::uint8_t> palette_;
  Chunk first_data_;

  // The clean stream: a head, then for each data chunk its own 8 bytes, its data and 4 bytes of unused
  // checksum.
  enum class Piece { head, chunk_head, data, checksum };
  std::array<std::uint8_t, 33> head_{};
  std::array<std::uint8_t, 8> chunk_head_{};
  Chunk chunk_;
  Piece piece_ = Piece::head;
  std::span<const std::uint8_t> left_;  // of the present piece
};

}  // namespace pyfastdl
