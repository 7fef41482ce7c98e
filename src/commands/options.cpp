#include "commands/options.h"

#include "base/text.h"
#include "commands/output.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {
namespace {

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    for (const std::string& name : option->get_snames()) out.push_back("-" + name);
  }
  return out;
}

Error unknown_word(const CLI::App& app, const std::string& word) {
  Error out{ErrorKind::unsupported, "", ""};
  if (!word.starts_with('-')) {
    out.message = fmt::format("unexpected argument '{}'", plain(word));
    out.hint = "see " + app.get_name() + " --help";
    return out;
  }
  const std::string name = word.substr(0, word.find('='));
  out.message = fmt::format("unknown option '{}'", plain(name));
  const std::vector<std::string> flags = flags_of(app);
  const auto nearest = std::ranges::min_element(
      flags, {}, [&](const std::string& flag) { return edit_distance(name, flag); });
  const std::size_t limit = std::max<std::size_t>(2, name.size() / 3);
  if (nearest != flags.end() && edit_distance(name, *nearest) <= limit) {
    out.hint = fmt::format("did you mean '{}'?", *nearest);
  } else if (app.get_name() == "picchio") {
    out.hint = "arguments for the engine stand behind '--'; see picchio --help";
  } else {
    out.hint = "see " + app.get_name() + " --help";
  }
  return out;
}

}  // namespace

void add_row_format(CLI::App& app, std::optional<RowFormat>& format) {
  app.add_option_function<std::string>(
         "-o,--output",
         [&format](const std::string& name) {
           format = row_format(name);
           if (format) return;
           throw CLI::ValidationError(fmt::format("'{}' is no format of rows: {}",
                                                  fit(plain(name), 20), row_format_names()));
         },
         fmt::format("rows on stdout: {}", row_format_names()))
      ->type_name("FORMAT");
}

std::optional<ExitCode> parse_options(CLI::App& app, const std::vector<std::string>& words) {
  app.allow_extras();
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // the order CLI11 wants
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return print_product(app.help(), ExitCode::ok);
  } catch (const CLI::ParseError& error) {
    std::string message = plain(error.what());
    if (!message.empty() && message[0] >= 'A' && message[0] <= 'Z' && message[1] != '-') {
      message[0] = static_cast<char>(message[0] - 'A' + 'a');
    }
    print_error({ErrorKind::unsupported, message, "see " + app.get_name() + " --help"});
    return ExitCode::could_not_run;
  }
  const std::vector<std::string> extras = app.remaining();
  if (!extras.empty()) {
    print_error(unknown_word(app, extras.front()));
    return ExitCode::could_not_run;
  }
  return std::nullopt;
}

std::string examples(std::initializer_list<std::string_view> lines) {
  std::string out = "Examples:";
  for (const std::string_view line : lines) out += fmt::format("\n  {}", line);
  return out;
}

CLI::Validator number_between(double least, double most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    const std::optional<double> value = parse_double(text);
    if (value && *value >= least && *value <= most) return {};
    return fmt::format("'{}' is no number from {} to {}", plain(text), least, most);
  };
  return {check, fmt::format("FROM {} TO {}", least, most)};
}

}  // namespace picchio
