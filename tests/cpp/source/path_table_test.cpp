#include "source/path_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"

namespace pyfastdl {
namespace {

TEST(PathTable, GivesBackEveryPathToTheByte) {
  const std::vector<std::string> paths = {
      "a/b/c.jpg", "a/b/d.jpg",         "c.jpg",  "", "/", "//", "a/b/", "/abs/x", "a//b", "a/b/c.jpg",
      "./x",       "\xff\xfe/\x80.jpg", "é/ü.png"};
  PathTable table;
  for (const std::string& path : paths) table.append(path);
  table.finish();
  ASSERT_EQ(table.size(), paths.size());
  std::string reused = "something longer than any of them, so that nothing is allocated";
  for (std::size_t i = 0; i < paths.size(); ++i) {
    EXPECT_EQ(table.path(i), paths[i]);
    table.path(i, reused);
    EXPECT_EQ(reused, paths[i]);
  }
}

TEST(PathTable, IsEmptyAtFirst) {
  PathTable table;
  EXPECT_TRUE(table.empty());
  table.finish();
  EXPECT_EQ(table.size(), 0u);
}

TEST(PathTable, SharesFolders) {
  PathTable table;
  const std::uint32_t a = table.add_folder("a/");
  const std::uint32_t b = table.add_folder("b/");
  EXPECT_NE(a, b);
  EXPECT_EQ(table.add_folder("a/"), a);
  EXPECT_EQ(table.add_folder("b/"), b);
  table.append(b, "x");
  table.append("b/y");
  table.append("a/z");
  EXPECT_EQ(table.add_folder("c/"), 2u);
  EXPECT_EQ(table.path(0), "b/x");
  EXPECT_EQ(table.path(1), "b/y");
  EXPECT_EQ(table.path(2), "a/z");
}

TEST(PathTable, ManyFoldersInAnyOrder) {
  PathTable table;
  std::vector<std::string> want;
  std::uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    want.push_back("root/f" + std::to_string(state >> 51) + "/" + std::to_string(i));
    table.append(want.back());
  }
  table.finish();
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(table.path(i), want[i]);
}

TEST(PathTable, AppendsPacked) {
  PathTable table;
  table.append("first");
  const std::vector<std::int64_t> offsets = {0, 3, 3, 8};
  table.append_packed("a/bcd/ef", offsets);
  table.append_packed("", std::vector<std::int64_t>{0});
  ASSERT_EQ(table.size(), 4u);
  EXPECT_EQ(table.path(1), "a/b");
  EXPECT_EQ(table.path(2), "");
  EXPECT_EQ(table.path(3), "cd/ef");
}

TEST(PathTable, RefusesWhatIsNoPath) {
  PathTable table;
  const auto code = [&](std::string_view arena, std::vector<std::int64_t> offsets) {
    try {
      table.append_packed(arena, offsets);
    } catch (const Error& error) {
      return error.code();
    }
    return Errc::ok;
  };
  EXPECT_EQ(code("ab", {}), Errc::invalid_argument);
  EXPECT_EQ(code("ab", {0, 3}), Errc::invalid_argument);
  EXPECT_EQ(code("ab", {-1, 1}), Errc::invalid_argument);
  EXPECT_EQ(code("ab", {2, 1}), Errc::invalid_argument);
  EXPECT_EQ(code(std::string_view("a\0b", 3), {0, 3}), Errc::invalid_argument);
  EXPECT_EQ(code("ab", {0, 2}), Errc::ok);
}

TEST(PathTable, CostsItsNameAndTwelveBytes) {
  constexpr int kPaths = 200000;
  const std::string folder = "/data/imagenet/train/n01440764/";
  PathTable table;
  std::size_t name_bytes = 0;
  for (int i = 0; i < kPaths; ++i) {
    const std::string name = "n01440764_" + std::to_string(i) + ".JPEG";
    name_bytes += name.size();
    table.append(folder + name);
  }
  table.finish();
  EXPECT_LE(table.memory_bytes(), name_bytes + 12 * kPaths + 100);
}

TEST(PathTable, IsReadByManyThreads) {
  PathTable table;
  for (int i = 0; i < 1000; ++i) table.append("folder/" + std::to_string(i));
  table.finish();
  std::vector<std::thread> threads;
  std::vector<int> right(4);
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      std::string path;
      for (int i = 0; i < 1000; ++i) {
        table.path(static_cast<std::size_t>(i), path);
        right[t] += path == "folder/" + std::to_string(i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(4, 1000));
}

}  // namespace
}  // namespace pyfastdl
