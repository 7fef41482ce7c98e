// The user's history for commands that read it.
#pragma once

#include "base/result.h"
#include "commands/terminal.h"
#include "evidence/stored_run.h"
#include "history/history.h"
#include "os/file.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace picchio {

/// The run that "@12" or "last" names. What was done with a broken history stands on stderr.
[[nodiscard]] Result<StoredRun> stored_run(const std::string& id);

/// The newest runs, newest first; those that cannot be read are left out. None: nothing was
/// measured.
[[nodiscard]] Result<std::vector<StoredRun>> newest_runs(std::int64_t most);

/// The user's history, absent where nothing was measured yet; a broken one is moved aside, which is
/// said on stderr.
[[nodiscard]] Result<std::optional<history::History>> user_history();

/// For a history that proved broken while it was used: moves it aside, and says so. Handed back is
/// any other error, and this one where the file was found to be whole.
[[nodiscard]] Result<> give_up_history(const Error& broken);

/// Does `work` on the user's history; `without` where there is none, or none any more.
template <class T>
[[nodiscard]] Result<T> with_history(T without,
                                     const std::function<Result<T>(history::History& runs)>& work) {
  Result<T> out = without;
  {
    Result<std::optional<history::History>> opened = user_history();
    if (!opened) return std::unexpected(opened.error());
    std::optional<history::History>& runs = *opened;
    if (!runs) return without;
    out = work(*runs);
  }
  if (out || out.error().kind != ErrorKind::malformed) return out;
  if (const Result<> gone = give_up_history(out.error()); !gone) {
    return std::unexpected(gone.error());
  }
  return without;
}

}  // namespace picchio
