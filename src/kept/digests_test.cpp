#include "kept/digests.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace picchio::kept {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

const std::string kHex(64, 'a');
// SHA-256 of "abc", as FIPS 180-2 prints it.
const std::string kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class Digests : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "picchio-digests-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  [[nodiscard]] std::string at(const std::string& name) const { return (folder / name).string(); }
  [[nodiscard]] std::string cache() const { return at("cache"); }
  [[nodiscard]] std::string kept_file() const { return at("cache/digests.txt"); }

  /// A file that was last written a minute ago.
  [[nodiscard]] std::string put(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::binary) << text;
    fs::last_write_time(at(name), fs::file_time_type::clock::now() - 60s);
    return at(name);
  }
  static std::string get(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream out;
    out << file.rdbuf();
    return out.str();
  }
  [[nodiscard]] std::optional<std::string> recalled(const std::string& path) const {
    const auto found = recall_digest(cache(), *os::file_identity(path));
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(std::nullopt);
  }

  fs::path folder;
};

KeptDigest row(int number) {
  return {.file = {.size = number + 5,
                   .mtime_ns = -number,
                   .inode = ~std::uint64_t{0} - static_cast<std::uint64_t>(number),
                   .device = 7},
          .sha256 = fmt::format("{:064x}", number)};
}

TEST_F(Digests, ComputedOnceAndRemembered) {
  const std::string path = put("x.gguf", "abc");
  EXPECT_EQ(recalled(path), std::nullopt);
  std::string note;
  EXPECT_EQ(compute_digest(path, cache(), {}, &note), kAbc);
  EXPECT_EQ(note, "");
  EXPECT_EQ(recalled(path), kAbc);
  EXPECT_EQ(fs::status(kept_file()).permissions() & fs::perms::all,
            fs::perms::owner_read | fs::perms::owner_write);
  fs::rename(path, at("y.gguf"));  // the same file under another name
  EXPECT_EQ(recalled(at("y.gguf")), kAbc);
}

TEST_F(Digests, AnotherStateOfAFileIsNotRecalled) {
  const std::string path = put("x.gguf", "abc");
  ASSERT_TRUE(compute_digest(path, cache(), {}));
  const auto same = *os::file_identity(path);
  EXPECT_EQ(*recall_digest(cache(), same), kAbc);
  for (const auto change : {+[](os::FileIdentity& file) { ++file.size; },
                            +[](os::FileIdentity& file) { ++file.mtime_ns; },
                            +[](os::FileIdentity& file) { ++file.inode; },
                            +[](os::FileIdentity& file) { ++file.device; }}) {
    os::FileIdentity other = same;
    change(other);
    EXPECT_EQ(*recall_digest(cache(), other), std::nullopt);
  }
}

TEST_F(Digests, AFileThatChangesMeanwhileHasNone) {
  const std::string path = put("x.gguf", std::string(1 << 20, 'x'));
  bool changed = false;
  const auto digest = compute_digest(path, cache(), [&](std::int64_t) {
    if (!changed) std::ofstream(path, std::ios::app) << "more";
    changed = true;
    return true;
  });
  ASSERT_FALSE(digest);
  EXPECT_EQ(digest.error().message, "'" + path + "' changed while its SHA-256 was computed");
  EXPECT_FALSE(fs::exists(kept_file()));
  const std::string gone = put("y.gguf", std::string(1 << 20, 'x'));
  EXPECT_FALSE(compute_digest(gone, cache(), [&](std::int64_t) { return fs::remove(gone), true; }));
}

TEST_F(Digests, WhatWasJustWrittenIsNotRemembered) {
  const std::string path = put("x.gguf", "abc");
  fs::last_write_time(path, fs::file_time_type::clock::now());
  EXPECT_EQ(compute_digest(path, cache(), {}), kAbc);
  EXPECT_EQ(recalled(path), std::nullopt);
}

TEST_F(Digests, StoppedWorkLeavesNothing) {
  const std::string path = put("x.gguf", "abc");
  const auto digest = compute_digest(path, cache(), [](std::int64_t) { return false; });
  ASSERT_FALSE(digest);
  EXPECT_EQ(digest.error().kind, ErrorKind::interrupted);
  EXPECT_FALSE(fs::exists(kept_file()));
}

TEST_F(Digests, ACacheThatCannotBeWrittenIsANote) {
  const std::string path = put("x.gguf", "abc");
  const std::string in_the_way = put("file", "x");
  std::string note;
  EXPECT_EQ(compute_digest(path, in_the_way, {}, &note), kAbc);
  EXPECT_TRUE(note.starts_with("the SHA-256 is not remembered: ")) << note;
}

