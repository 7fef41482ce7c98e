#include "os/library.h"

#include <gtest/gtest.h>

#include <array>

namespace picchio::os {
namespace {

constexpr std::array kNone = {"libno-such-thing.so.7", "libno-such-thing.so.6"};
// glibc's, musl's and that of macOS: one of them is mapped already.
constexpr std::array kC = {"libno-such-thing.so.7", "libc.so.6", "libc.so", "libSystem.B.dylib"};

TEST(DynamicLibrary, TheFirstThatIsThere) {
  const auto library = DynamicLibrary::open("the C library", kC);
  ASSERT_TRUE(library) << library.error().message;
  int (*absolute)(int) = nullptr;
  ASSERT_TRUE(library->load("abs", absolute));
  EXPECT_EQ(absolute(-7), 7);
}

TEST(DynamicLibrary, WhatIsMissingIsNamed) {
  const auto none = DynamicLibrary::open("libnothing", kNone);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
  EXPECT_TRUE(none.error().message.starts_with("cannot load libnothing: "));
  EXPECT_TRUE(none.error().message.contains(kNone[0])) << none.error().message;
  const auto library = DynamicLibrary::open("the C library", kC);
  ASSERT_TRUE(library) << library.error().message;
  void (*function)() = nullptr;
  const auto loaded = library->load("no_such_function", function);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message, "the C library lacks 'no_such_function'");
  EXPECT_EQ(function, nullptr);
}

}  // namespace
}  // namespace picchio::os
