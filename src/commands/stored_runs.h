// The user's history for commands that read it.
#pragma once

#include "base/result.h"
#include "commands/terminal.h"
#include "evidence/stored_run.h"
#include "history/history.h"
#include "os/file.h"

#include <functional>
#include <optional>
#include <string>

namespace picchio {

/// The run that "@12" or "last" names. What was done with a broken history stands on stderr.
[[nodiscard]] Result<StoredRun> stored_run(const std::string& id);

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
    Result<std::optional<history::History>> runs = user_history();
    if (!runs) return std::unexpected(runs.error());
    if (!*runs) return without;
    out = work(**runs);
  }
  if (out || out.error().kind != ErrorKind::malformed) return out;
  if (const Result<> gone = give_up_history(out.error()); !gone) {
    return std::unexpected(gone.error());
  }
  return without;
}

}  // namespace picchio
