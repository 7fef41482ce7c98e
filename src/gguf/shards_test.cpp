// The set of files from any one of them.
#include "gguf/shards.h"

#include <gtest/gtest.h>

namespace picchio::gguf {
namespace {

Header shard(std::optional<std::int64_t> number, std::int64_t count) {
  Header header;
  header.split_no = number;
  header.split_count = count;
  return header;
}

TEST(ShardSetPaths, AllFromAnyShard) {
  const std::vector<std::string> all = {"/m/big-00001-of-00003.gguf", "/m/big-00002-of-00003.gguf",
                                        "/m/big-00003-of-00003.gguf"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(shard_set_paths(all[i], shard(static_cast<std::int64_t>(i), 3)), all) << i;
    // A header that does not say which it is contradicts no name.
    EXPECT_EQ(shard_set_paths(all[i], shard(std::nullopt, 3)), all) << i;
  }
}

TEST(ShardSetPaths, AModelInOneFile) {
  for (const std::int64_t count : {0, 1}) {
    EXPECT_EQ(shard_set_paths("a-00002-of-00003.gguf", shard(0, count)),
              std::vector<std::string>{"a-00002-of-00003.gguf"});
  }
  EXPECT_EQ(shard_set_paths("-", Header{}), std::vector<std::string>{"-"});
}

TEST(ShardSetPaths, WhatIsRefusedAndWhy) {
  const struct {
    const char* path;
    Header header;
    const char* message;
  } cases[] = {
      {"big-00002-of-00003.gguf", shard(2, 3),
       "'big-00002-of-00003.gguf' is shard 2 by its name, shard 3 by its header"},
      {"big-00002-of-00003.gguf", shard(0x7FFFFFFFFFFFFFFF, 3),
       "'big-00002-of-00003.gguf' is shard 2 by its name, shard 9223372036854775808 by its header"},
      {"big-00002-of-00003.gguf", shard(1, 4),
       "'big-00002-of-00003.gguf' is one of 3 shards by its name, of 4 by its header"},
      {"renamed.gguf", shard(1, 3),
       "'renamed.gguf' is one of 3 shards, but its name does not end in '-NNNNN-of-00003.gguf', by "
       "which engines find the others"},
      {"m-00001-of-70000.gguf", shard(0, 70000),
       "'m-00001-of-70000.gguf' claims 70000 shards, the format has room for 65535"},
  };
  for (const auto& c : cases) {
    const auto paths = shard_set_paths(c.path, c.header);
    ASSERT_FALSE(paths) << c.message;
    EXPECT_EQ(paths.error().message, c.message);
  }
}

}  // namespace
}  // namespace picchio::gguf
