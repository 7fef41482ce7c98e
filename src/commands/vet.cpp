#include "results/vet.h"

#include "base/text.h"
#include "commands/command.h"
#include "commands/figures_source.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/terminal.h"
#include "os/file.h"

#include <fmt/format.h>

namespace picchio {
namespace {

// A hundred pages. What is longer is a log, and the patterns would take seconds for it.
constexpr std::int64_t kMostPostBytes = std::int64_t{1} << 20;

}  // namespace

ExitCode vet_command(const Arguments& arguments) {
  CLI::App app(
      "Says which conditions that move a tok/s figure a post states, and which it leaves out. "
      "English; blocks in it count. Exit code 0; 2: no tok/s figure in it.",
      "picchio vet");
  std::string source;
  bool json = false;
  app.add_option("FILE", source, "the post; '-' or nothing: standard input");
  app.add_flag("--json", json, "JSON on stdout, the text on stderr");
  app.footer(examples(
      {"picchio vet post.txt", "xclip -o | picchio vet", "picchio vet - --json < thread.html"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  if (arguments.has_rest) {
    return fail_with({ErrorKind::unsupported, "vet takes one file", "picchio vet FILE"});
  }
  if (source.empty() && os::is_terminal(0)) {
    return fail_with({ErrorKind::unsupported, "no post given",
                      "picchio vet FILE, or the post on standard input"});
  }
  const Result<std::string> text = pasted_text_from(source.empty() ? "-" : source);
  if (!text) return fail_with(text.error());
  if (text->size() > static_cast<std::size_t>(kMostPostBytes)) {
    return fail_with({ErrorKind::unsupported,
                      fmt::format("a text of {} is no post, 1 MiB at most is read",
                                  format_bytes(static_cast<std::int64_t>(text->size()))),
                      "cut out the post"});
  }
  const Result<results::Vetting> vetting = results::vet(*text);
  if (!vetting) return fail_with(vetting.error());
  const std::string human = results::vetting_text(*vetting);
  if (!json) return print_product(human, ExitCode::ok);
  print_stderr(human);
  return print_product(results::vetting_json(*vetting), ExitCode::ok);
}

}  // namespace picchio
