#include "history/history.h"

#include "base/text.h"
#include "commands/command.h"
#include "commands/history_lines.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/stored_runs.h"
#include "commands/terminal.h"
#include "history/record_json.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/file_in_parts.h"
#include "report/history.h"
#include "report/run_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <functional>
#include <utility>

namespace picchio {
namespace {

using history::History;

constexpr std::int64_t kDefaultRows = 20;
constexpr std::int64_t kMostRows = 10'000'000;

/// As the reader's clock shows it.
std::string local_minute(Moment at) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
  std::tm local{};
  if (::localtime_r(&seconds, &local) == nullptr) return to_rfc3339(at);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", local.tm_year + 1900, local.tm_mon + 1,
                     local.tm_mday, local.tm_hour, local.tm_min);
}

void say(std::string_view text) { print_stderr(fmt::format("picchio: {}\n", plain(text))); }

Result<> no_rest(const Arguments& arguments) {
  if (!arguments.has_rest) return {};
  return fail(ErrorKind::unsupported, "history takes no arguments behind '--'");
}

// --- picchio history [MODEL] ---------------------------------------------------------------------

struct ListOptions {
  std::string model;
  std::int64_t limit = kDefaultRows;
  bool json = false;
  std::optional<RowFormat> format;
};

history::RowQuery query_of(const ListOptions& options) {
  history::RowQuery out;
  out.model = options.model;
  // What is a file here is meant as that file, not as a part of a name.
  if (options.model.find('/') != std::string::npos) {
    out.model_file = os::real_path(options.model).value_or("");
  }
  return out;
}

ExitCode print_rows(std::vector<StoredRow> rows, const ListOptions& options) {
  const bool more = std::cmp_greater(rows.size(), options.limit);
  if (more) rows.resize(static_cast<std::size_t>(options.limit));
  if (options.json) return print_product(history_json(rows, more) + "\n", ExitCode::ok);
  if (rows.empty()) {
    say(options.model.empty() ? "nothing was measured here yet"
                              : fmt::format("no run of a model called '{}' here", options.model));
    return ExitCode::ok;
  }
  const ExitCode code = print_product(history_table(rows, local_minute), ExitCode::ok);
  if (more) say(fmt::format("the newest {}; --limit N shows more", options.limit));
  return code;
}

/// Rows as they are read: there may be hundred thousands.
ExitCode print_formatted(const ListOptions& options, RowFormat format) {
  RowWriter writer(format, kRunTable, run_columns());
  Result<> printed = print_stdout(writer.begin());
  if (printed) {
    const Result<bool> done = with_history<bool>(false, [&](History& runs) -> Result<bool> {
      history::RowQuery query = query_of(options);
      query.most = options.limit;
      const Result<> all = runs.row_pages(query, [&](std::span<const StoredRow> page) -> Result<> {
        std::string text;
        for (const StoredRow& row : page) text += writer.row(run_cells(row));
        printed = print_stdout(text);
        return printed;
      });
      if (!all && printed) return std::unexpected(all.error());
      return true;
    });
    if (!done) return fail_with(done.error());
  }
  if (printed) printed = print_stdout(writer.end());
  return after_printing(printed, ExitCode::ok);
}

std::string subcommand_table();

