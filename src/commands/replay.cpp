#include "base/text.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/read_run.h"
#include "commands/terminal.h"
#include "kept/folder.h"
#include "os/file.h"
#include "report/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace picchio {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostBlockBytes = 64 << 10;

// Installed beside the program, or in the source tree above the build folder.
std::optional<fs::path> examples_folder() {
  if (const auto named = os::env("PICCHIO_EXAMPLES")) return fs::path(*named);
  const auto self = os::read_link("/proc/self/exe");
  if (!self) return std::nullopt;
  const fs::path program = fs::path(*self).parent_path();
  std::error_code ignored;
  fs::path installed = program.parent_path() / "share/picchio/examples";
  if (fs::is_directory(installed / "raw", ignored)) return installed;
  for (fs::path folder = program; folder.has_relative_path(); folder = folder.parent_path()) {
    if (fs::is_directory(folder / "examples/raw", ignored)) return folder / "examples";
  }
  return std::nullopt;
}

// The first line in which two texts differ, in words; empty: they are equal.
std::string first_difference(std::string_view kept, std::string_view now) {
  const std::vector<std::string_view> want = split_lines(kept);
  const std::vector<std::string_view> have = split_lines(now);
  for (std::size_t i = 0; i < std::max(want.size(), have.size()); ++i) {
    const std::string_view a = i < want.size() ? want[i] : "(no line)";
    const std::string_view b = i < have.size() ? have[i] : "(no line)";
    if (a != b) return fmt::format("line {}:\n  kept {}\n  now  {}", i + 1, plain(a), plain(b));
  }
  return {};
}

Result<std::string> check_example(const fs::path& raw_folder, const fs::path& block_file) {
  Result<RawRun> raw = kept::read_run(raw_folder.string());
  if (!raw) return std::unexpected(raw.error());
  const Result<std::string> kept_block = os::read_file(block_file.string(), kMostBlockBytes);
  if (!kept_block) return std::unexpected(kept_block.error());
  const Judged judged = judge_recorded(*std::move(raw));
  return first_difference(*kept_block, block(judged.run, judged.verdict));
}

}  // namespace

ExitCode replay(const Arguments& arguments) {
  CLI::App app("Judges a run kept by --keep-logs again, without the engine.", "picchio replay");
  std::string folder;
  OutputOptions output;
  app.add_option("DIR", folder, "the folder that --keep-logs wrote");
  app.add_flag("--json", output.json, "JSON on stdout, the block on stderr");
  add_row_format(app, output.rows);
  app.add_flag("--explain", output.explain, "add what each witness said and the rule");
  app.add_flag("--strict", output.strict, "exit 7 also when nothing tells where it ran");
  app.footer(examples({"picchio replay kept/", "picchio replay kept/ --explain"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  if (folder.empty() || arguments.has_rest) {
    print_error({ErrorKind::unsupported, "no kept run given", "picchio replay DIR"});
    return ExitCode::could_not_run;
  }
  if (const Result<> ok = check_output(output); !ok) return fail_with(ok.error());
  Result<RawRun> raw = kept::read_run(folder);
  if (!raw) return fail_with(raw.error());
  output.evidence_directory = folder;
  return print_judged(judge_recorded(*std::move(raw)), output);
}

ExitCode selftest(const Arguments& arguments) {
  if (!arguments.words.empty() || arguments.has_rest) {
    print_error({ErrorKind::unsupported, "--selftest takes no arguments", ""});
    return ExitCode::could_not_run;
  }
  const auto folder = examples_folder();
  if (!folder) {
    print_error({ErrorKind::not_found, "no kept examples found beside this program",
                 "name their folder with PICCHIO_EXAMPLES"});
    return ExitCode::could_not_run;
  }
  const auto names = os::list_dir((*folder / "raw").string());
  if (!names || names->empty()) {
    print_error({ErrorKind::not_found,
                 fmt::format("no kept examples in '{}'", plain(folder->string())), ""});
    return ExitCode::could_not_run;
  }
  int failed = 0;
  for (const std::string& name : *names) {
    const auto difference =
        check_example(*folder / "raw" / name, *folder / "blocks" / (name + ".txt"));
    if (difference && difference->empty()) continue;
    ++failed;
    print_stderr(fmt::format("picchio: selftest: {}: {}\n", plain(name),
                             difference ? *difference : plain(difference.error().message)));
  }
  const std::size_t passed = names->size() - static_cast<std::size_t>(failed);
  return print_product(
      fmt::format("selftest: {} of {} kept runs reproduce\n", passed, names->size()),
      failed == 0 ? ExitCode::ok : ExitCode::failure);
}

}  // namespace picchio
