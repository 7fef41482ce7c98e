#include "base/text.h"
#include "commands/cause_pages.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace picchio {
namespace {

const CauseEntry* nearest(std::string_view id) {
  const auto all = cause_catalogue();
  const auto found = std::ranges::min_element(
      all, {}, [&](const CauseEntry& entry) { return edit_distance(id, entry.id); });
  constexpr std::size_t kTypos = 4;
  return edit_distance(id, found->id) <= kTypos ? &*found : nullptr;
}

}  // namespace

ExitCode causes_command(const Arguments& arguments) {
  CLI::App app(
      "Explains the causes that WHY can name: what each is, what proves it, and what mends it on "
      "which engine and platform.",
      "picchio causes");
  std::string id;
  bool json = false;
  bool markdown = false;
  app.add_option("ID", id, "one of them, such as ngl_0; without it, all in a line each");
  app.add_flag("--json", json, "as JSON");
  app.add_flag("--markdown", markdown, "as the page docs/causes.md");
  app.footer(
      examples({"picchio causes", "picchio causes device_permission", "picchio causes --json"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  std::span<const CauseEntry> chosen = cause_catalogue();
  if (!id.empty()) {
    const CauseEntry* entry = find_cause_entry(id);
    if (entry == nullptr) {
      const CauseEntry* meant = nearest(id);
      print_error({ErrorKind::not_found, fmt::format("no cause is called '{}'", id),
                   meant != nullptr ? fmt::format("did you mean '{}'?", meant->id)
                                    : "'picchio causes' lists them"});
      return ExitCode::could_not_run;
    }
    chosen = {entry, 1};
  }
  if (json) return print_product(causes_as_json(chosen), ExitCode::ok);
  if (markdown) return print_product(causes_as_markdown(chosen), ExitCode::ok);
  return print_product(id.empty() ? cause_list(chosen) : cause_text(chosen.front()), ExitCode::ok);
}

}  // namespace picchio
