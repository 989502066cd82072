#include "base/text.h"

#include <algorithm>
#include <cstdint>
#include <system_error>

namespace pyfastdl {
namespace {

std::uint8_t byte_at(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }

bool is_continuation(std::uint8_t byte) { return (byte & 0xC0) == 0x80; }

// Length and value of a sequence that starts with `lead`; the bounds keep out overlong forms, surrogates and
// values above U+10FFFF (Unicode 15, table 3-7).
struct Lead {
  std::size_t length;
  char32_t bits;
  std::uint8_t second_min;
  std::uint8_t second_max;
};

Lead lead_of(std::uint8_t byte) {
  if (byte < 0xC2) return {1, 0, 0, 0};
  if (byte < 0xE0) return {2, byte & 0x1Fu, 0x80, 0xBF};
  if (byte < 0xF0) {
    const std::uint8_t low = byte == 0xE0 ? 0xA0 : 0x80;
    const std::uint8_t high = byte == 0xED ? 0x9F : 0xBF;
    return {3, byte & 0x0Fu, low, high};
  }
  if (byte < 0xF5) {
    const std::uint8_t low = byte == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t high = byte == 0xF4 ? 0x8F : 0xBF;
    return {4, byte & 0x07u, low, high};
  }
  return {1, 0, 0, 0};
}

}  // namespace

CodePoint decode_fs(std::string_view bytes, std::size_t at) {
  const std::uint8_t first = byte_at(bytes, at);
  if (first < 0x80) return {first, 1};
  const CodePoint escaped{0xDC80u + (first - 0x80u), 1};
  const Lead lead = lead_of(first);
  if (lead.length == 1 || bytes.size() - at < lead.length) return escaped;
  const std::uint8_t second = byte_at(bytes, at + 1);
  if (second < lead.second_min || second > lead.second_max) return escaped;
  char32_t value = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    const std::uint8_t byte = byte_at(bytes, at + i);
    if (!is_continuation(byte)) return escaped;
    value = value << 6 | (byte & 0x3Fu);
  }
  return {value, lead.length};
}

bool fs_less(std::string_view a, std::string_view b) {
  const std::size_t common = std::min(a.size(), b.size());
  std::size_t at = 0;
  while (at < common && a[at] == b[at]) ++at;
  const bool a_plain = at == a.size() || byte_at(a, at) < 0x80;
  const bool b_plain = at == b.size() || byte_at(b, at) < 0x80;
  if (a_plain && b_plain) {
    // ASCII, or the end, breaks off any sequence before it: the common part reads the same in both.
    if (at == b.size()) return false;
    return at == a.size() || byte_at(a, at) < byte_at(b, at);
  }
  // The difference may lie inside a sequence: go back to where that begins. A byte that is no continuation
  // always begins one.
  while (at > 0 && is_continuation(byte_at(a, at - 1))) --at;
  if (at > 0 && byte_at(a, at - 1) >= 0xC0) --at;
  std::size_t i = at;
  std::size_t j = at;
  while (i < a.size() && j < b.size()) {
    const CodePoint x = decode_fs(a, i);
    const CodePoint y = decode_fs(b, j);
    if (x.value != y.value) return x.value < y.value;
    i += x.length;
    j += y.length;
  }
  return i == a.size() && j < b.size();
}

std::string printable(std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const CodePoint c = decode_fs(bytes, at);
    const bool escaped = c.value >= 0xDC80 && c.value <= 0xDCFF;
    if (escaped || c.value < 0x20 || c.value == 0x7F) {
      const std::uint8_t byte = byte_at(bytes, at);
      text += "\\x";
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    } else {
      text.append(bytes.substr(at, c.length));
    }
    at += c.length;
  }
  return text;
}

std::string quoted(std::string_view bytes) {
  std::string text(1, '\'');
  text += printable(bytes);
  text += '\'';
  return text;
}

std::string errno_text(int sys_errno) { return std::generic_category().message(sys_errno); }

}  // namespace pyfastdl
