#include "decode/png_file.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "decode/exif.h"

namespace pyfastdl {
namespace {

constexpr std::array<std::uint8_t, 8> kSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::array<std::uint8_t, 4> kUnusedChecksum = {};

std::uint32_t big_endian(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[0]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 |
         static_cast<std::uint32_t>(p[2]) << 8 | p[3];
}

void put_big_endian(std::uint8_t* p, std::uint32_t v) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<std::uint8_t>(v >> (24 - 8 * i));
}

// The CRC-32 of ISO 3309, as PNG defines it.
std::uint32_t crc32(std::span<const std::uint8_t> bytes) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      std::uint32_t c = n;
      for (int k = 0; k < 8; ++k) c = (c & 1) != 0 ? 0xedb88320u ^ (c >> 1) : c >> 1;
      table[n] = c;
    }
    return table;
  }();
  std::uint32_t c = 0xffffffffu;
  for (const std::uint8_t b : bytes) c = kTable[(c ^ b) & 255] ^ (c >> 8);
  return c ^ 0xffffffffu;
}

bool is_name(const std::uint8_t* p) {
  return std::all_of(p, p + 4, [](std::uint8_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string_view name_of(const std::array<char, 4>& name) { return {name.data(), name.size()}; }

Status broken(const std::string& what) { return {Errc::bad_data, "broken PNG: " + what}; }

Status for_pillow(const std::string& what) {
  return {Errc::unsupported, "a PNG " + what + " is left to Pillow"};
}

bool valid_combination(int color_type, int depth) {
  switch (color_type) {
    case 0:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case 3:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case 2:
    case 4:
    case 6:
      return depth == 8 || depth == 16;
    default:
      return false;
  }
}

// What a text chunk begins with, up to a zero byte.
std::string_view keyword(std::span<const std::uint8_t> data) {
  const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  return text.substr(0, text.find('\0'));
}

}  // namespace

bool PngFile::chunk_at(std::size_t at, Chunk& chunk) const {
  if (at > bytes_.size() || bytes_.size() - at < 8 || !is_name(bytes_.data() + at + 4)) return false;
  chunk.begin = at + 8;
  chunk.size = big_endian(bytes_.data() + at);
  std::memcpy(chunk.name.data(), bytes_.data() + at + 4, 4);
  return true;
}

Status PngFile::open(std::span<const std::uint8_t> bytes) {
  *this = PngFile();
  bytes_ = bytes;
  Chunk chunk;
  for (std::size_t at = kSignature.size();; at = behind(chunk)) {
    if (!chunk_at(at, chunk)) {
      return broken("no chunk where one should start, at byte " + std::to_string(at) + " of " +
                    std::to_string(bytes.size()) + ", before the image data");
    }
    const std::string_view name = name_of(chunk.name);
    if (name == "IDAT") break;
    if (name == "fdAT") return for_pillow("whose frames come before its image");
    if (name == "IEND") return broken("it has no image data");
    if (!holds(chunk) || bytes.size() - chunk.begin - chunk.size < 4) {
      return broken("it is cut off in its chunk " + std::string(name));
    }
    // Pillow checks every chunk before the image data, and none behind.
    if (crc32(bytes.subspan(chunk.begin - 4, chunk.size + 4u)) !=
        big_endian(&bytes[chunk.begin + chunk.size])) {
      return broken("the checksum of its chunk " + std::string(name) + " is wrong");
    }
    if (Status s = take_chunk(chunk); !s.ok()) return s;
  }
  first_data_ = chunk;
  if (!has_header_) return broken("its header chunk IHDR is missing");
  if (color_type_ == 3 && palette_.empty()) return for_pillow("that lacks its palette");

  std::copy(kSignature.begin(), kSignature.end(), head_.begin());
  put_big_endian(&head_[8], 13);
  std::memcpy(&head_[12], "IHDR", 4);
  put_big_endian(&head_[16], width_);
  put_big_endian(&head_[20], height_);
  head_[24] = static_cast<std::uint8_t>(bit_depth_);
  // Indices are looked up by the decoder: for libpng they are gray.
  head_[25] = static_cast<std::uint8_t>(color_type_ == 3 ? 0 : color_type_);
  head_[28] = interlaced_ ? 1 : 0;
  left_ = head_;
  return {};
}

Status PngFile::take_chunk(const Chunk& chunk) {
  const std::string_view name = name_of(chunk.name);
  if (name == "IHDR") return take_header(chunk);
  if (name == "PLTE" && color_type_ == 3) {
    if (chunk.size > 768 || chunk.size < 3)
      return for_pillow("with a palette of " + std::to_string(chunk.size) + " bytes");
    palette_ = bytes_.subspan(chunk.begin, chunk.size);
  }
  if (name == "acTL") animated_ = true;
  if (name == "fcTL") return take_frame_control(chunk);
  return {};
}

Status PngFile::take_header(const Chunk& chunk) {
  if (chunk.size < 13) return broken("its header has " + std::to_string(chunk.size) + " bytes instead of 13");
  if (has_header_) return for_pillow("with two headers");
  has_header_ = true;
  const std::uint8_t* p = bytes_.data() + chunk.begin;
  width_ = big_endian(p);
  height_ = big_endian(p + 4);
  bit_depth_ = p[8];
  color_type_ = p[9];
  interlaced_ = p[12] != 0;
  if (!valid_combination(color_type_, bit_depth_)) {
    return broken("colour type " + std::to_string(color_type_) + " with " + std::to_string(bit_depth_) +
                  " bits does not exist");
  }
  if (p[11] != 0) return broken("unknown filter method " + std::to_string(p[11]));
  if (height_ == 0 || width_ == 0) return broken("it has no pixels");
  return {};
}

// A frame that starts before IDAT is the image itself, and must cover it.
Status PngFile::take_frame_control(const Chunk& chunk) {
  const std::uint8_t* p = bytes_.data() + chunk.begin;
  if (chunk.size < 26 || big_endian(p) != 0 || big_endian(p + 4) != width_ || big_endian(p + 8) != height_ ||
      big_endian(p + 12) != 0 || big_endian(p + 16) != 0) {
    return for_pillow("whose first frame is unusual");
  }
  return {};
}

bool PngFile::next_piece() {
  switch (piece_) {
    case Piece::checksum:
      if (!chunk_at(behind(chunk_), chunk_) || name_of(chunk_.name) != "IDAT") return false;
      [[fallthrough]];
    case Piece::head: {
      if (piece_ == Piece::head) chunk_ = first_data_;
      // A chunk that is cut off becomes a shorter one: what is there counts.
      const std::size_t there = std::min<std::size_t>(chunk_.size, bytes_.size() - chunk_.begin);
      put_big_endian(chunk_head_.data(), static_cast<std::uint32_t>(there));
      std::memcpy(&chunk_head_[4], "IDAT", 4);
      left_ = chunk_head_;
      piece_ = Piece::chunk_head;
      return true;
    }
    case Piece::chunk_head:
      left_ = bytes_.subspan(chunk_.begin, big_endian(chunk_head_.data()));
      piece_ = Piece::data;
      return true;
    case Piece::data:
      left_ = kUnusedChecksum;
      piece_ = Piece::checksum;
      return true;
  }
  return false;
}

bool PngFile::read(std::uint8_t* out, std::size_t size) {
  while (size > 0) {
    if (left_.empty()) {
      if (!next_piece()) return false;
      continue;
    }
    const std::size_t n = std::min(size, left_.size());
    std::memcpy(out, left_.data(), n);
    left_ = left_.subspan(n);
    out += n;
    size -= n;
  }
  return true;
}

bool PngFile::first_behind_data(Chunk& chunk) const {
  chunk = first_data_;
  while (name_of(chunk.name) == "IDAT") {
    if (!holds(chunk) || !chunk_at(behind(chunk), chunk)) return false;
  }
  return true;
}

bool PngFile::data_complete() const {
  Chunk chunk;
  return first_behind_data(chunk);
}

bool PngFile::tail_cut_off() const {
  Chunk chunk;
  if (!first_behind_data(chunk)) return false;
  do {
    const std::string_view name = name_of(chunk.name);
    if (name == "IEND" || (animated_ && name == "fcTL")) return false;
    if (!holds(chunk)) return true;
  } while (chunk_at(behind(chunk), chunk));
  return false;
}

// The last eXIf chunk counts, wherever it stands. Text chunks count where it has no orientation, or when they are
// named so that they take its place.
std::optional<int> PngFile::orientation() const {
  std::span<const std::uint8_t> exif;
  bool text_may_count = false;
  bool behind_data = false;
  Chunk chunk;
  for (std::size_t at = kSignature.size(); chunk_at(at, chunk) && holds(chunk); at = behind(chunk)) {
    const std::string_view name = name_of(chunk.name);
    if (name == "IEND" || (behind_data && animated_ && name == "fcTL")) break;
    if (name == "IDAT") behind_data = true;
    if (name == "eXIf") exif = bytes_.subspan(chunk.begin, chunk.size);
    if (name != "tEXt" && name != "zTXt" && name != "iTXt") continue;
    const std::string_view key = keyword(bytes_.subspan(chunk.begin, chunk.size));
    if (key == "exif") return std::nullopt;
    if (key == "Raw profile type exif" || key == "XML:com.adobe.xmp" || key == "xmp") text_may_count = true;
  }
  const std::optional<int> found = exif_orientation(exif);
  if (found == kAskPillow) return std::nullopt;
  return found || text_may_count ? found : 1;
}

}  // namespace pyfastdl