ExitCode list(const Arguments& arguments) {
  ListOptions options;
  CLI::App app(
      "Lists what was measured on this machine, newest first. The rates are the medians of the "
      "warm\n"
      "passes, tokens per second.",
      "picchio history");
  app.add_option("MODEL", options.model, "only models with this in their name; or a file's path");
  app.add_option("--limit", options.limit, "how many at most (20)")
      ->check(CLI::Range(std::int64_t{1}, kMostRows));
  app.add_flag("--json", options.json, "JSON, with ranges, machine and driver");
  add_row_format(app, options.format);
  bool csv = false;
  app.add_flag("--csv", csv, "the same as -o csv");
  app.footer(subcommand_table() +
             examples({"picchio history", "picchio history qwen3 --limit 100 --csv > runs.csv",
                       "picchio history -o sql | sqlite3 runs.db", "picchio history show last",
                       "picchio history export runs.jsonl"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  if (const Result<> ok = no_rest(arguments); !ok) return fail_with(ok.error());
  if (static_cast<int>(options.json) + static_cast<int>(csv) +
          static_cast<int>(options.format.has_value()) >
      1) {
    return fail_with({ErrorKind::unsupported, "--json, --csv and -o are three products", ""});
  }
  if (csv) options.format = RowFormat::csv;
  if (options.format) return print_formatted(options, *options.format);
  Result<std::vector<StoredRow>> rows =
      with_history<std::vector<StoredRow>>({}, [&](History& runs) {
        history::RowQuery query = query_of(options);
        query.most = options.limit + 1;  // one more than is shown tells that there are more
        return runs.rows(query);
      });
  if (!rows) return fail_with(rows.error());
  return print_rows(*std::move(rows), options);
}

// --- picchio history show ------------------------------------------------------------------------

ExitCode print_block(const StoredRun& run) {
  if (run.run.block.empty()) {
    return fail_with(
        {ErrorKind::not_found, fmt::format("no block was kept of run @{}", run.id), ""});
  }
  // It may come from another machine's export.
  std::string out;
  for (const std::string_view line : split_lines(run.run.block)) out += plain_line(line) + "\n";
  return print_product(out, ExitCode::ok);
}

ExitCode show(const Arguments& arguments) {
  std::string id = "last";
  bool json = false;
  bool as_block = false;
  CLI::App app("Prints all that is kept of a run.", "picchio history show");
  app.add_option("RUN", id, "@12, or last (the default)");
  app.add_flag("--json", json, "the record as it would be exported");
  app.add_flag("--block", as_block, "the block as it was printed, to paste");
  app.footer(examples({"picchio history show", "picchio history show @12 --block",
                       "picchio history show @12 --json"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  if (const Result<> ok = no_rest(arguments); !ok) return fail_with(ok.error());
  if (json && as_block) {
    return fail_with({ErrorKind::unsupported, "--json and --block are two products", ""});
  }
  const Result<StoredRun> run = stored_run(id);
  if (!run) return fail_with(run.error());
  if (as_block) return print_block(*run);
  if (!json) return print_product(stored_run_text(*run, local_minute), ExitCode::ok);
  const std::string record = history::record_to_json(run->run);
  return print_product(history::export_line(run->content, record) + "\n", ExitCode::ok);
}

// --- picchio history prune -----------------------------------------------------------------------

/// "90d", "36h", "8w"; absent: none.
std::optional<std::chrono::hours> age_of(std::string_view text) {
  struct Unit {
    char letter;
    std::int64_t hours;
  };
  constexpr std::array kUnits = {Unit{'h', 1}, Unit{'d', 24}, Unit{'w', std::int64_t{7} * 24}};
  constexpr std::int64_t kMost = 1'000'000;
  if (text.empty()) return std::nullopt;
  const auto unit = std::ranges::find(kUnits, text.back(), &Unit::letter);
  const auto number = parse_int(text.substr(0, text.size() - 1));
  if (unit == kUnits.end() || !number || *number < 0 || *number > kMost) return std::nullopt;
  return std::chrono::hours(*number * unit->hours);
}

ExitCode prune(const Arguments& arguments) {
  std::optional<std::int64_t> keep;
  std::string older;
  CLI::App app("Takes runs out of the history.", "picchio history prune");
  app.add_option("--keep", keep, "keep the newest N")
      ->check(CLI::Range(std::int64_t{0}, kMostRows));
  app.add_option("--older-than", older, "take out what is older: 90d, 36h, 8w");
  app.footer(
      examples({"picchio history prune --keep 1000", "picchio history prune --older-than 90d"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  if (const Result<> ok = no_rest(arguments); !ok) return fail_with(ok.error());
  if (keep.has_value() == !older.empty()) {
    return fail_with({ErrorKind::unsupported, "prune wants --keep N or --older-than AGE", ""});
  }
  const auto age = age_of(older);
  if (!older.empty() && !age) {
    return fail_with({ErrorKind::unsupported, fmt::format("'{}' is no age", older),
                      "a number with h, d or w: --older-than 90d"});
  }
  const auto now = os::wall_clock();
  const Result<std::int64_t> gone = with_history<std::int64_t>(0, [&](History& runs) {
    return keep ? runs.keep_newest(*keep) : runs.drop_before(now - *age);
  });
  if (!gone) return fail_with(gone.error());
  say(fmt::format("{} run{} taken out", *gone, *gone == 1 ? "" : "s"));
  return ExitCode::ok;
}

// --- picchio history export, import --------------------------------------------------------------

struct Exported {
  std::int64_t lines = 0;
  std::vector<std::int64_t> damaged;  // ids
};

Result<Exported> export_to(History& runs, const os::PartWriter& write) {
  Exported out;
  Result<std::vector<std::int64_t>> done = runs.export_lines([&](std::string_view line) {
    ++out.lines;
    return write(std::string(line) + '\n');
  });
  if (!done) return std::unexpected(done.error());
  out.damaged = *std::move(done);
  return out;
}

/// An export over the history itself would destroy it.
Result<> check_target(const std::string& file) {
  const Result<std::string> folder = os::cache_dir();
  if (!folder || file == "-") return {};
  const std::string kept = fmt::format("{}/{}", *folder, history::kFileName);
  const auto target = os::file_identity(file);
  const auto own = os::file_identity(kept);
  const bool same = target && own && target->inode == own->inode && target->device == own->device;
  const std::string path = os::real_path(file).value_or(file);
  if (!same && path != os::real_path(kept).value_or(kept) + "-journal") return {};
  return with_hint(fail(ErrorKind::unsupported, "'{}' is the history itself", plain(file)),
                   "export into another file: picchio history export runs.jsonl");
}

Result<std::optional<Exported>> export_history(const std::string& file) {
  return with_history<std::optional<Exported>>(
      std::nullopt, [&](History& runs) -> Result<std::optional<Exported>> {
        Result<Exported> done = Exported{};
        if (file == "-") {
          done = export_to(runs, print_stdout);
        } else {
          const Result<> written =
              os::write_file_in_parts(file, [&](const os::PartWriter& write) -> Result<> {
                done = export_to(runs, write);
                if (!done) return std::unexpected(done.error());
                return {};
              });
          if (!written) return std::unexpected(written.error());
        }
        if (!done) return std::unexpected(done.error());
        return std::optional(*std::move(done));
      });
}

ExitCode export_runs(const Arguments& arguments) {
  std::string file = "-";
  CLI::App app(
      "Writes every run as one line of JSON (schema picchio.history.v1), to be imported elsewhere. "
      "Names of\nthe machine and paths of models stand in it.",
      "picchio history export");
  app.add_option("FILE", file, "where to; standard output by default");
  app.footer(examples({"picchio history export runs.jsonl",
                       "picchio history export | ssh hub picchio history import -"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  if (const Result<> ok = no_rest(arguments); !ok) return fail_with(ok.error());
  if (const Result<> ok = check_target(file); !ok) return fail_with(ok.error());
  const Result<std::optional<Exported>> read = export_history(file);
  if (!read) {
    // Whoever reads with head has seen enough.
    if (file == "-" && read.error().kind == ErrorKind::interrupted) return ExitCode::could_not_run;
    return fail_with(read.error());
  }
  const std::optional<Exported>& done = *read;
  if (!done) {
    return fail_with({ErrorKind::not_found, "there is no run here to export",
                      file == "-" ? "" : fmt::format("'{}' is left as it was", plain(file))});
  }
  say(fmt::format("{} run{} exported", done->lines, done->lines == 1 ? "" : "s"));
  if (done->damaged.empty()) return ExitCode::ok;
  constexpr std::size_t kShown = 10;
  const std::span<const std::int64_t> all(done->damaged);
  say(fmt::format("left out, for their records are damaged: @{}{}",
                  fmt::join(all.first(std::min(kShown, all.size())), ", @"),
                  all.size() > kShown ? fmt::format(" and {} more", all.size() - kShown) : ""));
  return ExitCode::could_not_run;
}

ExitCode import_runs(const Arguments& arguments) {
  std::string file;
  CLI::App app(
      "Adds the runs of another machine's export. Those that are here already are skipped; a line "
      "that is no\nrun is refused, and then nothing is imported.",
      "picchio history import");
  app.add_option("FILE", file, "what 'picchio history export' wrote; '-' for standard input")
      ->required();
  app.footer(examples({"picchio history import runs.jsonl",
                       "cat */runs.jsonl | picchio history "
                       "import -"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  if (const Result<> ok = no_rest(arguments); !ok) return fail_with(ok.error());
  const Result<os::Interrupts> interrupts = os::Interrupts::install();
  if (!interrupts) return fail_with(interrupts.error());
  const Result<std::string> folder = os::cache_dir();
  if (!folder) return fail_with(folder.error());
  std::string note;
  Result<History> runs = History::open(*folder, &note);
  if (!note.empty()) say(note);
  if (!runs) return fail_with(runs.error());
  const Result<history::Imported> done =
      runs->import_lines(lines_of(file, history::kMostLineBytes, *interrupts));
  if (!done) {
    Error error = done.error();
    if (error.kind == ErrorKind::malformed) {
      error.message = fmt::format("cannot import '{}': {}", file, error.message);
    }
    return fail_with(error);
  }
  say(fmt::format("{} run{} imported, {} known already", done->added, done->added == 1 ? "" : "s",
                  done->known));
  return ExitCode::ok;
}

constexpr std::array kSubcommands = {
    Command{"show", "all that is kept of a run", show},
    Command{"prune", "take out old runs", prune},
    Command{"export", "write all runs as lines of JSON", export_runs},
    Command{"import", "add the runs of an export", import_runs},
};

std::string subcommand_table() {
  std::string out = "Commands:";
  for (const Command& command : kSubcommands) {
    out += fmt::format("\n  {:<8} {}", command.name, command.help);
  }
  return out + "\n\n";
}

}  // namespace

ExitCode history_command(const Arguments& arguments) {
  if (!arguments.words.empty()) {
    const auto row = std::ranges::find(kSubcommands, arguments.words.front(), &Command::name);
    if (row != kSubcommands.end()) {
      Arguments rest = arguments;
      rest.words.erase(rest.words.begin());
      return row->run(rest);
    }
  }
  return list(arguments);
}

}  // namespace picchio
