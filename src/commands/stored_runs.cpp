#include "commands/stored_runs.h"

#include "base/text.h"

#include <fmt/format.h>

#include <utility>

namespace picchio {
namespace {

void say(const std::string& note) {
  if (!note.empty()) print_stderr(fmt::format("picchio: {}\n", plain(note)));
}

}  // namespace

Result<std::optional<history::History>> user_history() {
  const Result<std::string> folder = os::cache_dir();
  if (!folder) return std::unexpected(folder.error());
  std::string note;
  Result<std::optional<history::History>> out = history::History::open_existing(*folder, &note);
  say(note);
  return out;
}

Result<> give_up_history(const Error& broken) {
  const Result<std::string> folder = os::cache_dir();
  if (!folder) return std::unexpected(folder.error());
  std::string note;
  if (Result<> moved = history::set_aside(*folder, broken, &note); !moved) return moved;
  if (note.empty()) return std::unexpected(broken);
  say(note);
  return {};
}

Result<StoredRun> stored_run(const std::string& id) {
  if (const Result<> ok = history::check_run_id(id); !ok) return std::unexpected(ok.error());
  Result<std::optional<StoredRun>> read = with_history<std::optional<StoredRun>>(
      std::nullopt, [&](history::History& runs) -> Result<std::optional<StoredRun>> {
        Result<StoredRun> found = runs.find(id);
        if (!found) return std::unexpected(found.error());
        return std::optional(*std::move(found));
      });
  if (!read) return std::unexpected(read.error());
  std::optional<StoredRun>& run = *read;
  if (!run) return fail(ErrorKind::not_found, "nothing was measured here yet");
  return *std::move(run);
}

Result<std::vector<StoredRun>> newest_runs(std::int64_t most) {
  return with_history<std::vector<StoredRun>>(
      {}, [&](history::History& runs) -> Result<std::vector<StoredRun>> {
        history::RowQuery query;
        query.most = most;
        const Result<std::vector<StoredRow>> rows = runs.rows(query);
        if (!rows) return std::unexpected(rows.error());
        std::vector<StoredRun> out;
        for (const StoredRow& row : *rows) {
          Result<StoredRun> run = runs.find(fmt::format("@{}", row.id));
          if (!run && run.error().kind == ErrorKind::malformed) return std::unexpected(run.error());
          if (run) out.push_back(*std::move(run));
        }
        return out;
      });
}

}  // namespace picchio
