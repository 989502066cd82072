// Bytes of the file system as text: in the order and in the spelling of Python's os.fsdecode.
//
// Paths are bytes from end to end; these functions only compare them and put them into messages. Messages are
// always valid UTF-8, whatever a file is called. Any thread may call them; nothing blocks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pyfastdl {

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;  // bytes, 1 to 4
};

// What os.fsdecode (UTF-8, surrogateescape) makes of the bytes at `at`: a byte that begins no valid sequence is
// U+DC80 + (byte - 0x80). REQUIRES: at < bytes.size(), and `at` is where a code point begins.
CodePoint decode_fs(std::string_view bytes, std::size_t at);

// a < b as Python compares the two after os.fsdecode: by code points. It is not byte order: an undecodable byte
// sorts below U+E000.
bool fs_less(std::string_view a, std::string_view b);

// Undecodable bytes and control characters as \xHH, the rest as it is.
std::string printable(std::string_view bytes);

// printable() between single quotes.
std::string quoted(std::string_view bytes);

// "No such file or directory" and the like.
std::string errno_text(int sys_errno);

}  // namespace pyfastdl
