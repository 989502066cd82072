#include "decode/sniff.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace pyfastdl {
namespace {

using std::string_view_literals::operator""sv;

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool has_at(std::string_view bytes, std::size_t offset, std::string_view magic) {
  return bytes.size() >= offset + magic.size() && bytes.substr(offset, magic.size()) == magic;
}

struct Signature {
  std::size_t offset;
  std::string_view magic;
  const char* name;
};

// The first match counts, so longer signatures stand before shorter ones.
constexpr std::array kSignatures = {
    Signature{0, "GIF8"sv, "a GIF image"},
    Signature{0, "II*\0"sv, "a TIFF image"},
    Signature{0, "MM\0*"sv, "a TIFF image"},
    Signature{0, "BM"sv, "a BMP image"},
    Signature{0, "\0\0\1\0"sv, "an ICO image"},
    Signature{0, "8BPS"sv, "a Photoshop document"},
    Signature{0, "\0\0\0\014jP  \r\n\207\n"sv, "a JPEG 2000 image"},
    Signature{0, "\377\117\377\121"sv, "a JPEG 2000 codestream"},
    Signature{0, "\377\012"sv, "a JPEG XL image"},
    Signature{0, "\0\0\0\014JXL "sv, "a JPEG XL image"},
    Signature{4, "ftypavif"sv, "an AVIF image"},
    Signature{4, "ftypheic"sv, "a HEIC image"},
    Signature{4, "ftypmif1"sv, "a HEIF image"},
    Signature{4, "ftyp"sv, "an MP4 or QuickTime video"},
    Signature{8, "WAVE"sv, "a WAV sound"},
    Signature{8, "AVI "sv, "an AVI video"},
    Signature{0, "\032E\337\243"sv, "a Matroska or WebM video"},
    Signature{0, "%PDF"sv, "a PDF document"},
    Signature{0, "\037\213"sv, "a gzip archive"},
    Signature{0, "PK\003\004"sv, "a zip archive"},
    Signature{0, "7z\274\257\047\034"sv, "a 7z archive"},
    Signature{0,
              "\375"
              "7zXZ\0"sv,
              "an xz archive"},
    Signature{0, "BZh"sv, "a bzip2 archive"},
    Signature{0, "(\265/\375"sv, "a zstd archive"},
    Signature{0, "Rar!"sv, "a RAR archive"},
    Signature{257, "ustar"sv, "a tar archive"},
    Signature{0, "\223NUMPY"sv, "a NumPy array"},
    Signature{0, "\211HDF\r\n\032\n"sv, "an HDF5 file"},
    Signature{0, "PAR1"sv, "a Parquet file"},
    Signature{0, "\177ELF"sv, "a program"},
    Signature{0, "version https://git-lfs"sv, "a Git LFS pointer (the file itself was not fetched)"},
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

// UTF-8 or ASCII text, as far as the first bytes tell; "" if it is none.
std::string describe_text(std::string_view head) {
  if (head.substr(0, 3) == "\357\273\277"sv) head.remove_prefix(3);
  const bool text = std::all_of(head.begin(), head.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u >= 0x20 ? u != 0x7f : (c == '\t' || c == '\n' || c == '\r' || c == '\f');
  });
  if (!text) return {};
  const std::size_t start = head.find_first_not_of(" \t\r\n\f");
  if (start == std::string_view::npos) return "blank text";
  const std::string body = lower(head.substr(start));
  for (const auto tag : {"<!doctype html"sv, "<html"sv, "<head"sv, "<body"sv, "<script"sv}) {
    if (body.starts_with(tag)) return "an HTML page";
  }
  if (body.find("<svg") != std::string::npos) return "an SVG drawing";
  if (body.find("<html") != std::string::npos) return "an HTML page";
  if (body.starts_with("<?xml")) return "an XML document";
  if (body.starts_with("{") || body.starts_with("[")) return "JSON text";
  // High bytes without a single line break are more likely a headless binary than prose.
  const bool ascii = std::all_of(head.begin(), head.end(), [](char c) { return (c & 0x80) == 0; });
  return ascii ? "plain text" : std::string();
}

}  // namespace

Codec sniff(std::span<const std::uint8_t> bytes) {
  const std::string_view head = text_of(bytes);
  if (has_at(head, 0, "\377\330\377"sv)) return Codec::jpeg;
  if (has_at(head, 0, "\211PNG\r\n\032\n"sv)) return Codec::png;
  if (has_at(head, 0, "RIFF"sv) && has_at(head, 8, "WEBP"sv) &&
      (has_at(head, 12, "VP8 "sv) || has_at(head, 12, "VP8L"sv) || has_at(head, 12, "VP8X"sv))) {
    return Codec::webp;
  }
  return Codec::other;
}

const char* codec_name(Codec codec) {
  switch (codec) {
    case Codec::jpeg:
      return "jpeg";
    case Codec::png:
      return "png";
    case Codec::webp:
      return "webp";
    case Codec::other:
      break;
  }
  return "other";
}

std::string describe(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return "an empty file";
  switch (sniff(bytes)) {
    case Codec::jpeg:
      return "a JPEG image";
    case Codec::png:
      return "a PNG image";
    case Codec::webp:
      return "a WebP image";
    case Codec::other:
      break;
  }
  const std::string_view head = text_of(bytes.first(std::min<std::size_t>(bytes.size(), 1024)));
  for (const Signature& s : kSignatures) {
    if (has_at(head, s.offset, s.magic)) return s.name;
  }
  if (std::string text = describe_text(head); !text.empty()) return text;
  if (head.find_first_not_of('\0') == std::string_view::npos) {
    return bytes.size() == 1 ? "a single zero byte" : "zero bytes only (a sparse or unfinished copy?)";
  }

  std::string out = std::to_string(bytes.size()) + (bytes.size() == 1 ? " byte" : " bytes") +
                    " of unknown binary data, starting";
  constexpr char kHex[] = "0123456789abcdef";
  for (const std::uint8_t b : bytes.first(std::min<std::size_t>(bytes.size(), 8))) {
    out += ' ';
    out += kHex[b >> 4];
    out += kHex[b & 15];
  }
  return out;
}

}  // namespace pyfastdl