TEST_F(Digests, TheOldestGoesOut) {
  std::vector<KeptDigest> digests;
  for (int i = 0; i < 4200; ++i) digests = with_digest(std::move(digests), row(i));
  digests = with_digest(std::move(digests), row(500));
  ASSERT_EQ(digests.size(), kMostDigests);
  EXPECT_EQ(digests.front().sha256, row(500).sha256);
  EXPECT_EQ(digests[1].sha256, row(4199).sha256);
  EXPECT_EQ(digests.back().sha256, row(104).sha256);
  const auto read = digests_from_text(digests_to_text(digests));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), digests.size());
  for (std::size_t i = 0; i < digests.size(); ++i) {
    ASSERT_EQ((*read)[i].file, digests[i].file);
    ASSERT_EQ((*read)[i].sha256, digests[i].sha256);
  }
}

TEST_F(Digests, TheLargestFileOfOursIsUnderTheCap) {
  std::vector<KeptDigest> digests;
  for (std::size_t i = 0; i < kMostDigests; ++i) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::min();
    digests.push_back({.file = {.size = kMost,
                                .mtime_ns = kMost,
                                .inode = ~std::uint64_t{0} - i,
                                .device = ~std::uint64_t{0}},
                       .sha256 = kHex});
  }
  fs::create_directories(cache());
  std::ofstream(kept_file()) << digests_to_text(digests);
  const auto found = recall_digest(cache(), digests.back().file);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, kHex);
}

TEST_F(Digests, ForeignFilesAreMovedAsideWithANote) {
  const std::string good = digests_to_text({row(1)});
  for (const std::string& text :
       {std::string("garbage\x1b"), std::string(), std::string("picchio.digests.v9\n"),
        good + "1 2 3\n", good + "1 2 3 4 " + kHex.substr(1) + "\n", good + "\n" + good,
        good + "1 2 3 4 " + std::string(64, 'A') + "\n", good + "-1 2 3 4 " + kHex + "\n",
        good + "1 2 99999999999999999999 4 " + kHex + "\n", good + "1 2 3 4 " + kHex + " \n",
        std::string(5 << 20, '[')}) {
    fs::remove_all(cache());
    fs::create_directories(cache());
    std::ofstream(kept_file(), std::ios::binary) << text;
    EXPECT_EQ(recall_digest(cache(), row(1).file).error().kind, ErrorKind::malformed)
        << text.substr(0, 300);
    std::string note;
    const auto kept = remember_digest(cache(), row(2), &note);
    ASSERT_TRUE(kept) << kept.error().message;
    EXPECT_TRUE(note.contains("digests.txt.unreadable")) << note;
    EXPECT_EQ(get(kept_file() + ".unreadable"), text);
    EXPECT_EQ(*recall_digest(cache(), row(2).file), row(2).sha256);
  }
}

TEST_F(Digests, TwoAtOnceKeepTheFileWhole) {
  const auto write_many = [&](int first) {
    for (int i = first; i < first + 20; ++i) {
      std::string note;
      const auto kept = remember_digest(cache(), row(i), &note);
      EXPECT_TRUE(kept) << kept.error().message;
      EXPECT_EQ(note, "");
      EXPECT_TRUE(recall_digest(cache(), row(i).file));
    }
  };
  std::thread one(write_many, 0);
  std::thread two(write_many, 100);
  one.join();
  two.join();
  const auto read = digests_from_text(get(kept_file()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_GE(read->size(), 20U);
}

TEST_F(Digests, AStoreNamesItsFiles) {
  EXPECT_EQ(digest_in_path("/m/blobs/sha256-" + kHex), kHex);
  EXPECT_EQ(digest_in_path("sha256:" + kHex), kHex);
  EXPECT_EQ(digest_in_path("/hub/models--o--r/blobs/" + kHex), kHex);
  for (const std::string& path :
       {kHex, "/x/" + kHex, "/blobs/x/" + kHex, "/myblobs/" + kHex, "/blobs/" + kHex + "0",
        "/blobs/" + kHex + ".incomplete", "sha256-" + kHex + "-partial", "sha1-" + kHex,
        "sha256-" + std::string(64, 'A'), "sha256-" + std::string(64, 'g'), std::string("sha256-"),
        std::string(), "/blobs/" + std::string(40, 'a')}) {
    EXPECT_EQ(digest_in_path(path), std::nullopt) << path;
  }
}

TEST_F(Digests, TheHubsCacheIsReachedThroughALink) {
  const std::string blob = put("hub/models--o--r/blobs/" + kHex, "x");
  const std::string snapshot = at("hub/models--o--r/snapshots/abc/m.gguf");
  fs::create_directories(fs::path(snapshot).parent_path());
  fs::create_symlink("../../blobs/" + kHex, snapshot);
  EXPECT_EQ(known_digest(snapshot), kHex);
  EXPECT_EQ(known_digest(put("m.gguf", "x")), std::nullopt);
  EXPECT_EQ(known_digest(at("absent.gguf")), std::nullopt);
}

}  // namespace
}  // namespace picchio::kept
