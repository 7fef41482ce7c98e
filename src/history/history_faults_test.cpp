// What happens to the file: several writers, kills, full disks, files that somebody broke.
#include "history/history.h"
#include "history/record_json.h"
#include "history/sample_records.h"
#include "history/test_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace picchio::history {
namespace {

namespace fs = std::filesystem;
using samples::record;

using Names = std::vector<std::string>;
const Names kOnlyTheFile = {"history.sqlite3"};

Result<History> open_here(const TestFolder& folder, std::string* note = nullptr) {
  return History::open(folder.path(), note);
}

/// A program of ours that writes runs; its stdout goes into a file.
class WriterProcess {
 public:
  WriterProcess(const TestFolder& folder, const std::string& name, int count,
                const std::string& log)
      : pid_(::fork()) {
    if (pid_ != 0) return;
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(out, 1);
    const std::string number = fmt::format("{}", count);
    ::execl(PICCHIO_HISTORY_WRITER, "writer", folder.path().c_str(), name.c_str(), number.c_str(),
            nullptr);
    ::_exit(127);
  }
  void kill() const { ::kill(pid_, SIGKILL); }
  int wait() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return status;
  }

 private:
  pid_t pid_;
};

/// The sentence of every run that is stored.
std::multiset<std::string> stored_sentences(History& runs) {
  std::multiset<std::string> out;
  const auto done = runs.export_lines([&](std::string_view line) -> Result<> {
    const Result<ImportedRecord> run = record_of_export_line(line);
    if (!run) return std::unexpected(run.error());
    out.insert(run->run.figures.sentence);
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  return out;
}

TEST(HistoryFile, EightWritersLoseNothing) {
  constexpr int kWriters = 8;
  constexpr int kRuns = 25;
  const TestFolder folder;
  const TestFolder logs;
  std::vector<WriterProcess> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back(folder, fmt::format("{}", i), kRuns, logs.file(fmt::format("{}", i)));
  }
  for (const WriterProcess& writer : writers) EXPECT_EQ(writer.wait(), 0);
  Result<History> runs = open_here(folder);
  ASSERT_TRUE(runs) << runs.error().message;
  std::multiset<std::string> wanted;
  for (int writer = 0; writer < kWriters; ++writer) {
    for (int run = 0; run < kRuns; ++run) wanted.insert(fmt::format("{}:{}", writer, run));
  }
  EXPECT_EQ(stored_sentences(*runs), wanted);
  const auto rows = runs->rows({});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->size(), wanted.size());
  EXPECT_EQ(folder.names(), kOnlyTheFile);
}

/// 100 in the suite; PICCHIO_KILL_ROUNDS asks for more.
int kill_rounds() {
  const char* asked = std::getenv("PICCHIO_KILL_ROUNDS");
  return asked == nullptr ? 100 : std::atoi(asked);
}

TEST(HistoryFile, KillsLeaveEveryRunThatWasStored) {
  const TestFolder folder;
  const TestFolder logs;
  std::mt19937 random(20261130);
  std::set<std::string> stored;
  int in_the_middle = 0;
  const int rounds = kill_rounds();
  for (int round = 0; round < rounds; ++round) {
    const std::string name = fmt::format("{}", round);
    const std::vector<WriterProcess> writers = [&] {
      std::vector<WriterProcess> out;
      out.emplace_back(folder, name + "a", 1'000'000, logs.file(name + "a"));
      out.emplace_back(folder, name + "b", 1'000'000, logs.file(name + "b"));
      return out;
    }();
    std::this_thread::sleep_for(std::chrono::microseconds(3'000 + random() % 30'000));
    for (const WriterProcess& writer : writers) writer.kill();
    for (const WriterProcess& writer : writers) EXPECT_EQ(WTERMSIG(writer.wait()), SIGKILL);
    if (fs::exists(folder.database() + "-journal")) ++in_the_middle;
    for (const char* writer : {"a", "b"}) {
      // A file of this round's own: a writer that was killed early did not empty an older one.
      std::stringstream lines(logs.bytes(name + writer));
      for (std::string line; std::getline(lines, line);)
        stored.insert(fmt::format("{}{}:{}", name, writer, line));
    }
    std::string note;
    Result<History> runs = open_here(folder, &note);
    ASSERT_TRUE(runs) << round << ": " << runs.error().message;
    ASSERT_EQ(note, "") << round;
    ASSERT_EQ(folder.names(), kOnlyTheFile) << round;
    ASSERT_TRUE(runs->find("last") || stored.empty()) << round;
    // Kept small, so that it is checked whole when it is opened.
    if (round % 50 == 49 || round + 1 == rounds) {
      const auto there = stored_sentences(*runs);
      for (const std::string& each : stored) ASSERT_TRUE(there.contains(each)) << each;
      // Killed between the commit and the word about it: at most one for each writer.
      ASSERT_LE(there.size(), stored.size() + 100);
      ASSERT_EQ(runs->rows({})->size(), there.size());
      ASSERT_TRUE(runs->keep_newest(0));
      stored.clear();
    }
  }
  EXPECT_EQ(folder.names(), kOnlyTheFile);
  RecordProperty("killed_in_a_transaction", in_the_middle);
  std::printf("%d of %d rounds were killed within a transaction\n", in_the_middle, rounds);
}

