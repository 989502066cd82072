#include "source/folder_scan.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/status.h"
#include "other_user.h"
#include "temp_tree.h"

namespace pyfastdl {
namespace {

// "class number: path below the root", in order.
std::vector<std::string> listed(const TempTree& tree, const FolderScan& scan) {
  std::vector<std::string> lines;
  EXPECT_EQ(scan.class_starts.size(), scan.classes.size() + 1);
  EXPECT_EQ(scan.class_starts.front(), 0u);
  EXPECT_EQ(scan.class_starts.back(), scan.paths.size());
  for (std::size_t c = 0; c < scan.classes.size(); ++c) {
    for (std::uint64_t i = scan.class_starts[c]; i < scan.class_starts[c + 1]; ++i) {
      lines.push_back(std::to_string(c) + ": " + scan.paths.path(i).substr(tree.root().size() + 1));
    }
  }
  return lines;
}

using Lines = std::vector<std::string>;

Error error_of(const std::string& root, const ScanOptions& options = {}) {
  try {
    scan_folder(root, options);
  } catch (const Error& error) {
    return error;
  }
  return Error(Errc::ok, "");
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(FolderScan, OrdersAsPythonDoes) {
  const TempTree tree;
  for (const char* name : {"10/a.jpg", "2/a.jpg", "1/b.jpg", "1/a.png", "a/x.JpEg", "B/x.JPG",
                           "\xc3\xa9/x.webp", "\xff/x.tif", "\xef\xbc\x81/x.tiff"}) {
    tree.file(name);
  }
  const FolderScan scan = scan_folder(tree.root());
  EXPECT_EQ(scan.classes, (Lines{"1", "10", "2", "B", "a", "\xc3\xa9", "\xff", "\xef\xbc\x81"}));
  EXPECT_EQ(listed(tree, scan),
            (Lines{"0: 1/a.png", "0: 1/b.jpg", "1: 10/a.jpg", "2: 2/a.jpg", "3: B/x.JPG", "4: a/x.JpEg",
                   "5: \xc3\xa9/x.webp", "6: \xff/x.tif", "7: \xef\xbc\x81/x.tiff"}));
  EXPECT_TRUE(scan.notes.empty());
}

TEST(FolderScan, OrdersNestedFoldersByTheirWholePath) {
  const TempTree tree;
  // '-' sorts below '/': the folder "a-b" comes between "a" and "a/b".
  for (const char* name : {"c/a/b/1.jpg", "c/a-b/2.jpg", "c/a/3.jpg", "c/4.jpg", "c/a0/5.jpg"})
    tree.file(name);
  EXPECT_EQ(listed(tree, scan_folder(tree.root())),
            (Lines{"0: c/4.jpg", "0: c/a/3.jpg", "0: c/a-b/2.jpg", "0: c/a/b/1.jpg", "0: c/a0/5.jpg"}));
}

TEST(FolderScan, KeepsTheRootAsItWasGiven) {
  const TempTree tree;
  tree.file("c/x.jpg");
  EXPECT_EQ(scan_folder(tree.root() + "/").paths.path(0), tree.root() + "/c/x.jpg");
  EXPECT_EQ(
      scan_folder(tree.root() + "/../" + tree.root().substr(tree.root().rfind('/') + 1) + "//").paths.path(0),
      tree.root() + "/../" + tree.root().substr(tree.root().rfind('/') + 1) + "//c/x.jpg");
}

TEST(FolderScan, TakesImageSuffixesOnly) {
  const TempTree tree;
  for (const char* name : {"jpg", "jpeg", "png", "ppm", "bmp", "pgm", "tif", "tiff", "webp"})
    tree.file(std::string("c/yes.") + name);
  for (const char* name : {"c/no.gif", "c/no.jpgx", "c/jpg", "c/no.jpg.txt", "c/no", "c/no.JP", "loose.jpg"})
    tree.file(name);
  tree.file("c/.jpg");
  tree.file("c/.hidden.png");
  EXPECT_EQ(
      listed(tree, scan_folder(tree.root())),
      (Lines{"0: c/.hidden.png", "0: c/.jpg", "0: c/yes.bmp", "0: c/yes.jpeg", "0: c/yes.jpg", "0: c/yes.pgm",
             "0: c/yes.png", "0: c/yes.ppm", "0: c/yes.tif", "0: c/yes.tiff", "0: c/yes.webp"}));
}

TEST(FolderScan, ListsWhateverIsNoFolder) {
  const TempTree tree;
  tree.fifo("c/fifo.jpg");
  tree.link("c/dangling.jpg", "nowhere");
  tree.link("c/self.jpg", "self.jpg");
  tree.file("c/folder.jpg/inner.jpg");
  tree.link("link-to-nowhere", "nowhere");
  EXPECT_EQ(listed(tree, scan_folder(tree.root())),
            (Lines{"0: c/dangling.jpg", "0: c/fifo.jpg", "0: c/self.jpg", "0: c/folder.jpg/inner.jpg"}));
}

TEST(FolderScan, FollowsLinks) {
  const TempTree tree;
  tree.file("elsewhere/deep/x.jpg");
  tree.file("elsewhere/y.jpg");
  tree.file("data/c/z.jpg");
  tree.link("data/c/file.jpg", "../../elsewhere/y.jpg");
  tree.link("data/c/folder", "../../elsewhere");
  tree.link("data/linked-class", "../elsewhere/deep");
  const FolderScan scan = scan_folder(tree.at("data"));
  EXPECT_EQ(listed(tree, scan), (Lines{"0: data/c/file.jpg", "0: data/c/z.jpg", "0: data/c/folder/y.jpg",
                                       "0: data/c/folder/deep/x.jpg", "1: data/linked-class/x.jpg"}));
  EXPECT_TRUE(scan.notes.empty());
}

TEST(FolderScan, WalksALinkLoopOnce) {
  const TempTree tree;
  tree.file("a/x.jpg");
  tree.file("a/sub/y.jpg");
  tree.link("a/sub/loop", "..");
  tree.link("a/to-root", "../");
  tree.file("b/z.jpg");
  tree.link("b/here", ".");
  tree.link("b/a", "../a");
  for (const bool ignore_hidden : {true, false}) {
    const FolderScan scan = scan_folder(tree.root(), {.ignore_hidden = ignore_hidden});
    EXPECT_EQ(listed(tree, scan),
              (Lines{"0: a/x.jpg", "0: a/sub/y.jpg", "1: b/z.jpg", "1: b/a/x.jpg", "1: b/a/sub/y.jpg"}));
    ASSERT_EQ(scan.notes.size(), 1u);
    EXPECT_TRUE(has(scan.notes[0], "did not follow 5 links")) << scan.notes[0];
    EXPECT_TRUE(has(scan.notes[0], "a/to-root'") || has(scan.notes[0], "a/sub/loop'")) << scan.notes[0];
  }
}

TEST(FolderScan, LeavesOutWhatIsNoPartOfADataset) {
  const TempTree tree;
  for (const char* name : {"c/x.jpg", "c/._x.jpg", "c/.ipynb_checkpoints/x.jpg", "c/Thumbs.db", "c/.DS_Store",
                           "c/__MACOSX/x.jpg", "c/sub/.git/y.jpg", ".ipynb_checkpoints/z.jpg",
                           "__MACOSX/z.jpg", ".hidden/z.jpg"}) {
    tree.file(name);
  }
  const FolderScan scan = scan_folder(tree.root());
  EXPECT_EQ(scan.classes, (Lines{"c"}));
  EXPECT_EQ(listed(tree, scan), (Lines{"0: c/x.jpg"}));
  ASSERT_EQ(scan.notes.size(), 4u);
  EXPECT_TRUE(has(scan.notes[0], "ignored 4 hidden folders (the first: '")) << scan.notes[0];
  EXPECT_TRUE(has(scan.notes[1], "ignored 2 __MACOSX folders")) << scan.notes[1];
  EXPECT_TRUE(has(scan.notes[2], "ignored 1 ._* file left by macOS ('" + tree.root() + "/c/._x.jpg')"))
      << scan.notes[2];
  EXPECT_TRUE(has(scan.notes[3], "ignored 2 files of the system's file browser")) << scan.notes[3];

  const FolderScan all = scan_folder(tree.root(), {.ignore_hidden = false});
  EXPECT_EQ(all.classes, (Lines{".hidden", ".ipynb_checkpoints", "__MACOSX", "c"}));
  EXPECT_EQ(all.paths.size(), 8u);
  EXPECT_TRUE(all.notes.empty());
}

TEST(FolderScan, RefusesEmptyClasses) {
  const TempTree tree;
  tree.file("full/x.jpg");
  tree.file("text/x.txt");
  tree.folder("empty");
  tree.file("mac/._x.jpg");
  const Error error = error_of(tree.root());
  const std::string message = error.what();
  EXPECT_EQ(error.code(), Errc::not_found);
  EXPECT_EQ(error.sys_errno(), 0);
  EXPECT_EQ(
      message.find(
          "Found no valid file for the classes empty, mac, text. Supported extensions are: .jpg, .jpeg, "
          ".png, .ppm, .bmp, .pgm, .tif, .tiff, .webp. "),
      0u)
      << message;
  EXPECT_TRUE(has(message, "._x.jpg")) << message;
  const FolderScan scan = scan_folder(tree.root(), {.allow_empty = true});
  EXPECT_EQ(scan.classes, (Lines{"empty", "full", "mac", "text"}));
  EXPECT_EQ(listed(tree, scan), (Lines{"1: full/x.jpg"}));
}

TEST(FolderScan, RefusesARootWithoutClasses) {
  const TempTree tree;
  EXPECT_EQ(error_of(tree.root()).code(), Errc::not_found);
  EXPECT_EQ(std::string(error_of(tree.root()).what())
                .find("Couldn't find any class folder in " + tree.root() + "."),
            0u);
  tree.file("x.jpg");
  tree.file("y.jpg");
  tree.folder(".git");
  const std::string message = error_of(tree.root()).what();
  EXPECT_TRUE(has(message, "holds 2 image files itself")) << message;
  EXPECT_TRUE(has(message, ".git")) << message;
}

TEST(FolderScan, NamesWhatIsWrongWithTheRoot) {
  const TempTree tree;
  const Error missing = error_of(tree.at("missing"));
  EXPECT_EQ(missing.code(), Errc::not_found);
  EXPECT_EQ(missing.sys_errno(), ENOENT);
  EXPECT_TRUE(has(missing.what(), "No such file or directory: '" + tree.at("missing") + "'"))
      << missing.what();
  const Error file = error_of(tree.file("x.jpg"));
  EXPECT_EQ(file.code(), Errc::io);
  EXPECT_EQ(file.sys_errno(), ENOTDIR);
  EXPECT_EQ(error_of("").sys_errno(), ENOENT);
  EXPECT_EQ(error_of(tree.fifo("fifo")).sys_errno(), ENOTDIR);
  EXPECT_EQ(error_of(std::string("a\0b", 3)).code(), Errc::invalid_argument);
}

TEST(FolderScan, NotesFoldersThatItMayNotRead) {
  const TempTree tree;
  ::chmod(tree.root().c_str(), 0755);
  tree.file("c/x.jpg");
  tree.file("c/closed/y.jpg");
  ::chmod(tree.at("c/closed").c_str(), 0);
  {
    const OtherUser user;
    const FolderScan scan = scan_folder(tree.root());
    EXPECT_EQ(listed(tree, scan), (Lines{"0: c/x.jpg"}));
    ASSERT_EQ(scan.notes.size(), 1u);
    EXPECT_TRUE(has(scan.notes[0], "Permission denied") && has(scan.notes[0], "c/closed'")) << scan.notes[0];
  }
  ::chmod(tree.at("c/closed").c_str(), 0755);
}

TEST(FolderScan, NeedsOneDescriptorHoweverDeep) {
  const TempTree tree;
  std::string path = "c";
  for (int i = 0; i < 200; ++i) path += "/d";
  tree.file(path + "/x.jpg");
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{40, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const FolderScan scan = scan_folder(tree.root());
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(listed(tree, scan), (Lines{"0: " + path + "/x.jpg"}));
}

TEST(FolderScan, FailsRatherThanLosesFilesForWantOfDescriptors) {
  const TempTree tree;
  tree.file("c/x.jpg");
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // The root opens; with the poll's own descriptor held, the class does not.
  int held = -1;
  ScanOptions options;
  options.poll = [&] {
    if (held >= 0) return;
    held = ::dup(0);
    const rlimit none{0, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  };
  const Error error = error_of(tree.root(), options);
  ::setrlimit(RLIMIT_NOFILE, &before);
  ::close(held);
  EXPECT_EQ(error.code(), Errc::io);
  EXPECT_EQ(error.sys_errno(), EMFILE);
}

TEST(FolderScan, ThePollEndsTheScan) {
  const TempTree tree;
  tree.file("c/x.jpg");
  ScanOptions options;
  options.poll = [] { throw std::runtime_error("interrupted"); };
  EXPECT_THROW(scan_folder(tree.root(), options), std::runtime_error);
}

}  // namespace
}  // namespace pyfastdl
