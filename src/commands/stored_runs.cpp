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
  const Result<std::optional<StoredRun>> run = with_history<std::optional<StoredRun>>(
      std::nullopt, [&](history::History& runs) -> Result<std::optional<StoredRun>> {
        Result<StoredRun> found = runs.find(id);
        if (!found) return std::unexpected(found.error());
        return std::optional(*std::move(found));
      });
  if (!run) return std::unexpected(run.error());
  if (!*run) return fail(ErrorKind::not_found, "nothing was measured here yet");
  return **run;
}

}  // namespace picchio
