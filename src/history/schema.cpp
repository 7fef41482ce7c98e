#include "history/schema.h"

#include "evidence/stored_run.h"
#include "history/figure_fields.h"
#include "history/record_json.h"

#include <array>
#include <utility>
#include <vector>

namespace picchio::history {
namespace {

// AUTOINCREMENT: "@12" is written into notes and scripts, and must not mean another run after 12
// was pruned. `content` is not unique: two runs that happen to be alike are two runs.
constexpr const char* kMakeRuns =
    "CREATE TABLE runs(id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL,"
    " content TEXT NOT NULL, record TEXT NOT NULL);"
    "CREATE INDEX runs_content ON runs(content);";

// The order is that of kColumns.
constexpr const char* kMakeFacts =
    "CREATE TABLE facts(run INTEGER PRIMARY KEY, at INTEGER NOT NULL, content TEXT, host TEXT,"
    " model_key TEXT, model_file TEXT, model TEXT, quant TEXT, protocol TEXT, engine TEXT,"
    " build TEXT, state TEXT, gpu_share REAL, prefill REAL, prefill_low REAL, prefill_high REAL,"
    " decode REAL, decode_low REAL, decode_high REAL, wallclock REAL, wallclock_low REAL,"
    " wallclock_high REAL, one_pass INTEGER, chip TEXT, gpu TEXT, driver TEXT, os TEXT,"
    " kv_type_k TEXT, kv_type_v TEXT, ram_gib REAL);"
    "CREATE INDEX facts_at ON facts(at, run, model);"
    "CREATE INDEX facts_model_key ON facts(model_key, at);"
    "CREATE INDEX facts_model_file ON facts(model_file, at);";

constexpr std::string_view kInsertFacts =
    "INSERT INTO facts VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,"
    "?20,?21,?22,?23,?24,?25,?26,?27,?28,?29,?30)";

constexpr std::string_view kColumns =
    "run,at,content,host,model_key,model_file,model,quant,protocol,engine,build,state,gpu_share,"
    "prefill,prefill_low,prefill_high,decode,decode_low,decode_high,wallclock,wallclock_low,"
    "wallclock_high,one_pass,chip,gpu,driver,os,kv_type_k,kv_type_v";

Result<> insert_facts(Statement& statement, std::int64_t id, const std::string& content,
                      const RecordedRun& run) {
  const StoredRow row = stored_row(id, content, run);
  int at = 1;
  statement.bind(at++, row.id);
  statement.bind(at++, std::int64_t{row.at.time_since_epoch().count()});
  for (const std::string* text : {&row.content, &row.host, &row.model_key, &run.model_file,
                                  &row.model, &row.quant, &row.protocol, &row.engine, &row.build}) {
    statement.bind(at++, *text);
  }
  if (row.state) {
    statement.bind(at++, name_of(*row.state));
  } else {
    statement.bind_null(at++);
  }
  statement.bind(at++, row.gpu_share);
  for (const StoredLane& lane : row.lanes) {
    for (const auto& value : {lane.value, lane.low, lane.high}) statement.bind(at++, value);
  }
  statement.bind(at++, std::int64_t{row.one_pass ? 1 : 0});
  for (const std::string* text :
       {&row.chip, &row.gpu, &row.driver, &row.os, &row.kv_type_k, &row.kv_type_v}) {
    statement.bind(at++, *text);
  }
  statement.bind(at++, run.figures.machine.ram_gib);
  return statement.run();
}

/// 1 to 2: the facts beside the records. A record of before that cannot be read has none, and no
/// query finds it; it stays in the file.
Result<> add_facts(Database& database) {
  if (const Result<> made = database.run(kMakeFacts); !made) return made;
  Result<Statement> insert = database.prepare(kInsertFacts);
  if (!insert) return std::unexpected(insert.error());
  Result<Statement> records = database.prepare("SELECT id, content, record FROM runs");
  if (!records) return std::unexpected(records.error());
  for (;;) {
    const Result<bool> more = records->step();
    if (!more) return std::unexpected(more.error());
    if (!*more) return {};
    const Result<RecordedRun> run = record_from_json(records->text(2));
    if (!run) continue;
    const Result<> done =
        insert_facts(*insert, records->whole(0), std::string(records->text(1)), *run);
    if (!done) return done;
  }
}

Result<> make_runs(Database& database) { return database.run(kMakeRuns); }

/// [n] makes schema n + 1 of schema n; 0 is the empty file.
constexpr std::array kMigrations = {make_runs, add_facts};
static_assert(kMigrations.size() == kSchema);

struct FileState {
  std::int64_t version = 0;
  std::int64_t application = 0;
  std::int64_t objects = 0;  // tables and indexes
  std::int64_t ours = 0;     // of the two tables
};

Result<FileState> state_of(Database& database) {
  FileState out;
  const std::array<std::pair<const char*, std::int64_t*>, 4> questions = {{
      {"PRAGMA user_version", &out.version},
      {"PRAGMA application_id", &out.application},
      {"SELECT count(*) FROM sqlite_schema", &out.objects},
      {"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('runs', 'facts')",
       &out.ours},
  }};
  for (const auto& [sql, value] : questions) {
    const Result<std::int64_t> number = database.number(sql);
    if (!number) return std::unexpected(number.error());
    *value = *number;
  }
  return out;
}

/// The answers belong together: another picchio may be making the tables just now.
Result<FileState> state_at_once(Database& database) {
  if (const Result<> begun = database.run("BEGIN"); !begun) return std::unexpected(begun.error());
  Result<FileState> out = state_of(database);
  const Result<> ended = database.run("COMMIT");
  if (out && !ended) return std::unexpected(ended.error());
  return out;
}

/// True: nothing is to be done.
Result<bool> is_current(const FileState& state, const std::string& path) {
  const bool empty = state.version == 0 && state.application == 0 && state.objects == 0;
  if (empty) return false;
  if (state.application != kApplication || state.version < 1) {
    return fail(ErrorKind::malformed, "'{}' is a database of another program", path);
  }
  if (state.version > kSchema) {
    return with_hint(fail(ErrorKind::unsupported,
                          "'{}' was written by a newer picchio: its schema is {}, and this one "
                          "knows up to {}",
                          path, state.version, kSchema),
                     "update this picchio, or export there and import here");
  }
  const std::int64_t wanted = state.version == 1 ? 1 : 2;
  if (state.ours != wanted) {
    return fail(ErrorKind::malformed, "'{}' has lost its tables", path);
  }
  return state.version == kSchema;
}

}  // namespace

Result<> bring_up_to_date(Database& database, const std::string& path) {
  Result<FileState> state = state_at_once(database);
  if (!state) return std::unexpected(state.error());
  Result<bool> current = is_current(*state, path);
  if (!current) return std::unexpected(current.error());
  if (*current) return {};
  // Of an empty file only: what prune takes away is given back without a copy of the whole file.
  if (state->version == 0) {
    if (const Result<> set = database.run("PRAGMA auto_vacuum = INCREMENTAL"); !set) return set;
  }
  Result<Transaction> transaction = Transaction::begin(database);
  if (!transaction) return std::unexpected(transaction.error());
  state = state_of(database);
  if (!state) return std::unexpected(state.error());
  current = is_current(*state, path);  // another picchio may have been first
  if (!current) return std::unexpected(current.error());
  for (std::int64_t version = state->version; version < kSchema; ++version) {
    const Result<> migrated = kMigrations[static_cast<std::size_t>(version)](database);
    if (!migrated) return migrated;
  }
  const std::string numbers =
      fmt::format("PRAGMA user_version = {}; PRAGMA application_id = {}", kSchema, kApplication);
  if (const Result<> set = database.run(numbers.c_str()); !set) return set;
  return transaction->commit();
}

Result<Inserter> Inserter::prepare(Database& database) {
  Result<Statement> run =
      database.prepare("INSERT INTO runs(at, content, record) VALUES(?1, ?2, ?3)");
  if (!run) return std::unexpected(run.error());
  Result<Statement> facts = database.prepare(kInsertFacts);
  if (!facts) return std::unexpected(facts.error());
  return Inserter(database, *std::move(run), *std::move(facts));
}

Result<std::int64_t> Inserter::insert(const std::string& content, const std::string& record,
                                      const RecordedRun& run) {
  run_.bind(1, std::int64_t{run.at.time_since_epoch().count()}).bind(2, content).bind(3, record);
  if (const Result<> done = run_.run(); !done) return std::unexpected(done.error());
  const std::int64_t id = database_->last_id();
  if (const Result<> done = insert_facts(facts_, id, content, run); !done) {
    return std::unexpected(done.error());
  }
  return id;
}

std::string_view row_columns() { return kColumns; }

StoredRow row_of(const Statement& row) {
  StoredRow out;
  int at = 0;
  out.id = row.whole(at++);
  out.at = Moment(std::chrono::microseconds(row.whole(at++)));
  std::string model_file;
  for (std::string* text : {&out.content, &out.host, &out.model_key, &model_file, &out.model,
                            &out.quant, &out.protocol, &out.engine, &out.build}) {
    *text = row.text(at++);
  }
  out.state = by_name<State>(kStates, row.text(at++));
  out.gpu_share = row.real(at++);
  for (StoredLane& lane : out.lanes) {
    lane.value = row.real(at++);
    lane.low = row.real(at++);
    lane.high = row.real(at++);
  }
  out.one_pass = row.whole(at++) != 0;
  for (std::string* text :
       {&out.chip, &out.gpu, &out.driver, &out.os, &out.kv_type_k, &out.kv_type_v}) {
    *text = row.text(at++);
  }
  return out;
}

}  // namespace picchio::history
