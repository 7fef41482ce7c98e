// The tables of the history, by number, and how an older file becomes today's.
//
// `runs` holds each run whole, as record_json.h writes it, and is the truth. `facts` holds what
// queries ask for, taken from the records, so that no query reads them: a migration that needs
// another column makes the table anew.
#pragma once

#include "base/result.h"
#include "evidence/stored_run.h"
#include "history/database.h"

#include <cstdint>
#include <string>

namespace picchio::history {

/// PRAGMA user_version.
inline constexpr std::int64_t kSchema = 2;
/// PRAGMA application_id: "picc". No other program's database is taken for ours.
inline constexpr std::int64_t kApplication = 0x70696363;

/// Makes the tables in an empty file and migrates an older one, in one transaction. Errors of kind
/// malformed: not ours, or its tables are not there; of kind unsupported: a newer picchio's, which
/// is left untouched.
[[nodiscard]] Result<> bring_up_to_date(Database& database, const std::string& path);

/// Puts runs into both tables; inside a transaction of the caller's.
class Inserter {
 public:
  [[nodiscard]] static Result<Inserter> prepare(Database& database);

  /// `record` is what record_to_json() made of `run`, or an import brought. Returns the new id.
  [[nodiscard]] Result<std::int64_t> insert(const std::string& content, const std::string& record,
                                            const RecordedRun& run);

 private:
  Inserter(Database& database, Statement run, Statement facts)
      : database_(&database), run_(std::move(run)), facts_(std::move(facts)) {}

  Database* database_;
  Statement run_;
  Statement facts_;
};

/// The columns that a StoredRow is made of, for "SELECT ... FROM facts", and how to read them.
[[nodiscard]] std::string_view row_columns();
[[nodiscard]] StoredRow row_of(const Statement& row);

}  // namespace picchio::history
