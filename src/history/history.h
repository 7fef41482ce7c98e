// What this machine measured before: history.sqlite3 in picchio's cache folder, one row for each
// measuring run. For comparison, never for a verdict.
//
// The file is its owner's alone (0600). No other file is left beside it: the journal of a
// transaction is there while it runs, and after a kill until the next picchio has rolled back what
// was not finished. Any number of picchios may write at once; each waits for the others.
#pragma once

#include "base/result.h"
#include "evidence/stored_run.h"
#include "history/database.h"
#include "history/record_json.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::history {

inline constexpr std::string_view kFileName = "history.sqlite3";

struct RowQuery {
  std::string model;                 // part of its name, in any case; empty: every model
  std::string model_file;            // or: runs of this very file (real path)
  std::optional<std::int64_t> most;  // absent: all
  /// Only what was measured before this run, which is the last of the page before.
  struct Place {
    Moment at{};
    std::int64_t id = 0;
  };
  std::optional<Place> before = {};
};

struct Imported {
  std::int64_t added = 0;
  std::int64_t known = 0;  // were there already
};

/// A line without its end, which lives until the next call; nullopt: the end.
using LineSource = std::function<Result<std::optional<std::string_view>>()>;

class History {
 public:
  /// Makes folder and file where they are not there. A file that is broken, or no history, is moved
  /// aside first, and `note` says so in one line; one of a newer picchio is an error of kind
  /// unsupported and stays as it is.
  [[nodiscard]] static Result<History> open(const std::string& cache_folder, std::string* note);

  /// The same, but absent where nothing was measured yet, and after a broken file was moved aside.
  [[nodiscard]] static Result<std::optional<History>> open_existing(const std::string& cache_folder,
                                                                    std::string* note);

  /// Returns its id.
  [[nodiscard]] Result<std::int64_t> add(const RecordedRun& run);

  /// Newest first.
  [[nodiscard]] Result<std::vector<StoredRow>> rows(const RowQuery& query);

  /// The same handed over in pages, so that a long list is neither one long query nor held whole.
  /// No lock is held while `take` works.
  [[nodiscard]] Result<> row_pages(
      RowQuery query, const std::function<Result<>(std::span<const StoredRow> page)>& take);

  /// "@12", or "last": the newest. Everything else, and a run that is not there, is an error.
  [[nodiscard]] Result<StoredRun> find(std::string_view id);

  /// The newest runs of the same model, protocol and machine that have warm passes; newest first.
  [[nodiscard]] Result<std::vector<StoredRow>> earlier_than(const RecordedRun& run,
                                                            std::int64_t most);

  /// The newest run of the same model, protocol and machine, warm passes or not; none: empty.
  [[nodiscard]] Result<std::vector<StoredRow>> newest_like(const RecordedRun& run);

  /// The newest run of a model file (real path) whose engine told how it stored the KV cache.
  [[nodiscard]] Result<std::optional<StoredRow>> newest_with_kv(const std::string& model_file);

  /// Takes away all but the newest; returns how many went.
  [[nodiscard]] Result<std::int64_t> keep_newest(std::int64_t keep);
  [[nodiscard]] Result<std::int64_t> drop_before(Moment at);

  /// Hands over the lines of an export without their ends, oldest id first. No lock is held while
  /// `take` works: who reads an export in a pager stops nobody's run. Returns the ids of records
  /// that are damaged and were left out: one of them would keep the whole export from being
  /// imported.
  [[nodiscard]] Result<std::vector<std::int64_t>> export_lines(
      const std::function<Result<>(std::string_view line)>& take);

  /// All lines or none. An error names the line.
  [[nodiscard]] Result<Imported> import_lines(const LineSource& next);

 private:
  History(Database database, std::string path)
      : database_(std::move(database)), path_(std::move(path)) {}
  [[nodiscard]] static Result<History> open_file(const std::string& path);
  [[nodiscard]] Result<std::vector<StoredRow>> read_rows(Statement& statement);
  [[nodiscard]] Result<std::vector<StoredRow>> rows_like(const RecordedRun& run,
                                                         std::string_view also, std::int64_t most);
  [[nodiscard]] Result<std::int64_t> drop(const char* condition, std::int64_t value);
  [[nodiscard]] Result<Imported> store_all(const std::vector<ImportedRecord>& records);
  [[nodiscard]] Result<std::int64_t> store(const RecordedRun& run, const std::string& record,
                                           const std::string& content);
  /// Hands `error` back. After a full disk SQLite leaves the undoing to whoever opens the file
  /// next.
  [[nodiscard]] std::unexpected<Error> undone(Error error) const;

  Database database_;
  std::string path_;
};

/// "@12" or "last": what find() understands, as against the name of a file.
[[nodiscard]] bool looks_like_run_id(std::string_view word);
/// The same as an error that tells what an id looks like.
[[nodiscard]] Result<> check_run_id(std::string_view id);

/// For a file that proves broken only while it is used (error of kind malformed): moves it aside
/// like open() does. Any other error is handed back.
[[nodiscard]] Result<> set_aside(const std::string& cache_folder, const Error& broken,
                                 std::string* note);

}  // namespace picchio::history
