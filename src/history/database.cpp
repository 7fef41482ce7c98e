#include "history/database.h"

#include "base/text.h"

#include <sqlite3.h>

#include <limits>
#include <utility>

namespace picchio::history {
namespace {

// Of one value: a file that somebody made could hold one of a GiB.
constexpr int kMostValueBytes = 4 << 20;

ErrorKind kind_of(int code) {
  constexpr int kPrimary = 0xff;
  switch (code & kPrimary) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorKind::malformed;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorKind::timed_out;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return ErrorKind::denied;
    default:
      return ErrorKind::failed;
  }
}

std::unexpected<Error> failure(sqlite3* database, int code) {
  const char* name = sqlite3_db_filename(database, "main");
  return fail(kind_of(code), "cannot use '{}': {}", name == nullptr ? "" : name,
              lower(sqlite3_errmsg(database)));
}

int size_of(std::string_view text) {
  // What is longer than SQLite's own limit is refused by it.
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<int>::max());
  return static_cast<int>(std::min(text.size(), kMost));
}

}  // namespace

void Statement::Close::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

// A bind fails for a parameter that is not there, a bug, or for want of memory; then step() does.
Statement& Statement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
  return *this;
}
Statement& Statement::bind(int parameter, double value) {
  sqlite3_bind_double(statement_.get(), parameter, value);
  return *this;
}
Statement& Statement::bind(int parameter, std::string_view value) {
  // An empty view may have no address, which SQLite takes for NULL.
  sqlite3_bind_text(statement_.get(), parameter, value.empty() ? "" : value.data(), size_of(value),
                    SQLITE_TRANSIENT);  // NOLINT(performance-no-int-to-ptr): SQLite's own macro
  return *this;
}
Statement& Statement::bind_null(int parameter) {
  sqlite3_bind_null(statement_.get(), parameter);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  sqlite3* database = sqlite3_db_handle(statement_.get());
  if (code != SQLITE_DONE) {
    auto error = failure(database, code);
    sqlite3_reset(statement_.get());
    return error;
  }
  sqlite3_reset(statement_.get());
  return false;
}

Result<> Statement::run() {
  for (;;) {
    const Result<bool> more = step();
    if (!more) return std::unexpected(more.error());
    if (!*more) return {};
  }
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::int64_t Statement::whole(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
std::optional<double> Statement::real(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(statement_.get(), column);
}
std::string_view Statement::text(int column) const {
  // As a blob: its bytes and their count, whatever they are.
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<Database> Database::open(const std::string& path, int patience_ms) {
  sqlite3* handle = nullptr;
  // NOMUTEX: one thread uses a connection, and a lock for each column would cost half of a query.
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database out(handle);
  if (handle == nullptr) return fail(ErrorKind::failed, "cannot open '{}': no memory", path);
  if (code != SQLITE_OK) {
    return fail(kind_of(code), "cannot open '{}': {}", path, lower(sqlite3_errmsg(handle)));
  }
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, patience_ms);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMostValueBytes);
  // The file may be another's: nothing that stands in its schema runs, and nothing writes there.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  return out;
}

void Database::set_patience(int milliseconds) {
  sqlite3_busy_timeout(database_.get(), milliseconds);
}

Result<> Database::run(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(database_.get(), code);
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(database_.get(), sql.data(), size_of(sql), &statement, nullptr);
  if (code != SQLITE_OK) return failure(database_.get(), code);
  return Statement(statement);
}

Result<std::int64_t> Database::number(const char* sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement) return std::unexpected(statement.error());
  const Result<bool> row = statement->step();
  if (!row) return std::unexpected(row.error());
  return *row ? statement->whole(0) : 0;
}

std::int64_t Database::last_id() const { return sqlite3_last_insert_rowid(database_.get()); }
std::int64_t Database::changes() const { return sqlite3_changes64(database_.get()); }

Result<Transaction> Transaction::begin(Database& database) {
  if (const Result<> begun = database.run("BEGIN IMMEDIATE"); !begun) {
    return std::unexpected(begun.error());
  }
  return Transaction(database);
}

Result<> Transaction::commit() {
  if (Result<> done = database_->run("COMMIT"); !done) return done;  // the destructor rolls back
  database_ = nullptr;
  return {};
}

Transaction::~Transaction() {
  if (database_ == nullptr) return;
  // SQLite may have rolled back itself (a full disk), and then there is nothing left to do.
  (void)database_->run("ROLLBACK");
}

}  // namespace picchio::history
