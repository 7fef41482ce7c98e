#include "commands/figures_source.h"

#include "base/text.h"
#include "commands/read_run.h"
#include "commands/stored_runs.h"
#include "kept/folder.h"
#include "os/file.h"
#include "report/block.h"
#include "report/figures.h"
#include "results/block_reader.h"
#include "results/pasted_text.h"
#include "results/read_figures.h"
#include "results/verify.h"

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

/// What one source holds, with the text that blocks can be cut out of.
struct Source {
  std::vector<RunFigures> runs;
  std::string text;
};

Result<Source> read_source(const std::string& source) {
  std::error_code ignored;
  if (history::looks_like_run_id(source)) {
    Result<StoredRun> stored = stored_run(source);
    if (!stored) return std::unexpected(stored.error());
    return Source{{std::move(stored->run.figures)}, std::move(stored->run.block)};
  }
  if (source != "-" && std::filesystem::is_directory(source, ignored)) {
    Result<RawRun> raw = kept::read_run(source);
    if (!raw) return std::unexpected(raw.error());
    const Judged judged = judge_recorded(*std::move(raw));
    return Source{{figures_of(judged.run, judged.verdict)}, block(judged.run, judged.verdict)};
  }
  Result<std::string> text = pasted_text_from(source);
  if (!text) return std::unexpected(text.error());
  Result<std::vector<RunFigures>> found = results::read_figures(*text);
  if (!found) return std::unexpected(about(source, found.error()));
  return Source{*std::move(found), *std::move(text)};
}

Result<> holds_one(const Source& read, const std::string& source) {
  if (read.runs.size() == 1) return {};
  return with_hint(fail(ErrorKind::unsupported, "'{}' holds {} runs, and one is asked for", source,
                        read.runs.size()),
                   "cut out the one that is meant");
}

}  // namespace

Result<std::string> pasted_text_from(const std::string& source) {
  Result<std::string> bytes = source == "-" ? os::read_all(0, kMostTextBytes, "standard input")
                                            : os::read_file(source, kMostTextBytes);
  if (!bytes) return bytes;
  Result<std::string> text = results::text_of(*std::move(bytes));
  if (!text) return std::unexpected(about(source, text.error()));
  return text;
}

Result<std::vector<RunFigures>> figures_from(const std::string& source) {
  Result<Source> read = read_source(source);
  if (!read) return std::unexpected(read.error());
  return std::move(read->runs);
}

Result<RunFigures> one_run_from(const std::string& source) {
  Result<Source> read = read_source(source);
  if (!read) return std::unexpected(read.error());
  if (const Result<> one = holds_one(*read, source); !one) return std::unexpected(one.error());
  return std::move(read->runs.front());
}

Result<RunWithBlock> one_run_with_block_from(const std::string& source) {
  Result<Source> read = read_source(source);
  if (!read) return std::unexpected(read.error());
  if (const Result<> one = holds_one(*read, source); !one) return std::unexpected(one.error());
  RunWithBlock out;
  out.figures = std::move(read->runs.front());
  out.contradicted = !results::verify(out.figures).contradictions.empty();
  std::vector<results::PastedBlock> blocks = results::find_blocks(read->text);
  if (blocks.size() != 1) return out;
  if (!results::verify(blocks.front()).contradictions.empty()) out.contradicted = true;
  out.block = std::move(blocks.front().lines);
  return out;
}

}  // namespace picchio
