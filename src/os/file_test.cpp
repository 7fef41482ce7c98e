#include "os/file.h"

#include "os/append_file.h"
#include "os/file_head.h"
#include "os/pipe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace picchio::os {
namespace {

class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "picchio_file_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir = name;
  }
  void TearDown() override { std::filesystem::remove_all(dir); }

  [[nodiscard]] std::string at(const std::string& name) const { return dir + "/" + name; }
  [[nodiscard]] std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(at(name), std::ios::binary) << text;
    return at(name);
  }
  static std::string get(const std::string& path) {
    return read_file(path, 1 << 30).value_or("(unreadable)");
  }

  std::string dir;
};

unsigned mode_of(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777U : 0U;
}

// Root is refused nothing, so what depends on a refusal is tried as somebody else.
bool is_root() { return ::geteuid() == 0; }

// Exit status of a process of user "nobody": 0 when the check held.
template <class Check>
int as_nobody(Check check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setuid(65534) == 0 && check() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_F(File, TheBeginningOfAFile) {
  auto file = FileHead::open(put("model.gguf", "GGUF and more"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->file_bytes(), 13);
  EXPECT_EQ(static_cast<char>(file->bytes()[4]), ' ');
  FileHead moved = std::move(*file);
  EXPECT_EQ(moved.bytes().size(), 13U);
  EXPECT_FALSE(moved.was_cut());
  // Places are given back: more files one after the other than there are places.
  for (int i = 0; i < 20; ++i) {
    auto other = FileHead::open(at("model.gguf"));
    ASSERT_TRUE(other) << other.error().message;
    moved = *std::move(other);
  }
  EXPECT_EQ(static_cast<char>(moved.bytes()[0]), 'G');
}

// A download that starts anew while one looks: without a guard the process would end here.
TEST_F(File, AFileThatIsCutWhileItIsLookedAt) {
  const std::string path = put("model.gguf", std::string(300'000, 'x'));
  const auto file = FileHead::open(path);
  const auto other = FileHead::open(put("other.gguf", std::string(300'000, 'y')));
  ASSERT_TRUE(file && other);
  ASSERT_EQ(::truncate(path.c_str(), 100), 0);
  EXPECT_FALSE(file->was_cut());  // nobody looked yet
  EXPECT_EQ(static_cast<char>(file->bytes()[50]), 'x');
  EXPECT_FALSE(file->was_cut());
  EXPECT_EQ(static_cast<int>(file->bytes()[250'000]), 0);
  EXPECT_TRUE(file->was_cut());
  EXPECT_EQ(static_cast<char>(other->bytes()[250'000]), 'y');
  EXPECT_FALSE(other->was_cut());
}

// What is nobody's guarded range ends the process, as it always did.
TEST_F(File, OtherBusErrorsAreNotHidden) {
  const std::string path = put("mine", "x");
  const auto guarded = FileHead::open(path);
  ASSERT_TRUE(guarded);
  EXPECT_EXIT(
      {
        ::signal(SIGALRM, SIG_DFL);
        ::alarm(20);
        ::raise(SIGBUS);
        ::raise(SIGBUS);
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST_F(File, WhatHasNoBeginningSaysWhy) {
  ::mkfifo(at("pipe").c_str(), 0600);
  struct Case {
    std::string path;
    ErrorKind kind;
    const char* why;
  };
  for (const Case& c : {Case{at("missing"), ErrorKind::not_found, "no such file or directory"},
                        Case{put("file", "x") + "/below", ErrorKind::not_found, "not a directory"},
                        Case{dir, ErrorKind::unsupported, "is a directory, not a file"},
                        Case{put("empty", ""), ErrorKind::malformed, "is empty"},
                        Case{at("pipe"), ErrorKind::unsupported, "is not a regular file"}}) {
    const auto file = FileHead::open(c.path);
    ASSERT_FALSE(file) << c.path;
    EXPECT_EQ(file.error().kind, c.kind) << c.path;
    EXPECT_TRUE(file.error().message.contains(c.why)) << file.error().message;
    EXPECT_TRUE(file.error().message.contains("'" + c.path + "'")) << file.error().message;
  }
}

TEST_F(File, ARefusalIsDeniedAndAStrangersCacheUnknown) {
  const std::string secret = put("secret", "x");
  const std::string public_file = put("public", "x");
  ::chmod(dir.c_str(), 0755);
  ::chmod(secret.c_str(), 0);
  ::chmod(public_file.c_str(), 0444);
  if (!is_root()) {
    const auto file = FileHead::open(secret);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().kind, ErrorKind::denied);
    return;
  }
  EXPECT_EQ(as_nobody([&] {
              const auto file = FileHead::open(secret);
              const bool refused = !file && file.error().kind == ErrorKind::denied;
              // The kernel would say 1.0 here, whatever is true.
              return refused && !cached_fraction(public_file);
            }),
            0);
}

TEST_F(File, ReadsWithACapAlsoFromProc) {
  EXPECT_EQ(read_file(put("ten", "0123456789"), 10), "0123456789");
  const auto over = read_file(at("ten"), 9);
  ASSERT_FALSE(over);
  EXPECT_TRUE(over.error().message.contains("larger than 9 bytes")) << over.error().message;
  const auto proc = read_file("/proc/self/stat", 4096);
  ASSERT_TRUE(proc);
  EXPECT_FALSE(proc->empty());
  EXPECT_EQ(read_file(dir, 10).error().kind, ErrorKind::unsupported);
  EXPECT_EQ(read_file(at("none"), 10).error().kind, ErrorKind::not_found);
}

TEST_F(File, WritesWholeOrNotAtAll) {
  const std::string path = at("new");
  ASSERT_TRUE(write_file_atomic(path, "one"));
  EXPECT_EQ(get(path), "one");
  EXPECT_EQ(mode_of(path), 0600U);
  ASSERT_TRUE(write_file_atomic(path, "two", 0644));
  EXPECT_EQ(get(path), "two");
  EXPECT_EQ(mode_of(path), 0644U);
  EXPECT_EQ(list_dir(dir), std::vector<std::string>{"new"});
}

TEST_F(File, AFailedWriteLeavesNoTemporaryFile) {
  // Nothing can be renamed over a folder that appears between the look and the rename; the nearest
  // thing without a race is a target whose name is too long once the suffix is there.
  EXPECT_FALSE(write_file_atomic(at(std::string(252, 'n')), "x"));
  EXPECT_FALSE(write_file_atomic(at("no/such/folder"), "x"));
  const auto onto_dir = write_file_atomic(dir, "x");
  ASSERT_FALSE(onto_dir);
  EXPECT_TRUE(onto_dir.error().message.contains("is a directory"));
  EXPECT_TRUE(list_dir(dir)->empty());
}

TEST_F(File, AFullDiskIsAnErrorThatSaysSo) {
  if (!exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto full = write_file_atomic("/dev/full", "x");
  ASSERT_FALSE(full);
  EXPECT_TRUE(full.error().message.contains("no space left")) << full.error().message;
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));  // written to, not replaced
}

TEST_F(File, AWriteFollowsALink) {
  const std::string target = put("target", "old");
  std::filesystem::create_symlink("target", at("link"));
  ASSERT_TRUE(write_file_atomic(at("link"), "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(at("link")));
  EXPECT_EQ(get(target), "new");
}

TEST_F(File, MakesFoldersAndListsThem) {
  ASSERT_TRUE(make_dirs(at("a/b/c")));
  ASSERT_TRUE(make_dirs(at("a/b/c/")));  // there already
  EXPECT_EQ(mode_of(at("a/b")), 0700U);
  (void)put("a/z", "");
  EXPECT_EQ(list_dir(at("a")), (std::vector<std::string>{"b", "z"}));
  EXPECT_EQ(list_dir(at("q")).error().kind, ErrorKind::not_found);
  const auto blocked = make_dirs(at("a/z/below"));
  ASSERT_FALSE(blocked);
  EXPECT_TRUE(blocked.error().message.contains("cannot make the folder"))
      << blocked.error().message;
}

TEST_F(File, LinksOfAnyLength) {
  const std::string far = "/" + std::string(700, 'x');
  std::filesystem::create_symlink(far, at("link"));
  EXPECT_EQ(read_link(at("link")), far);
  EXPECT_FALSE(read_link(put("file", "")));
}

TEST_F(File, IdentityChangesWithTheFile) {
  const std::string path = put("f", "1234");
  const auto first = file_identity(path);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->size, 4);
  EXPECT_EQ(file_identity(path).value(), *first);
  ASSERT_TRUE(write_file_atomic(path, "1235"));
  EXPECT_NE(file_identity(path).value(), *first);
  EXPECT_EQ(file_identity(at("none")).error().kind, ErrorKind::not_found);
}

TEST_F(File, CachedFractionFollowsTheCache) {
  const std::string path = put("big", std::string(4 << 20, 'x'));
  EXPECT_EQ(cached_fraction(path), 1.0);
  ASSERT_TRUE(drop_cache(path));
  const double cold = cached_fraction(path).value_or(-1);
  EXPECT_GE(cold, 0.0);
  if (cold == 1.0) GTEST_SKIP() << "the temporary folder is in memory: nothing can be dropped";
  EXPECT_LT(cold, 0.1);
}

TEST_F(File, NoCachedFractionOfNothing) {
  EXPECT_EQ(cached_fraction(at("none")), std::nullopt);
  EXPECT_EQ(cached_fraction(put("empty", "")), std::nullopt);
  EXPECT_FALSE(drop_cache(at("none")));
}

TEST_F(File, FindsProgramsLikeAShell) {
  const std::string tool = put("tool", "#!/bin/sh\n");
  EXPECT_EQ(find_on_path(tool), std::nullopt);  // not executable
  ::chmod(tool.c_str(), 0755);
  EXPECT_EQ(find_on_path(tool), tool);
  ASSERT_TRUE(make_dirs(at("shadow/tool")));
  const std::string old = env("PATH").value_or("");
  ::setenv("PATH", (at("none") + ":" + at("shadow") + ":" + dir).c_str(), 1);
  EXPECT_EQ(find_on_path("tool"), tool);  // the folder of that name is no program
  EXPECT_EQ(find_on_path("tool2"), std::nullopt);
  EXPECT_EQ(find_on_path(""), std::nullopt);
  ::setenv("PATH", old.c_str(), 1);
}

TEST_F(File, CacheFolderHonoursXdg) {
  const auto old_xdg = env("XDG_CACHE_HOME");
  const auto old_home = env("HOME");
  ::setenv("HOME", "/home/someone", 1);
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(cache_dir(), "/home/someone/.cache/picchio");
  ::setenv("XDG_CACHE_HOME", "/var/cache/x", 1);
  EXPECT_EQ(cache_dir(), "/var/cache/x/picchio");
  for (const char* ignored : {"relative", ""}) {
    ::setenv("XDG_CACHE_HOME", ignored, 1);
    EXPECT_EQ(cache_dir(), "/home/someone/.cache/picchio") << ignored;
  }
  if (old_home) ::setenv("HOME", old_home->c_str(), 1);
  ::unsetenv("XDG_CACHE_HOME");
  if (old_xdg) ::setenv("XDG_CACHE_HOME", old_xdg->c_str(), 1);
}

TEST_F(File, EnvironmentAbsentIsNotEmpty) {
  ::setenv("PICCHIO_TEST_EMPTY", "", 1);
  EXPECT_EQ(env("PICCHIO_TEST_EMPTY"), "");
  const auto all = environment();
  EXPECT_NE(std::ranges::find(all, "PICCHIO_TEST_EMPTY="), all.end());
  ::unsetenv("PICCHIO_TEST_EMPTY");
  EXPECT_EQ(env("PICCHIO_TEST_EMPTY"), std::nullopt);
}

TEST_F(File, WritesThroughASlowNonBlockingPipe) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  set_nonblocking(pipe->write_end.get());
  const std::string text(1 << 20, 'y');
  std::string read;
  std::thread reader(
      [&] { read = read_all(pipe->read_end.get(), 2 << 20, "pipe").value_or("failed"); });
  const auto wrote = write_all(pipe->write_end.get(), text, "pipe");
  pipe->write_end.reset();
  reader.join();
  EXPECT_TRUE(wrote);
  EXPECT_EQ(read, text);
}

TEST_F(File, AClosedReaderIsAnError) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  pipe->read_end.reset();
  auto* const old = ::signal(SIGPIPE, SIG_IGN);
  const auto wrote = write_all(pipe->write_end.get(), "x", "stdout");
  ::signal(SIGPIPE, old);
  ASSERT_FALSE(wrote);
  EXPECT_EQ(wrote.error().message, "cannot write 'stdout': the reader closed it");
}

TEST_F(File, WhatGrowsGoesOnBehindItsEnd) {
  const std::string path = put("log", "old\n");
  auto log = AppendFile::open(path);
  ASSERT_TRUE(log);
  ASSERT_TRUE(log->append("a\n"));
  std::ofstream(path, std::ios::app) << "somebody else\n";
  ASSERT_TRUE(log->append("b\n"));
  EXPECT_EQ(get(path), "old\na\nsomebody else\nb\n");
  std::filesystem::rename(path, at("log.1"));
  ASSERT_TRUE(log->append("c\n"));
  ASSERT_TRUE(log->reopen());
  ASSERT_TRUE(log->append("d\n"));
  EXPECT_TRUE(get(at("log.1")).ends_with("b\nc\n"));
  EXPECT_EQ(get(path), "d\n");
}

TEST_F(File, WhatCannotGrowSaysSo) {
  EXPECT_EQ(AppendFile::open(at("none/log")).error().kind, ErrorKind::not_found);
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(AppendFile::open(at("fifo"))) << "a FIFO without a reader would be waited for";
  if (!std::filesystem::exists("/dev/full")) return;
  auto full = AppendFile::open("/dev/full");
  ASSERT_TRUE(full);
  EXPECT_TRUE(full->append("x").error().message.contains("no space left"));
}

TEST_F(File, ATerminalIsOneAndAFileIsNot) {
  const UniqueFd terminal(::posix_openpt(O_RDWR | O_NOCTTY));
  if (terminal) {
    EXPECT_TRUE(is_terminal(terminal.get()));
  }
  const UniqueFd file(::open(put("f", "").c_str(), O_RDONLY));
  EXPECT_FALSE(is_terminal(file.get()));
  EXPECT_EQ(terminal_width(file.get()), std::nullopt);
}

}  // namespace
}  // namespace picchio::os
