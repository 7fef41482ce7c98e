// SQLite behind two owners: a database and a statement. Errors are of kind malformed when the file
// is broken or no database, timed_out when others hold it, and otherwise failures of the disk.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace picchio::history {

/// One prepared statement; must not outlive its database. Parameters count from 1 and are copied;
/// columns count from 0. A text lives until the next step().
class Statement {
 public:
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, double value);
  Statement& bind(int parameter, std::string_view value);
  template <class T>
  Statement& bind(int parameter, const std::optional<T>& value) {
    return value ? bind(parameter, *value) : bind_null(parameter);
  }
  Statement& bind_null(int parameter);

  /// True: a row is there. False: it is done; the next step begins anew, with the same parameters.
  [[nodiscard]] Result<bool> step();
  /// For what has no rows, or none that matter.
  [[nodiscard]] Result<> run();
  void reset();

  [[nodiscard]] std::int64_t whole(int column) const;
  [[nodiscard]] std::optional<double> real(int column) const;
  [[nodiscard]] std::string_view text(int column) const;

 private:
  friend class Database;
  struct Close {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  std::unique_ptr<sqlite3_stmt, Close> statement_;
};

class Database {
 public:
  /// The file must be there; one that may not be written is opened for reading. Waits for locks of
  /// other processes up to `patience_ms`.
  [[nodiscard]] static Result<Database> open(const std::string& path, int patience_ms);

  /// How long locks of other processes are waited for from now on.
  void set_patience(int milliseconds);

  [[nodiscard]] Result<> run(const char* sql);  // one or several, without parameters
  [[nodiscard]] Result<Statement> prepare(std::string_view sql);
  /// The only column of the only row of a query.
  [[nodiscard]] Result<std::int64_t> number(const char* sql);
  [[nodiscard]] std::int64_t last_id() const;
  [[nodiscard]] std::int64_t changes() const;  // rows of the last statement

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}

  std::unique_ptr<sqlite3, Close> database_;
};

/// BEGIN IMMEDIATE, so that what is read inside is what is written upon, and a rollback unless
/// commit() was reached.
class Transaction {
 public:
  [[nodiscard]] static Result<Transaction> begin(Database& database);
  [[nodiscard]] Result<> commit();

  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

 private:
  explicit Transaction(Database& database) : database_(&database) {}

  Database* database_;
};

}  // namespace picchio::history
