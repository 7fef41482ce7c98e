#include "results/verify.h"

#include "base/text.h"
#include "commands/command.h"
#include "commands/figures_source.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/terminal.h"
#include "report/verification.h"
#include "results/block_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace picchio {
namespace {

VerifiedBlock verified(results::PastedBlock block) {
  results::Verification found = results::verify(block);
  VerifiedBlock out;
  const std::string& model = block.figures.model;
  out.label = fmt::format("line {}: {}", block.first_line,
                          model.empty() ? "a model without a name" : model);
  out.held = std::move(found.held);
  out.unread = std::move(block.unread);
  for (results::Contradiction& each : found.contradictions) {
    out.contradictions.emplace_back(std::move(each.check), std::move(each.text));
  }
  return out;
}

}  // namespace

ExitCode verify_command(const Arguments& arguments) {
  CLI::App app(
      "Recomputes what a pasted block claims: figures that cannot all be true of one run. Exit "
      "code 0: none; 5: a contradiction; 2: no block.",
      "picchio verify");
  std::string source;
  bool json = false;
  app.add_option("FILE", source, "text with one block or more; '-' or nothing: standard input");
  app.add_flag("--json", json, "JSON on stdout, the text on stderr");
  app.footer(examples({"picchio verify post.txt", "xclip -o | picchio verify",
                       "picchio verify - --json < thread.html"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  if (arguments.has_rest) {
    return fail_with({ErrorKind::unsupported, "verify takes one file", "picchio verify FILE"});
  }
  if (source.empty()) source = "-";
  const Result<std::string> text = pasted_text_from(source);
  if (!text) return fail_with(text.error());
  std::vector<VerifiedBlock> blocks;
  for (results::PastedBlock& block : results::find_blocks(*text)) {
    blocks.push_back(verified(std::move(block)));
  }
  if (blocks.empty()) {
    return fail_with(
        {ErrorKind::malformed,
         fmt::format("{} holds no block", source == "-" ? "standard input" : "'" + source + "'"),
         "a block begins with its 'model' line and ends with '-- picchio v...'"});
  }
  const bool holds = std::ranges::all_of(
      blocks, [](const VerifiedBlock& block) { return block.contradictions.empty(); });
  const ExitCode code = holds ? ExitCode::ok : ExitCode::conflicting_evidence;
  if (!json) return print_product(verification_text(blocks), code);
  print_stderr(verification_text(blocks));
  return print_product(verification_json(blocks) + "\n", code);
}

}  // namespace picchio
