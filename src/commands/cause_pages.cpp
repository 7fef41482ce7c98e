#include "commands/cause_pages.h"

#include "report/layout.h"
#include "version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <array>
#include <string_view>
#include <vector>

namespace picchio {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kIdColumns = 32;

/// "ollama, in a container, NVIDIA"; empty: everywhere.
std::string conditions(const Remedy& remedy) {
  struct Place {
    std::string_view name;
    std::string_view words;
  };
  constexpr Place kPlaces[] = {
      {"container", "in a container"}, {"wsl", "in WSL"},
      {"windows", "on Windows"},       {"macos", "on macOS"},
      {"linux", "on Linux"},           {"debian", "on Debian and Ubuntu"},
      {"snap", "as a snap"},           {"flatpak", "as a flatpak"},
  };
  std::vector<std::string_view> out;
  if (!remedy.engine.empty()) out.push_back(remedy.engine);
  for (const Place& place : kPlaces) {
    if (place.name == remedy.place) out.push_back(place.words);
  }
  if (!remedy.vendor.empty()) out.push_back(remedy.vendor);
  return fmt::format("{}", fmt::join(out, ", "));
}

void add_wrapped(std::string& out, std::string_view label, std::string_view text) {
  constexpr std::size_t kIndent = 10;
  std::string head = fmt::format("{:<{}}", label, kIndent);
  for (const std::string& line : report::wrap(std::string(text), kColumns - kIndent, 0)) {
    out += head + line + "\n";
    head.assign(kIndent, ' ');
  }
}

std::string remedies_cell(const CauseEntry& entry) {
  std::string out;
  for (const Remedy& remedy : entry.remedies) {
    if (!out.empty()) out += "<br>";
    const std::string where = conditions(remedy);
    out += where.empty() ? fmt::format("`{}`", remedy.text)
                         : fmt::format("{}: `{}`", where, remedy.text);
  }
  return out.empty() ? "nothing to change" : out;
}

}  // namespace

std::string cause_list(std::span<const CauseEntry> entries) {
  std::string out;
  for (const CauseEntry& entry : entries) {
    std::string head = fmt::format("{:<{}}", entry.id, kIdColumns);
    for (const std::string& line :
         report::wrap(std::string(entry.sentence), kColumns - kIdColumns, 0)) {
      out += head + line + "\n";
      head.assign(kIdColumns, ' ');
    }
  }
  return out;
}

std::string cause_text(const CauseEntry& entry) {
  std::string out = fmt::format("{}\n", entry.id);
  add_wrapped(out, "means", entry.sentence);
  add_wrapped(out, "effect", name_of(entry.effect));
  add_wrapped(out, "evidence", entry.evidence);
  for (const Remedy& remedy : entry.remedies) {
    const std::string where = conditions(remedy);
    add_wrapped(
        out, "fix",
        where.empty() ? std::string(remedy.text) : fmt::format("{}: {}", where, remedy.text));
  }
  if (!entry.reference.empty()) add_wrapped(out, "see", entry.reference);
  return out;
}

std::string causes_as_json(std::span<const CauseEntry> entries) {
  using Json = nlohmann::ordered_json;
  const auto text = [](std::string_view value) {
    return value.empty() ? Json(nullptr) : Json(value);
  };
  Json causes = Json::array();
  for (const CauseEntry& entry : entries) {
    Json remedies = Json::array();
    for (const Remedy& remedy : entry.remedies) {
      remedies.push_back({{"text", remedy.text},
                          {"engine", text(remedy.engine)},
                          {"place", text(remedy.place)},
                          {"vendor", text(remedy.vendor)}});
    }
    causes.push_back({{"id", entry.id},
                      {"sentence", entry.sentence},
                      {"effect", name_of(entry.effect)},
                      {"evidence", entry.evidence},
                      {"remedies", remedies},
                      {"reference", text(entry.reference)}});
  }
  Json out;
  out["schema"] = "picchio.causes.v1";
  out["version"] = kVersion;
  out["causes"] = causes;
  return out.dump(2) + "\n";
}

std::string causes_as_markdown(std::span<const CauseEntry> entries) {
  std::string out = fmt::format(
      "# Causes\n\n"
      "What WHY can say, by the id that JSON carries in `cause`: {} causes. This page is printed "
      "by\n"
      "`picchio causes --markdown` from the catalogue that is built into the program.\n\n"
      "A cause is named only when this run or this log holds its evidence. WHY and FIX are of the "
      "strongest;\n"
      "`--explain` and JSON (`causes`) list all, each with what proves it. A remedy with a "
      "condition "
      "is taken\n"
      "where the condition is known to hold, else the one without. No evidence: WHY says unknown, "
      "and "
      "what the\n"
      "run would fit. `picchio causes ID` shows one of them.\n",
      entries.size());
  struct Part {
    Effect effect;
    std::string_view title;
  };
  constexpr std::array kParts = {
      Part{Effect::cpu, "On the CPU"},
      Part{Effect::partial, "Partly on the CPU"},
      Part{Effect::slow, "Placed well, or as asked, and slow"},
      Part{Effect::untold, "Cannot be told"},
      Part{Effect::none, "No fault, though it looks like one"},
  };
  for (const Part& part : kParts) {
    out += fmt::format("\n## {}\n\n| id | what it is | evidence | fix |\n|---|---|---|---|\n",
                       part.title);
    for (const CauseEntry& entry : entries) {
      if (entry.effect != part.effect) continue;
      const std::string seen =
          entry.reference.empty() ? "" : fmt::format(" ([seen]({}))", entry.reference);
      out += fmt::format("| `{}` | {}{} | {} | {} |\n", entry.id, entry.sentence, seen,
                         entry.evidence, remedies_cell(entry));
    }
  }
  return out;
}

}  // namespace picchio