class Sql {
 public:
  explicit Sql(const std::string& path) { EXPECT_EQ(sqlite3_open(path.c_str(), &handle_), 0); }
  Sql(const Sql&) = delete;
  Sql& operator=(const Sql&) = delete;
  ~Sql() { sqlite3_close(handle_); }
  void run(const std::string& sql) const {
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &error), 0)
        << sql << ": " << (error == nullptr ? "" : error);
  }

 private:
  sqlite3* handle_ = nullptr;
};

/// Schema 1: the records alone.
void make_version_1(const TestFolder& folder, const std::vector<std::string>& records) {
  const Sql sql(folder.database());
  sql.run(
      "CREATE TABLE runs(id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL,"
      " content TEXT NOT NULL, record TEXT NOT NULL)");
  sql.run("CREATE INDEX runs_content ON runs(content)");
  for (const std::string& text : records) {
    sql.run("INSERT INTO runs(at, content, record) VALUES(1, '" + std::string(32, 'c') + "', '" +
            text + "')");
  }
  sql.run("DELETE FROM runs WHERE id = 3");
  sql.run("PRAGMA user_version = 1");
  sql.run("PRAGMA application_id = 1885954915");
}

TEST(HistoryFile, AnOlderSchemaIsMigrated) {
  const TestFolder folder;
  make_version_1(folder, {record_to_json(record("old-Q8_0.gguf", 20, 1)), "{}",
                          record_to_json(record("pruned", 20, 2))});
  std::string note;
  {
    const auto read = History::open_existing(folder.path(), &note);  // a look migrates as well
    ASSERT_TRUE(read && *read);
  }
  Result<History> runs = open_here(folder, &note);
  ASSERT_TRUE(runs) << runs.error().message;
  EXPECT_EQ(note, "");
  const auto rows = runs->rows({});
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1U);  // what could not be read has no row
  EXPECT_EQ(rows->front().quant, "Q8_0");
  EXPECT_EQ(rows->front().lane(Lane::decode).value, 20);
  EXPECT_EQ(runs->find("@1")->run.figures.model, "old-Q8_0.gguf");
  EXPECT_FALSE(runs->find("@2"));
  EXPECT_EQ(runs->add(record("new", 20, 3)).value_or(0), 4);  // 3 was another run's
  EXPECT_EQ(folder.names(), kOnlyTheFile);
}

TEST(HistoryFile, SeveralMigrateAtOnce) {
  const TestFolder folder;
  const TestFolder logs;
  make_version_1(folder, {record_to_json(record("old", 20, 1))});
  std::vector<WriterProcess> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back(folder, fmt::format("{}", i), 3, logs.file(fmt::format("{}", i)));
  }
  for (const WriterProcess& writer : writers) EXPECT_EQ(writer.wait(), 0);
  Result<History> runs = open_here(folder);
  ASSERT_TRUE(runs) << runs.error().message;
  EXPECT_EQ(runs->rows({})->size(), 13U);
}

TEST(HistoryFile, ANewerSchemaIsLeftAlone) {
  const TestFolder folder;
  ASSERT_TRUE(open_here(folder)->add(record("m", 20)));
  Sql(folder.database()).run("PRAGMA user_version = 3");
  const std::string before = folder.bytes("history.sqlite3");
  std::string note;
  const Result<History> runs = open_here(folder, &note);
  ASSERT_FALSE(runs);
  EXPECT_EQ(runs.error().kind, ErrorKind::unsupported);
  EXPECT_NE(runs.error().message.find("newer picchio"), std::string::npos) << runs.error().message;
  EXPECT_FALSE(History::open_existing(folder.path(), &note));
  EXPECT_EQ(note, "");
  EXPECT_TRUE(folder.bytes("history.sqlite3") == before);
  EXPECT_EQ(folder.names(), kOnlyTheFile);
}

std::string history_of(int runs) {
  const TestFolder folder;
  Result<History> file = open_here(folder);
  EXPECT_TRUE(file) << file.error().message;
  for (int i = 0; i < runs; ++i) EXPECT_TRUE(file->add(record("m", 20, i)));
  return folder.bytes("history.sqlite3");
}

