#include "models/walk.h"

#include "os/made_up_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace picchio::models {
namespace {

const std::string kModel(2000, 'm');

struct Found {
  std::vector<std::string> paths;  // sorted
  Walk walk;
};

Found walk(const std::string& root, int depth = 8, std::int64_t names = 100'000) {
  Found out{{}, walk_models(root, {depth, &names})};
  for (const WalkedFile& file : out.walk.files) out.paths.push_back(file.path);
  std::ranges::sort(out.paths);
  return out;
}

using Paths = std::vector<std::string>;

TEST(Walk, FindsModelsAndLeavesOutWhatIsNone) {
  const MadeUpTree tree;
  for (const char* name :
       {"/a.gguf", "/B.GGUF", "/sub/deep/c.gguf", "/mmproj-F16.gguf", "/imatrix.gguf",
        "/x-lora.gguf", "/ggml-vocab-bert.gguf", "/d.gguf.part", "/e.gguf.incomplete", "/notes.txt",
        "/f.gguf.tmp", "/g.gguf.downloadInProgress", "/.hidden.gguf", "/.git/h.gguf", "/i.gguf"}) {
    tree.file(name, kModel);
  }
  tree.file("/i.gguf.aria2", "control");
  tree.file("/empty.gguf");
  tree.dir("/folder.gguf");
  tree.file("/folder.gguf/j.gguf", kModel);
  ASSERT_EQ(::mkfifo((tree.root() + "/pipe.gguf").c_str(), 0600), 0);
  const Found found = walk(tree.root());
  EXPECT_EQ(found.paths, (Paths{"B.GGUF", "a.gguf", "folder.gguf/j.gguf", "sub/deep/c.gguf"}));
  EXPECT_TRUE(found.walk.refused.empty());
  EXPECT_FALSE(found.walk.cut);
}

TEST(Walk, LeavesOutWhatStandsInForAFile) {
  const MadeUpTree tree;
  tree.file("/pointer.gguf", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n");
  tree.file("/page.gguf", "<!DOCTYPE html><title>404</title>");
  tree.file("/refusal.gguf", R"({"error":"Access to this model is restricted"})");
  tree.file("/tiny.gguf", "GGUF");
  EXPECT_EQ(walk(tree.root()).paths, Paths{"tiny.gguf"});
}

TEST(Walk, CountsASplitModelOnce) {
  const MadeUpTree tree;
  tree.file("/x-00001-of-00003.gguf", std::string(2000, 'x'));
  tree.file("/x-00002-of-00003.gguf", std::string(3000, 'x'));
  tree.file("/x-00003-of-00003.gguf", std::string(4000, 'x'));
  tree.file("/x-00001-of-00002.gguf", kModel);  // of another set, and its second part is missing
  tree.file("/first-gone-00002-of-00002.gguf", kModel);
  tree.file("/half-00001-of-00002.gguf", kModel);
  tree.file("/half-00002-of-00002.gguf");
  tree.file("/loading-00001-of-00002.gguf", kModel);
  tree.file("/loading-00002-of-00002.gguf", kModel);
  tree.file("/loading-00002-of-00002.gguf.aria2", "control");
  tree.file("/huge-00001-of-99999.gguf", kModel);
  tree.file("/one-00001-of-00001.gguf", kModel);
  const Found found = walk(tree.root());
  ASSERT_EQ(found.paths, (Paths{"one-00001-of-00001.gguf", "x-00001-of-00003.gguf"}));
  for (const WalkedFile& file : found.walk.files) {
    EXPECT_EQ(file.parts, file.path.starts_with('x') ? 3 : 1);
    EXPECT_EQ(file.bytes, file.path.starts_with('x') ? 9000 : 2000);
  }
}

TEST(Walk, FollowsLinksAndEndsInLoops) {
  const MadeUpTree tree;
  tree.file("/elsewhere/a.gguf", kModel);
  tree.file("/root/b.gguf", kModel);
  tree.link("/root/linked", "../elsewhere");
  tree.link("/root/again", "../elsewhere");
  tree.link("/root/up", "..");
  tree.link("/root/self", ".");
  tree.link("/root/itself", "itself");
  tree.link("/root/dangling.gguf", "gone.gguf");
  tree.link("/root/to-file.gguf", "b.gguf");
  const Found found = walk(tree.root() + "/root");
  // The folder behind two links is entered once; a file's second name is the caller's to judge.
  EXPECT_EQ(found.paths, (Paths{"again/a.gguf", "b.gguf", "to-file.gguf"}));
  for (const WalkedFile& file : found.walk.files) {
    EXPECT_EQ(file.link, file.path == "to-file.gguf") << file.path;
  }
  EXPECT_TRUE(found.walk.refused.empty());
}

TEST(Walk, EntersNoDeeperThanAllowed) {
  const MadeUpTree tree;
  tree.file("/a.gguf", kModel);
  tree.file("/1/b.gguf", kModel);
  tree.file("/1/2/c.gguf", kModel);
  EXPECT_EQ(walk(tree.root(), 0).paths, Paths{"a.gguf"});
  EXPECT_EQ(walk(tree.root(), 1).paths, (Paths{"1/b.gguf", "a.gguf"}));
}

TEST(Walk, StopsAtTheLimitNearestFoldersFirst) {
  const MadeUpTree tree;
  tree.file("/a.gguf", kModel);
  tree.file("/1/b.gguf", kModel);
  for (int i = 0; i < 20; ++i) tree.file("/1/2/" + std::to_string(i) + ".gguf", kModel);
  const Found found = walk(tree.root(), 8, 10);
  EXPECT_TRUE(found.walk.cut);
  EXPECT_EQ(found.paths.size(), 8U);  // ten names, of which two are folders
  EXPECT_TRUE(std::ranges::find(found.paths, "1/b.gguf") != found.paths.end());
  EXPECT_FALSE(walk(tree.root(), 8, 24).walk.cut);
}

TEST(Walk, KeepsNamesAsTheyAre) {
  const MadeUpTree tree;
  tree.file("/a\nb\x1b[31m \xff'.gguf", kModel);
  EXPECT_EQ(walk(tree.root()).paths, Paths{"a\nb\x1b[31m \xff'.gguf"});
}

TEST(Walk, TellsWhatItMayNotRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const MadeUpTree tree;
  tree.file("/a.gguf", kModel);
  tree.file("/locked/b.gguf", kModel);
  ASSERT_EQ(::chmod((tree.root() + "/locked").c_str(), 0), 0);
  const Found found = walk(tree.root());
  ASSERT_EQ(::chmod((tree.root() + "/locked").c_str(), 0700), 0);
  EXPECT_EQ(found.paths, Paths{"a.gguf"});
  ASSERT_EQ(found.walk.refused.size(), 1U);
  EXPECT_EQ(found.walk.refused.front().kind, ErrorKind::denied);
}

TEST(Walk, OfNothingIsEmpty) {
  const MadeUpTree tree;
  const Found found = walk(tree.root() + "/none");
  EXPECT_TRUE(found.paths.empty());
  EXPECT_TRUE(found.walk.refused.empty());
  tree.file("/file");
  const Found file = walk(tree.root() + "/file");
  EXPECT_TRUE(file.paths.empty());
  EXPECT_TRUE(file.walk.refused.empty());
}

}  // namespace
}  // namespace picchio::models
