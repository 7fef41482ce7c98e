#include "history/history.h"

#include "base/text.h"
#include "history/file.h"
#include "history/schema.h"
#include "os/digest.h"
#include "os/file.h"
#include "os/private_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <span>
#include <utility>

namespace picchio::history {
namespace {

constexpr std::size_t kContentDigits = 32;  // 128 bits name a run among all of a fleet
// Of a whole import, which is held in memory: 100,000 runs have some 300 MB.
constexpr std::size_t kMostImportBytes = std::size_t{1} << 30;
constexpr double kSameRamGib = 0.5;  // what a kernel keeps for itself changes with its version

Result<std::string> content_of(const std::string& record) {
  Result<std::string> digest = os::sha256_of(std::as_bytes(std::span(record)));
  if (digest) digest->resize(kContentDigits);
  return digest;
}

std::string select_rows(std::string_view rest) {
  return fmt::format("SELECT {} FROM facts {}", row_columns(), rest);
}

/// Everything of an import, read and checked before the file is locked: the source may be slow.
Result<std::vector<ImportedRecord>> read_all_lines(const LineSource& next) {
  std::vector<ImportedRecord> out;
  std::size_t bytes = 0;
  for (std::int64_t number = 1;; ++number) {
    const Result<std::optional<std::string_view>> read = next();
    if (!read && read.error().kind == ErrorKind::malformed) {
      return fail(ErrorKind::malformed, "line {}: {}", number, read.error().message);
    }
    if (!read) return std::unexpected(read.error());
    const std::optional<std::string_view>& line = *read;
    if (!line) return out;
    if (trim(*line).empty()) continue;
    Result<ImportedRecord> record = record_of_export_line(*line);
    if (!record) {
      return fail(ErrorKind::malformed, "line {} is no run: {}; nothing was imported", number,
                  record.error().message);
    }
    bytes += record->record.size();
    if (bytes > kMostImportBytes) {
      return fail(ErrorKind::unsupported, "more than {} MiB of runs at once",
                  kMostImportBytes >> 20);
    }
    if (record->content.empty()) {
      Result<std::string> content = content_of(record->record);
      if (!content) return std::unexpected(content.error());
      record->content = *std::move(content);
    }
    out.push_back(*std::move(record));
  }
}

}  // namespace

bool looks_like_run_id(std::string_view word) {
  if (word == "last") return true;
  if (!word.starts_with('@') || word.size() < 2) return false;
  return word.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

Result<> check_run_id(std::string_view id) {
  if (looks_like_run_id(id)) return {};
  return with_hint(fail(ErrorKind::unsupported, "'{}' names no run of the history", plain(id)),
                   "a run is @12 or last; 'picchio history' lists them");
}

Result<History> History::open_file(const std::string& path) {
  Result<Database> database = open_checked(path);
  if (!database) return std::unexpected(database.error());
  return History(*std::move(database), path);
}

Result<History> History::open(const std::string& cache_folder, std::string* note) {
  if (const Result<> made = os::make_dirs(cache_folder); !made) {
    return std::unexpected(made.error());
  }
  const std::string path = file_in(cache_folder);
  const auto make_and_open = [&]() -> Result<History> {
    if (const Result<> made = os::make_private_file(path); !made) {
      return std::unexpected(made.error());
    }
    return open_file(path);
  };
  Result<History> opened = make_and_open();
  if (opened || opened.error().kind != ErrorKind::malformed) return opened;
  if (const Result<> moved = set_aside(cache_folder, opened.error(), note); !moved) {
    return std::unexpected(moved.error());
  }
  return make_and_open();
}

Result<std::optional<History>> History::open_existing(const std::string& cache_folder,
                                                      std::string* note) {
  const std::string path = file_in(cache_folder);
  // What was only just made, or was never written for want of room, is no history yet; nor would
  // its tables be made for somebody who only looks.
  const Result<os::FileIdentity> there = os::file_identity(path);
  if (!there && there.error().kind == ErrorKind::not_found) return std::optional<History>();
  std::error_code ignored;
  if (there && there->size == 0 && std::filesystem::is_regular_file(path, ignored)) {
    return std::optional<History>();
  }
  Result<History> opened = open_file(path);
  if (!opened) {
    if (const Result<> moved = set_aside(cache_folder, opened.error(), note); !moved) {
      return std::unexpected(moved.error());
    }
    return std::optional<History>();
  }
  return std::optional<History>(*std::move(opened));
}

Result<std::int64_t> History::add(const RecordedRun& run) {
  const std::string record = record_to_json(run);
  if (record.size() > kMostRecordBytes) {
    return fail(ErrorKind::unsupported, "the record of this run has {} KiB, more than {}",
                record.size() >> 10, kMostRecordBytes >> 10);
  }
  const Result<std::string> content = content_of(record);
  if (!content) return std::unexpected(content.error());
  Result<std::int64_t> id = store(run, record, *content);
  if (!id) return undone(id.error());
  return id;
}

std::unexpected<Error> History::undone(Error error) const {
  (void)open_file(path_);
  return std::unexpected(std::move(error));
}

Result<std::int64_t> History::store(const RecordedRun& run, const std::string& record,
                                    const std::string& content) {
  Result<Transaction> transaction = Transaction::begin(database_);
  if (!transaction) return std::unexpected(transaction.error());
  Result<Inserter> inserter = Inserter::prepare(database_);
  if (!inserter) return std::unexpected(inserter.error());
  Result<std::int64_t> id = inserter->insert(content, record, run);
  if (!id) return id;
  if (const Result<> done = transaction->commit(); !done) return std::unexpected(done.error());
  return id;
}

Result<std::vector<StoredRow>> History::read_rows(Statement& statement) {
  std::vector<StoredRow> out;
  for (;;) {
    const Result<bool> more = statement.step();
    if (!more) return std::unexpected(more.error());
    if (!*more) return out;
    out.push_back(row_of(statement));
  }
}

Result<std::vector<StoredRow>> History::rows(const RowQuery& query) {
  constexpr std::string_view kNewestFirst = "ORDER BY at DESC, run DESC LIMIT ?2";
  const std::string_view place = query.before ? "(at, run) < (?3, ?4)" : "1";
  std::string sql;
  if (!query.model_file.empty()) {
    sql = fmt::format("WHERE model_file = ?1 AND {} {}", place, kNewestFirst);
  } else if (!query.model.empty()) {
    // The index facts_at holds all that this asks, so that no run is looked at but those shown.
    sql = fmt::format(
        "WHERE run IN (SELECT run FROM facts WHERE instr(lower(model), lower(?1)) > 0 AND {} {}) "
        "{}",
        place, kNewestFirst, kNewestFirst);
  } else {
    sql = fmt::format("WHERE {} {}", place, kNewestFirst);
  }
  Result<Statement> statement = database_.prepare(select_rows(sql));
  if (!statement) return std::unexpected(statement.error());
  const std::string& model = query.model_file.empty() ? query.model : query.model_file;
  if (!model.empty()) statement->bind(1, model);
  constexpr std::int64_t kAll = -1;
  statement->bind(2, query.most.value_or(kAll));
  if (const auto& before = query.before) {
    statement->bind(3, std::int64_t{before->at.time_since_epoch().count()}).bind(4, before->id);
  }
  return read_rows(*statement);
}

Result<> History::row_pages(RowQuery query,
                            const std::function<Result<>(std::span<const StoredRow> page)>& take) {
  constexpr std::int64_t kPage = 1000;  // some 1 MiB, read in 4 ms
  std::int64_t left = query.most.value_or(std::numeric_limits<std::int64_t>::max());
  while (left > 0) {
    query.most = std::min(left, kPage);
    const Result<std::vector<StoredRow>> page = rows(query);
    if (!page) return std::unexpected(page.error());
    if (page->empty()) return {};
    if (Result<> taken = take(*page); !taken) return taken;
    const StoredRow& last = page->back();
    query.before = RowQuery::Place{last.at, last.id};
    left -= static_cast<std::int64_t>(page->size());
    if (std::cmp_less(page->size(), kPage)) return {};
  }
  return {};
}

Result<StoredRun> History::find(std::string_view id) {
  if (const Result<> ok = check_run_id(id); !ok) return std::unexpected(ok.error());
  const bool last = id == "last";
  Result<Statement> statement =
      database_.prepare(last ? "SELECT id, content, record FROM runs WHERE id = "
                               "(SELECT run FROM facts ORDER BY at DESC, run DESC LIMIT 1)"
                             : "SELECT id, content, record FROM runs WHERE id = ?1");
  if (!statement) return std::unexpected(statement.error());
  const auto number = last ? std::optional<std::int64_t>(0) : parse_int(id.substr(1));
  if (!last && number) statement->bind(1, *number);
  const Result<bool> found = number ? statement->step() : Result<bool>(false);
  if (!found) return std::unexpected(found.error());
  if (!*found) {
    return with_hint(fail(ErrorKind::not_found, "the history holds no run '{}'", plain(id)),
                     "'picchio history' lists them");
  }
  StoredRun out;
  out.id = statement->whole(0);
  out.content = statement->text(1);
  Result<RecordedRun> run = record_from_json(statement->text(2));
  if (!run) {
    return fail(ErrorKind::failed, "run @{} of the history cannot be read: {}", out.id,
                run.error().message);
  }
  out.run = *std::move(run);
  return out;
}

Result<std::vector<StoredRow>> History::rows_like(const RecordedRun& run, std::string_view also,
                                                  std::int64_t most) {
  Result<Statement> statement = database_.prepare(select_rows(fmt::format(
      "WHERE model_key = ?1 AND protocol = ?2 AND host = ?3 AND chip = ?4 AND "
      "(ram_gib IS ?5 OR abs(ram_gib - ?5) < ?6) AND at < ?7 {} ORDER BY at DESC, run DESC LIMIT "
      "?8",
      also)));
  if (!statement) return std::unexpected(statement.error());
  statement->bind(1, run.model_key)
      .bind(2, run.figures.protocol)
      .bind(3, run.host)
      .bind(4, run.figures.machine.chip)
      .bind(5, run.figures.machine.ram_gib)
      .bind(6, kSameRamGib)
      .bind(7, std::int64_t{run.at.time_since_epoch().count()})
      .bind(8, most);
  return read_rows(*statement);
}

Result<std::vector<StoredRow>> History::earlier_than(const RecordedRun& run, std::int64_t most) {
  return rows_like(run, "AND one_pass = 0", most);
}

Result<std::vector<StoredRow>> History::newest_like(const RecordedRun& run) {
  return rows_like(run, "", 1);
}

Result<std::optional<StoredRow>> History::newest_with_kv(const std::string& model_file) {
  Result<Statement> statement = database_.prepare(
      select_rows("WHERE model_file = ?1 AND kv_type_k <> '' ORDER BY at DESC, run DESC LIMIT 1"));
  if (!statement) return std::unexpected(statement.error());
  statement->bind(1, model_file);
  Result<std::vector<StoredRow>> rows = read_rows(*statement);
  if (!rows) return std::unexpected(rows.error());
  if (rows->empty()) return std::optional<StoredRow>();
  return std::optional(std::move(rows->front()));
}

Result<std::int64_t> History::drop(const char* condition, std::int64_t value) {
  Result<Transaction> transaction = Transaction::begin(database_);
  if (!transaction) return std::unexpected(transaction.error());
  std::int64_t gone = 0;
  for (const std::string_view table : {"runs WHERE id", "facts WHERE run"}) {
    // The runs go first, so both look at the facts as they were.
    Result<Statement> statement = database_.prepare(
        fmt::format("DELETE FROM {} IN (SELECT run FROM facts {})", table, condition));
    if (!statement) return std::unexpected(statement.error());
    if (const Result<> done = statement->bind(1, value).run(); !done) {
      return std::unexpected(done.error());
    }
    gone = database_.changes();
  }
  if (const Result<> done = transaction->commit(); !done) return std::unexpected(done.error());
  // Their room is given back; what is not, the next runs use.
  if (const Result<> done = database_.run("PRAGMA incremental_vacuum"); !done) {
    return std::unexpected(done.error());
  }
  return gone;
}

Result<std::int64_t> History::keep_newest(std::int64_t keep) {
  return drop("ORDER BY at DESC, run DESC LIMIT -1 OFFSET ?1", keep);
}

Result<std::int64_t> History::drop_before(Moment at) {
  return drop("WHERE at < ?1", std::int64_t{at.time_since_epoch().count()});
}

Result<std::vector<std::int64_t>> History::export_lines(
    const std::function<Result<>(std::string_view line)>& take) {
  constexpr std::int64_t kAtOnce = 256;  // about 1 MiB
  Result<Statement> statement =
      database_.prepare("SELECT id, content, record FROM runs WHERE id > ?1 ORDER BY id LIMIT ?2");
  if (!statement) return std::unexpected(statement.error());
  statement->bind(1, std::int64_t{0}).bind(2, kAtOnce);
  std::vector<std::int64_t> damaged;
  for (;;) {
    std::vector<std::string> lines;
    std::int64_t last = 0;
    for (;;) {
      const Result<bool> more = statement->step();
      if (!more) return std::unexpected(more.error());
      if (!*more) break;
      last = statement->whole(0);
      if (record_from_json(statement->text(2))) {
        lines.push_back(export_line(statement->text(1), statement->text(2)));
      } else {
        damaged.push_back(last);
      }
    }
    if (last == 0) return damaged;
    for (const std::string& line : lines) {
      if (const Result<> taken = take(line); !taken) return std::unexpected(taken.error());
    }
    statement->bind(1, last);
  }
}

Result<Imported> History::import_lines(const LineSource& next) {
  const Result<std::vector<ImportedRecord>> records = read_all_lines(next);
  if (!records) return std::unexpected(records.error());
  Result<Imported> done = store_all(*records);
  if (!done) return undone(done.error());
  return done;
}

Result<Imported> History::store_all(const std::vector<ImportedRecord>& records) {
  Result<Transaction> transaction = Transaction::begin(database_);
  if (!transaction) return std::unexpected(transaction.error());
  Result<Inserter> inserter = Inserter::prepare(database_);
  if (!inserter) return std::unexpected(inserter.error());
  Result<Statement> known = database_.prepare("SELECT 1 FROM runs WHERE content = ?1");
  if (!known) return std::unexpected(known.error());
  Imported out;
  for (const ImportedRecord& record : records) {
    const Result<bool> found = known->bind(1, record.content).step();
    if (!found) return std::unexpected(found.error());
    known->reset();
    if (*found) {
      ++out.known;
      continue;
    }
    const auto id = inserter->insert(record.content, record.record, record.run);
    if (!id) return std::unexpected(id.error());
    ++out.added;
  }
  if (const Result<> done = transaction->commit(); !done) return std::unexpected(done.error());
  return out;
}

}  // namespace picchio::history
