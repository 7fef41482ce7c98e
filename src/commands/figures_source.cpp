#include "commands/figures_source.h"

#include "base/text.h"
#include "commands/read_run.h"
#include "kept/folder.h"
#include "os/file.h"
#include "report/figures.h"
#include "results/read_figures.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace picchio {
namespace {

// A thread of a forum with a hundred blocks is a megabyte.
constexpr std::int64_t kMostTextBytes = std::int64_t{16} << 20;

Error about(const std::string& source, Error error) {
  const std::string name = source == "-" ? "standard input" : fmt::format("'{}'", source);
  error.message = fmt::format("{} cannot be read as a run: {}", name, error.message);
  return error;
}

}  // namespace

Result<std::string> pasted_text_from(const std::string& source) {
  if (source == "-") return os::read_all(0, kMostTextBytes, "standard input");
  return os::read_file(source, kMostTextBytes);
}

Result<std::vector<RunFigures>> figures_from(const std::string& source) {
  std::error_code ignored;
  if (source != "-" && std::filesystem::is_directory(source, ignored)) {
    Result<RawRun> raw = kept::read_run(source);
    if (!raw) return std::unexpected(raw.error());
    const Judged judged = judge_recorded(*std::move(raw));
    return std::vector<RunFigures>{figures_of(judged.run, judged.verdict)};
  }
  const Result<std::string> text = pasted_text_from(source);
  if (!text) return std::unexpected(text.error());
  Result<std::vector<RunFigures>> found = results::read_figures(*text);
  if (!found) return std::unexpected(about(source, found.error()));
  return found;
}

Result<RunFigures> one_run_from(const std::string& source) {
  Result<std::vector<RunFigures>> found = figures_from(source);
  if (!found) return std::unexpected(found.error());
  if (found->size() == 1) return std::move(found->front());
  return with_hint(fail(ErrorKind::unsupported, "'{}' holds {} runs, and one is asked for", source,
                        found->size()),
                   "cut out the one that is meant");
}

}  // namespace picchio
