#include "results/share.h"

#include "base/text.h"
#include "commands/card_digest.h"
#include "commands/card_source.h"
#include "commands/command.h"
#include "commands/figures_source.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/terminal.h"
#include "os/file.h"
#include "results/model_names.h"

#include <fmt/format.h>

#include <utility>

namespace picchio {
namespace {

struct ShareOptions {
  std::string run;
  std::string model;
  bool line = false;
  bool row = false;
  bool post = false;
  bool no_header = false;
};

void add_options(CLI::App& app, ShareOptions& options) {
  app.add_option(
      "RUN", options.run,
      "a run of the history (@12, last); a file with a block, the JSON of a run or a "
      "table of llama-bench; a folder of --keep-logs; '-': standard input. Nothing: what "
      "is piped in, else last");
  app.add_flag("--line", options.line, "one line, parts joined by ' | ' (the default)");
  app.add_flag("--row", options.row, "a row of a Markdown table under its head");
  app.add_flag("--post", options.post, "a post: the block, the conditions, blanks for opinions");
  app.add_flag("--no-header", options.no_header, "of --row: the row alone");
  app.add_option("--model", options.model,
                 "the GGUF file that was measured: its quant, bits per weight and SHA-256");
}

Result<> check(ShareOptions& options, const Arguments& arguments) {
  if (arguments.has_rest) return fail(ErrorKind::unsupported, "share takes one run");
  if (static_cast<int>(options.line) + static_cast<int>(options.row) +
          static_cast<int>(options.post) >
      1) {
    return fail(ErrorKind::unsupported, "--line, --row and --post are three products");
  }
  if (options.no_header && !options.row) {
    return fail(ErrorKind::unsupported, "--no-header belongs to --row");
  }
  if (!options.run.empty()) return {};
  options.run = os::is_terminal(0) ? "last" : "-";
  return {};
}

void note(const std::string& text) { print_stderr("picchio: note: " + plain(text) + "\n"); }

Result<results::SharedFile> read_model_file(const std::string& what, os::Interrupts& interrupts) {
  Result<Card> card = read_card(what, interrupts);
  if (!card) return std::unexpected(card.error());
  if (const Result<> ok = fill_digests(*card, HashWish::wait, interrupts); !ok) {
    return std::unexpected(ok.error());
  }
  results::SharedFile out;
  const std::string& path = card->files.front().path;
  out.name = card->label.empty() ? path.substr(path.rfind('/') + 1) : card->label;
  out.quant = label_of_file_type(card->claimed);
  if (out.quant.empty()) out.quant = label_in_name(out.name);
  // Of shards each has its own, and none is the model's.
  const auto& digest = card->files.front().digest;
  if (card->files.size() == 1 && digest) out.sha256 = digest->hex;
  out.tensor_bytes = card->tensor_bytes;
  for (const CardFile& file : card->files) out.file_bytes += file.bytes.value_or(0);
  out.parameters = card->elements + card->unpriced_elements;
  out.bits_per_weight = bits_per_weight(*card);
  return out;
}

/// Puts the facts of the model file into `run`; one that cannot be the run's is an error.
Result<> add_file(const std::string& what, results::SharedRun& run) {
  Result<os::Interrupts> interrupts = os::Interrupts::install();
  if (!interrupts) return std::unexpected(interrupts.error());
  Result<results::SharedFile> file = read_model_file(what, *interrupts);
  if (!file) return std::unexpected(file.error());
  if (interrupts->caught()) return fail(ErrorKind::interrupted, "interrupted");
  if (const Result<> same = results::is_file_of(*file, run.figures); !same) {
    return with_hint(std::unexpected(same.error()), "--model names the file that was measured");
  }
  const std::string in_run = results::model_core(run.figures.model);
  const std::string in_file = results::model_core(file->name);
  if (!in_run.empty() && !in_file.empty() && in_run != in_file) {
    note(fmt::format("the run names '{}', the file is '{}'", run.figures.model, file->name));
  }
  run.file = *std::move(file);
  return {};
}

}  // namespace

ExitCode share_command(const Arguments& arguments) {
  ShareOptions options;
  CLI::App app(
      "Quotes a run with the conditions that make its rates worth something. What is not known is "
      "n/a.",
      "picchio share");
  add_options(app, options);
  app.footer(examples({"picchio share last --post", "picchio share @12 --row",
                       "picchio share block.txt", "picchio share kept/ --row",
                       "picchio share block.txt --post --model model-Q4_K_M.gguf",
                       "picchio model.gguf | picchio share --line"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  if (const Result<> ok = check(options, arguments); !ok) return fail_with(ok.error());
  Result<RunWithBlock> read = one_run_with_block_from(options.run);
  if (!read) return fail_with(read.error());
  results::SharedRun run{std::move(read->figures), std::nullopt, read->contradicted,
                         std::move(read->block)};
  if (run.contradicted) {
    note("its figures cannot all be true of one run; 'picchio verify' says which");
  }
  if (!options.model.empty()) {
    if (const Result<> ok = add_file(options.model, run); !ok) return fail_with(ok.error());
  } else if (const auto missing = results::missing_of_file(run); !missing.empty()) {
    note(fmt::format("n/a without the file: {}; --model MODEL.gguf fills it in",
                     fmt::join(missing, ", ")));
  }
  if (options.row) {
    return print_product(results::share_row(run, !options.no_header), ExitCode::ok);
  }
  return print_product(options.post ? results::share_post(run) : results::share_line(run),
                       ExitCode::ok);
}

}  // namespace picchio
