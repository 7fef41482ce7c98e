#include "os/digest.h"

#include "os/file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace picchio::os {
namespace {

struct Vector {
  std::string name;
  std::string bytes;
  std::string sha256;
};

// The first three: FIPS 180-2 and NIST's examples; the others by other programs of its kind.
std::vector<Vector> vectors() {
  return {
      {"empty", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"a_million", std::string(1'000'000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
      {"zeros", std::string(std::size_t{1} << 20U, '\0'),
       "30e14955ebf1352266dc2ff8067e68104607e750abb9d3b36582b8af909fcb58"},
  };
}

class Digest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "picchio_digest_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir = name;
  }
  void TearDown() override { std::filesystem::remove_all(dir); }
  [[nodiscard]] std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(dir + "/" + name, std::ios::binary) << text;
    return dir + "/" + name;
  }

  std::string dir;
};

TEST_F(Digest, KnownVectors) {
  for (const Vector& each : vectors()) {
    EXPECT_EQ(sha256_of(std::as_bytes(std::span(each.bytes))), each.sha256) << each.name;
    EXPECT_EQ(sha256_of_file(put(each.name, each.bytes), {}), each.sha256) << each.name;
  }
}

TEST_F(Digest, TellsHowFarItIs) {
  const std::string path = put("x", std::string(1'000'000, 'a'));
  std::int64_t last = 0;
  int calls = 0;
  const auto digest = sha256_of_file(path, [&](std::int64_t done) {
    EXPECT_GT(done, last);
    last = done;
    ++calls;
    return true;
  });
  EXPECT_TRUE(digest);
  EXPECT_EQ(last, 1'000'000);
  EXPECT_GT(calls, 2);
}

TEST_F(Digest, StopsWhenAsked) {
  const std::string path = put("x", std::string(1'000'000, 'a'));
  int calls = 0;
  const auto digest = sha256_of_file(path, [&](std::int64_t) { return ++calls < 2; });
  ASSERT_FALSE(digest);
  EXPECT_EQ(digest.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(calls, 2);
}

TEST_F(Digest, WhatIsNoFileIsAnError) {
  EXPECT_EQ(sha256_of_file(dir + "/absent", {}).error().kind, ErrorKind::not_found);
  EXPECT_EQ(sha256_of_file(dir, {}).error().kind, ErrorKind::unsupported);
  EXPECT_EQ(sha256_of_file("/dev/zero", {}).error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace picchio::os
