#include "os/folder.h"

#include "os/file.h"
#include "os/made_up_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <string>

namespace picchio::os {
namespace {

TEST(Folder, TellsEachEntryWithItsKind) {
  const MadeUpTree tree;
  tree.file("/a.txt", "12345");
  tree.dir("/sub");
  tree.link("/to-file", "a.txt");
  tree.link("/to-nowhere", "gone");
  ASSERT_EQ(::mkfifo((tree.root() + "/pipe").c_str(), 0600), 0);
  const Result<Folder> folder = Folder::open(tree.root());
  ASSERT_TRUE(folder) << folder.error().message;
  std::map<std::string, EntryKind, std::less<>> seen;
  ASSERT_TRUE(folder->each([&](std::string_view name, EntryKind kind) {
    seen.emplace(name, kind);
    return true;
  }));
  ASSERT_EQ(seen.size(), 5U);
  // A file system may leave the kind to status().
  const auto is = [&](const char* name, EntryKind kind) {
    return seen.at(name) == kind || seen.at(name) == EntryKind::unknown;
  };
  EXPECT_TRUE(is("a.txt", EntryKind::file));
  EXPECT_TRUE(is("sub", EntryKind::folder));
  EXPECT_TRUE(is("to-file", EntryKind::link));
  EXPECT_TRUE(is("to-nowhere", EntryKind::link));
  EXPECT_TRUE(is("pipe", EntryKind::other));

  const Result<EntryStatus> file = folder->status("a.txt");
  const Result<EntryStatus> link = folder->status("to-file");
  ASSERT_TRUE(file && link);
  EXPECT_EQ(file->kind, EntryKind::file);
  EXPECT_EQ(file->bytes, 5);
  EXPECT_EQ(link->kind, EntryKind::file);
  EXPECT_EQ(link->inode, file->inode);
  EXPECT_EQ(link->device, file->device);
  EXPECT_EQ(file->inode, file_identity(tree.root() + "/a.txt")->inode);
  EXPECT_EQ(folder->status("sub")->kind, EntryKind::folder);
  EXPECT_EQ(folder->status("pipe")->kind, EntryKind::other);
  const Result<EntryStatus> nowhere = folder->status("to-nowhere");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, ErrorKind::not_found);
}

TEST(Folder, StopsWhenToldTo) {
  const MadeUpTree tree;
  for (const char* name : {"/a", "/b", "/c"}) tree.file(name);
  const Result<Folder> folder = Folder::open(tree.root());
  ASSERT_TRUE(folder);
  int seen = 0;
  ASSERT_TRUE(folder->each([&](std::string_view, EntryKind) { return ++seen < 2; }));
  EXPECT_EQ(seen, 2);
}

TEST(Folder, IsTheSameBehindALink) {
  const MadeUpTree tree;
  tree.dir("/real");
  tree.link("/link", "real");
  const Result<Folder> real = Folder::open(tree.root() + "/real");
  const Result<Folder> link = Folder::open(tree.root() + "/link");
  ASSERT_TRUE(real && link);
  EXPECT_EQ(real->status()->inode, link->status()->inode);
  EXPECT_EQ(real->status()->device, link->status()->device);
}

TEST(Folder, SaysWhyItCannotBeOpened) {
  const MadeUpTree tree;
  tree.file("/file");
  tree.link("/loop", "loop");
  const Result<Folder> none = Folder::open(tree.root() + "/none");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
  EXPECT_EQ(none.error().message,
            "cannot list '" + tree.root() + "/none': no such file or directory");
  EXPECT_FALSE(Folder::open(tree.root() + "/file"));
  EXPECT_FALSE(Folder::open(tree.root() + "/loop"));
}

}  // namespace
}  // namespace picchio::os