struct Broken {
  const char* what;
  std::string bytes;
};

std::vector<Broken> broken_files() {
  const std::string good = history_of(40);
  std::string holed = good;
  for (std::size_t page = 4; page * 4096 < holed.size(); page += 3) {
    holed.replace(page * 4096, 16, 16, '\xff');
  }
  std::string other;
  {
    const TestFolder folder;
    Sql(folder.database()).run("CREATE TABLE moz_places(id INTEGER)");
    other = folder.bytes("history.sqlite3");
  }
  std::string without;
  {
    const TestFolder folder;
    folder.write("history.sqlite3", good);
    Sql(folder.database()).run("DROP TABLE facts");
    without = folder.bytes("history.sqlite3");
  }
  return {{"no database", "SQLite format 4 or something else that is long enough to be looked at"},
          {"one byte", "x"},
          {"zeros", std::string(20'000, '\0')},
          {"cut", good.substr(0, good.size() / 2)},
          {"cut in a page", good.substr(0, good.size() - 100)},
          {"the header alone", good.substr(0, 100)},
          {"holes", holed},
          {"another program's", other},
          {"a table lost", without}};
}

TEST(HistoryFile, ABrokenFileIsSetAsideAndSaidSo) {
  for (const Broken& broken : broken_files()) {
    for (const bool only_look : {false, true}) {
      const TestFolder folder;
      folder.write("history.sqlite3", broken.bytes);
      std::string note;
      if (only_look) {
        const auto runs = History::open_existing(folder.path(), &note);
        ASSERT_TRUE(runs) << broken.what << ": " << runs.error().message;
        EXPECT_FALSE(*runs) << broken.what;
      }
      Result<History> runs = open_here(folder, only_look ? nullptr : &note);
      ASSERT_TRUE(runs) << broken.what << ": " << runs.error().message;
      ASSERT_TRUE(runs->add(record("m", 20))) << broken.what;
      EXPECT_NE(note.find("moved to '" + folder.database() + ".unreadable'"), std::string::npos)
          << broken.what << ": " << note;
      EXPECT_EQ(note.find('\n'), std::string::npos);
      EXPECT_TRUE(folder.bytes("history.sqlite3.unreadable") == broken.bytes) << broken.what;
      EXPECT_EQ(folder.names(), (Names{"history.sqlite3", "history.sqlite3.unreadable"}));
    }
  }
}

TEST(HistoryFile, ASecondBrokenFileDoesNotReplaceTheFirst) {
  const TestFolder folder;
  for (const char* text : {"first broken", "second broken"}) {
    folder.write("history.sqlite3", text);
    std::string note;
    ASSERT_TRUE(open_here(folder, &note));
    EXPECT_NE(note, "");
  }
  EXPECT_EQ(folder.bytes("history.sqlite3.unreadable"), "first broken");
  EXPECT_EQ(folder.bytes("history.sqlite3.unreadable-2"), "second broken");
}

TEST(HistoryFile, SeveralThatFindItBrokenLoseNoRun) {
  for (int round = 0; round < 5; ++round) {
    const TestFolder folder;
    const TestFolder logs;
    folder.write("history.sqlite3", "broken");
    std::vector<WriterProcess> writers;
    for (int i = 0; i < 6; ++i) {
      writers.emplace_back(folder, fmt::format("{}", i), 2, logs.file(fmt::format("{}", i)));
    }
    for (const WriterProcess& writer : writers) EXPECT_EQ(writer.wait(), 0);
    Result<History> runs = open_here(folder);
    ASSERT_TRUE(runs) << runs.error().message;
    EXPECT_EQ(runs->rows({})->size(), 12U);
    EXPECT_EQ(folder.names(), (Names{"history.sqlite3", "history.sqlite3.unreadable"}));
  }
}

// A large file is not looked through when it is opened.
TEST(HistoryFile, DamageThatOnlyItsUseShowsIsAnErrorThatSetsItAside) {
  const TestFolder folder;
  {
    Result<History> runs = open_here(folder);
    ASSERT_TRUE(runs);
    RecordedRun run = record("m", 20);
    run.figures.why = std::string(200'000, 'x');
    for (int i = 0; i < 30; ++i) {
      run.at += std::chrono::seconds(1);
      ASSERT_TRUE(runs->add(run));
    }
  }
  std::string bytes = folder.bytes("history.sqlite3");
  ASSERT_GT(bytes.size(), std::size_t{5} << 20);
  for (std::size_t page = 40; page * 4096 < bytes.size(); ++page) {
    bytes.replace(page * 4096, 4096, 4096, '\xff');
  }
  folder.write("history.sqlite3", bytes);
  std::string note;
  Result<History> runs = open_here(folder, &note);
  ASSERT_TRUE(runs) << runs.error().message;
  EXPECT_EQ(note, "");
  const Result<StoredRun> last = runs->find("last");
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().kind, ErrorKind::malformed) << last.error().message;
  const Result<> moved = set_aside(folder.path(), last.error(), &note);
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_NE(note.find("history.sqlite3.unreadable"), std::string::npos) << note;
  EXPECT_TRUE(open_here(folder)->add(record("m", 20)));
}

TEST(HistoryFile, AGoodFileIsNeverSetAside) {
  const TestFolder folder;
  ASSERT_TRUE(open_here(folder)->add(record("m", 20)));
  std::string note;
  ASSERT_TRUE(set_aside(folder.path(), {ErrorKind::malformed, "somebody else's word", ""}, &note));
  EXPECT_EQ(note, "");
  EXPECT_FALSE(set_aside(folder.path(), {ErrorKind::timed_out, "held", ""}, &note));
  EXPECT_EQ(open_here(folder)->rows({})->size(), 1U);
  EXPECT_EQ(folder.names(), kOnlyTheFile);
}

TEST(HistoryFile, WhatIsNoFileIsAnError) {
  const TestFolder folder;
  ASSERT_EQ(::mkfifo(folder.database().c_str(), 0600), 0);
  std::string note;
  EXPECT_EQ(open_here(folder, &note).error().kind, ErrorKind::unsupported);
  fs::remove(folder.database());
  fs::create_directory(folder.database());
  EXPECT_EQ(open_here(folder, &note).error().kind, ErrorKind::unsupported);
  EXPECT_EQ(note, "");
  EXPECT_EQ(folder.names(), kOnlyTheFile);
}

// Of any size: a file system that refuses more is a full disk.
TEST(HistoryFile, AFullDiskCostsTheNewRunAlone) {
  const TestFolder folder;
  {
    Result<History> runs = open_here(folder);
    ASSERT_TRUE(runs);
    ASSERT_TRUE(runs->add(record("before", 20)));
  }
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    // The next run does not fit: neither into the file nor, below that, into the journal.
    const rlimit limit{fs::file_size(folder.database()), RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    RecordedRun run = record("after", 20);
    run.figures.why = std::string(200'000, 'x');
    Result<History> runs = open_here(folder);
    if (!runs) ::_exit(10);
    const auto id = runs->add(run);
    if (id) ::_exit(11);
    if (id.error().kind == ErrorKind::malformed) ::_exit(12);
    ::_exit(runs->rows({})->size() == 1 ? 0 : 13);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
  EXPECT_EQ(folder.names(), kOnlyTheFile);
  std::string note;
  Result<History> runs = open_here(folder, &note);
  ASSERT_TRUE(runs) << runs.error().message;
  EXPECT_EQ(note, "");
  EXPECT_EQ(runs->find("last")->run.figures.model, "before");
  EXPECT_TRUE(runs->add(record("after", 20)));
}

TEST(HistoryFile, AFullDiskBeforeTheFirstRun) {
  const TestFolder folder;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{0, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Result<History> runs = open_here(folder);
    ::_exit(!runs && runs.error().kind != ErrorKind::malformed ? 0 : 10);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
  Result<History> runs = open_here(folder);
  ASSERT_TRUE(runs) << runs.error().message;
  EXPECT_TRUE(runs->add(record("after", 20)));
  EXPECT_EQ(folder.names(), kOnlyTheFile);
}

TEST(HistoryFile, AFolderThatCannotBeWrittenIsRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root, whom no permission stops";
  const TestFolder folder;
  ASSERT_TRUE(open_here(folder)->add(record("m", 20)));
  fs::permissions(folder.database(), fs::perms(0400));
  fs::permissions(folder.path(), fs::perms(0500));
  const auto look = History::open_existing(folder.path(), nullptr);
  const bool read = look && *look;
  Result<History> runs = open_here(folder);
  const bool added = runs && runs->add(record("m", 20)).has_value();
  fs::permissions(folder.path(), fs::perms(0700));
  EXPECT_TRUE(read);
  EXPECT_FALSE(added);
  EXPECT_EQ(folder.names(), kOnlyTheFile);
}

TEST(HistoryFile, AFolderThatCannotBeMadeIsAnError) {
  const TestFolder folder;
  folder.write("file", "");
  const Result<History> runs = History::open(folder.file("file/cache"), nullptr);
  ASSERT_FALSE(runs);
  EXPECT_NE(runs.error().message, "");
}

}  // namespace
}  // namespace picchio::history
