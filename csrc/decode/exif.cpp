#include "decode/exif.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace pyfastdl {
namespace {

using std::string_view_literals::operator""sv;

constexpr unsigned kOrientationTag = 0x0112;
constexpr std::size_t kHeaderBytes = 8;
constexpr std::size_t kEntryBytes = 12;

enum Type : unsigned {
  kShort = 3,
  kLong = 4,
  kRational = 5,
  kSignedByte = 6,
  kSignedShort = 8,
  kSignedLong = 9,
  kSignedRational = 10,
  kFloat = 11,
  kDouble = 12,
  kIfd = 13,
  kLong8 = 16,
};

// Bytes of one value of a type; 0 for a type that Pillow does not know.
std::uint64_t unit_bytes(unsigned type) {
  constexpr std::uint8_t kUnits[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8};
  return type < std::size(kUnits) ? kUnits[type] : 0;
}

std::string_view text_of(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Numbers of either byte order. REQUIRES: the bytes are there.
class Reader {
 public:
  Reader(ByteSpan bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  std::uint64_t number(std::size_t at, std::size_t size) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value = value << 8 | bytes_[at + (big_endian_ ? i : size - 1 - i)];
    }
    return value;
  }
  unsigned u16(std::size_t at) const { return static_cast<unsigned>(number(at, 2)); }
  std::uint32_t u32(std::size_t at) const { return static_cast<std::uint32_t>(number(at, 4)); }

 private:
  ByteSpan bytes_;
  bool big_endian_;
};

// An orientation if the number is one; what is none turns nothing.
int checked(double value) {
  return value >= 1 && value <= 8 && value == std::floor(value) ? static_cast<int>(value) : 1;
}

// Only numbers count, and only the first of several.
int orientation_at(const Reader& reader, unsigned type, std::size_t at) {
  switch (type) {
    case kShort:
      return checked(reader.u16(at));
    case kLong:
    case kIfd:
      return checked(reader.u32(at));
    case kSignedByte:
      return checked(static_cast<std::int8_t>(reader.number(at, 1)));
    case kSignedShort:
      return checked(static_cast<std::int16_t>(reader.u16(at)));
    case kSignedLong:
      return checked(static_cast<std::int32_t>(reader.u32(at)));
    case kLong8:
      return checked(static_cast<double>(reader.number(at, 8)));
    case kFloat:
      return checked(std::bit_cast<float>(reader.u32(at)));
    case kDouble:
      return checked(std::bit_cast<double>(reader.number(at, 8)));
    case kRational: {
      const std::uint32_t below = reader.u32(at + 4);
      return below == 0 || reader.u32(at) % below != 0 ? 1 : checked(reader.u32(at) / below);
    }
    case kSignedRational: {
      // Wider, so that dividing the least number by -1 does not overflow.
      const std::int64_t above = static_cast<std::int32_t>(reader.u32(at));
      const std::int64_t below = static_cast<std::int32_t>(reader.u32(at + 4));
      return below == 0 || above % below != 0 ? 1 : checked(static_cast<double>(above / below));
    }
    default:
      return 1;  // bytes and text
  }
}

enum class Header { little, big, broken };

// The headers that Pillow takes. A BigTIFF header is 16 bytes long, of which it reads 8, and fails.
Header header_of(std::string_view tiff) {
  if (tiff.size() < kHeaderBytes) return Header::broken;
  for (const auto known : {"II*\0"sv, "II\0*"sv}) {
    if (tiff.starts_with(known)) return Header::little;
  }
  for (const auto known : {"MM\0*"sv, "MM*\0"sv, "MM\0+"sv}) {
    if (tiff.starts_with(known)) return Header::big;
  }
  return Header::broken;
}

}  // namespace

std::optional<int> exif_orientation(ByteSpan exif) {
  constexpr auto kPrefix = "Exif\0\0"sv;
  for (int i = 0; i < 2 && text_of(exif).starts_with(kPrefix); ++i) exif = exif.subspan(kPrefix.size());
  if (exif.empty()) return std::nullopt;
  const Header header = header_of(text_of(exif));
  if (header == Header::broken) return 1;

  const Reader reader(exif, header == Header::big);
  std::size_t at = reader.u32(4);
  if (at > exif.size() || exif.size() - at < 2) return std::nullopt;
  const unsigned entries = reader.u16(at);
  at += 2;
  std::optional<int> found;
  std::uint64_t outside = 0;  // bytes of values that stand outside their entries, as the entries claim
  for (unsigned i = 0; i < entries && exif.size() - at >= kEntryBytes; ++i, at += kEntryBytes) {
    const unsigned tag = reader.u16(at);
    const unsigned type = reader.u16(at + 2);
    const std::uint64_t size = reader.u32(at + 4) * unit_bytes(type);
    if (size == 0) continue;
    if (found) {
      if (tag == kOrientationTag) return kAskPillow;
      continue;
    }
    std::size_t value = at + 8;
    if (size > 4) {
      outside += size;
      value = reader.u32(at + 8);
      if (outside > exif.size() || value > exif.size() || exif.size() - value < size) return kAskPillow;
    }
    if (tag == kOrientationTag) found = orientation_at(reader, type, value);
  }
  return found;
}

int xmp_orientation(ByteSpan xmp) {
  const std::string_view text = text_of(xmp);
  constexpr auto kName = "tiff:Orientation"sv;
  for (std::size_t at = text.find(kName); at != text.npos; at = text.find(kName, at + 1)) {
    // As an attribute or as an element.
    std::string_view rest = text.substr(at + kName.size());
    if (rest.starts_with("=\""sv)) {
      rest.remove_prefix(2);
    } else if (rest.starts_with('>')) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') return checked(rest[0] - '0');
  }
  return 1;
}

}  // namespace pyfastdl
