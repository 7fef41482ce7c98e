#include "history/file.h"

#include "history/history.h"
#include "history/schema.h"
#include "os/private_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace picchio::history {
namespace {

namespace fs = std::filesystem;

// Runs of others end their transactions in milliseconds; an import of a whole fleet takes seconds.
constexpr int kPatienceMs = 30'000;
constexpr Micros kLockPatience = std::chrono::seconds(5);
// Some 1000 runs, looked through in 5 ms. A larger file is found broken where it is used.
constexpr std::uintmax_t kMostCheckedBytes = std::uintmax_t{4} << 20;
constexpr int kMostAside = 9;  // then the last one is written over

// DELETE: of all kinds of journal the one that leaves no file beside ours; WAL leaves two after a
// kill and needs shared memory, TRUNCATE and PERSIST always leave one. FULL: NORMAL can lose the
// whole file with the power on some file systems, and beside a run of seconds the flush costs
// nothing. Temporary tables stay in memory, so that no other folder sees what is ours.
constexpr const char* kSettings =
    "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;"
    "PRAGMA cell_size_check = ON";

Result<> quick_check(Database& database, const std::string& path) {
  Result<Statement> check = database.prepare("PRAGMA quick_check(1)");
  if (!check) return std::unexpected(check.error());
  const Result<bool> row = check->step();
  if (!row) return std::unexpected(row.error());
  if (*row && check->text(0) == "ok") return {};
  return fail(ErrorKind::malformed, "'{}' is damaged", path);
}

/// SQLite reads what is cut off the last page as zeros. Inside a transaction nobody writes pages.
Result<> check_length(Database& database, const std::string& path) {
  if (const Result<> begun = database.run("BEGIN"); !begun) return begun;
  const Result<std::int64_t> pages = database.number("PRAGMA page_count");
  const Result<std::int64_t> page = database.number("PRAGMA page_size");
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (const Result<> ended = database.run("COMMIT"); !ended) return ended;
  if (!pages) return std::unexpected(pages.error());
  if (!page) return std::unexpected(page.error());
  if (error || std::cmp_greater_equal(bytes, *pages * *page)) return {};
  return fail(ErrorKind::malformed, "'{}' is cut off", path);
}

/// A picchio that was killed before it had written the first page leaves a journal from which
/// nothing is to be played back, and SQLite lets it lie until somebody writes. So something is
/// written: the number that stands there. A journal of somebody who writes just now is that
/// writer's.
void drop_dead_journal(Database& database, const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path + "-journal", ignored)) return;
  database.set_patience(0);
  if (auto transaction = Transaction::begin(database)) {
    const std::string same = fmt::format("PRAGMA user_version = {}", kSchema);
    if (database.run(same.c_str())) (void)transaction->commit();
  }
  database.set_patience(kPatienceMs);
}

/// What is shorter than any database is an empty one to SQLite, which would write over it.
bool is_stub(const std::string& path) {
  constexpr std::uintmax_t kSmallestPage = 512;
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  return !error && bytes > 0 && bytes < kSmallestPage;
}

Result<Database> open_current(const std::string& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    return fail(ErrorKind::unsupported, "'{}' is not a regular file", path);
  }
  if (is_stub(path)) return fail(ErrorKind::malformed, "'{}' is no database", path);
  Result<Database> database = Database::open(path, kPatienceMs);
  if (!database) return database;
  if (const Result<> set = database->run(kSettings); !set) return std::unexpected(set.error());
  if (const Result<> ok = bring_up_to_date(*database, path); !ok) {
    return std::unexpected(ok.error());
  }
  if (const Result<> ok = check_length(*database, path); !ok) return std::unexpected(ok.error());
  drop_dead_journal(*database, path);
  return database;
}

bool is_broken(const std::string& path) {
  Result<Database> database = open_current(path);
  const Result<> whole =
      database ? quick_check(*database, path) : Result<>(std::unexpected(database.error()));
  return !whole && whole.error().kind == ErrorKind::malformed;
}

std::string free_name(const std::string& path) {
  std::error_code ignored;
  std::string name = path + ".unreadable";
  for (int number = 2; number <= kMostAside && fs::exists(name, ignored); ++number) {
    name = fmt::format("{}.unreadable-{}", path, number);
  }
  return name;
}

}  // namespace

std::string file_in(const std::string& cache_folder) {
  return fmt::format("{}/{}", cache_folder, kFileName);
}

Result<Database> open_checked(const std::string& path) {
  Result<Database> database = open_current(path);
  if (!database) return database;
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (!error && bytes <= kMostCheckedBytes) {
    if (const Result<> whole = quick_check(*database, path); !whole) {
      return std::unexpected(whole.error());
    }
  }
  return database;
}

// It is not thrown away: `sqlite3 FILE .recover` may save what it holds.
Result<> set_aside(const std::string& cache_folder, const Error& broken, std::string* note) {
  if (broken.kind != ErrorKind::malformed) return std::unexpected(broken);
  // Several picchios may find it broken at once; the second must not move what the first made anew.
  const Result<os::UniqueFd> lock = os::lock_folder(cache_folder, kLockPatience);
  if (!lock) return std::unexpected(lock.error());
  const std::string path = file_in(cache_folder);
  if (!is_broken(path)) return {};
  const std::string aside = free_name(path);
  std::error_code error;
  // The journal goes along, and goes first: it must never be played back into a new file.
  fs::rename(path + "-journal", aside + "-journal", error);
  fs::rename(path, aside, error);
  if (error) {
    return fail(ErrorKind::failed, "{}, and it cannot be moved aside: {}", broken.message,
                error.message());
  }
  (void)os::make_private_file(aside);  // what others might have read before, they do no more
  if (note != nullptr) *note = fmt::format("{}; moved to '{}'", broken.message, aside);
  return {};
}

}  // namespace picchio::history
