// An input is a list of paths: the table must give back what went in, and text made of any bytes must be sound.
#include <fuzzer/FuzzedDataProvider.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "source/path_table.h"
#include "target.h"

namespace pyfastdl::fuzzing {
namespace {

std::u32string decoded(std::string_view bytes) {
  std::u32string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const CodePoint c = decode_fs(bytes, at);
    expect(c.length >= 1 && c.length <= 4 && at + c.length <= bytes.size());
    text += c.value;
    at += c.length;
  }
  return text;
}

// No control characters, and no byte that isn't UTF-8.
void expect_printable(const std::string& text) {
  for (const char32_t c : decoded(text)) expect(c >= 0x20 && c != 0x7F && !(c >= 0xDC80 && c <= 0xDCFF));
}

void expect_order(std::string_view a, std::string_view b) {
  expect(fs_less(a, b) == (decoded(a) < decoded(b)));
  expect(fs_less(b, a) == (decoded(b) < decoded(a)));
}

void expect_same_paths(const PathTable& table, const std::vector<std::string>& paths) {
  expect(table.size() == paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) expect(table.path(i) == paths[i]);
}

void append_one_by_one(const std::vector<std::string>& paths) {
  PathTable table;
  std::vector<std::string> taken;
  for (const std::string& path : paths) {
    try {
      table.append(path);
      taken.push_back(path);
    } catch (const Error& error) {
      expect(path.find('\0') != std::string::npos);
      expect_printable(error.what());
    }
  }
  expect_same_paths(table, taken);
  table.finish();
  expect_same_paths(table, taken);
}

// Offsets as a user's arrays may have them: mostly right, sometimes any number.
void append_packed(FuzzedDataProvider& numbers, const std::vector<std::string>& paths) {
  std::string arena;
  std::vector<std::int64_t> offsets = {0};
  for (const std::string& path : paths) {
    arena += path;
    offsets.push_back(static_cast<std::int64_t>(arena.size()));
  }
  bool is_right = arena.find('\0') == std::string::npos;
  if (numbers.ConsumeBool()) {
    offsets[numbers.ConsumeIntegralInRange<std::size_t>(0, offsets.size() - 1)] =
        numbers.ConsumeIntegral<std::int64_t>();
    is_right = false;
  }
  PathTable table;
  try {
    table.append_packed(arena, offsets);
    if (is_right) expect_same_paths(table, paths);
  } catch (const Error& error) {
    expect(!is_right);
    expect_printable(error.what());
  }
}

}  // namespace

void run_input(std::span<const std::uint8_t> input) {
  FuzzedDataProvider bytes(input.data(), input.size());
  std::vector<std::string> paths(bytes.ConsumeIntegralInRange<std::size_t>(1, 40));
  const bool packs = bytes.ConsumeBool();
  for (std::string& path : paths) path = bytes.ConsumeRandomLengthString(300);
  for (std::size_t i = 0; i + 1 < paths.size(); ++i) expect_order(paths[i], paths[i + 1]);
  for (const std::string& path : paths) expect_printable(quoted(path));
  if (packs) {
    append_packed(bytes, paths);
  } else {
    append_one_by_one(paths);
  }
}

}  // namespace pyfastdl::fuzzing
