#include "base/text.h"
#include "report/block.h"
#include "report/card_parts.h"
#include "report/card_text.h"
#include "report/layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {
namespace {

using report::grouped;
using Lines = std::vector<std::string>;

constexpr std::size_t kMostRows = 12;  // of each list: the rest is in --json

void append(Lines& lines, const Lines& more) {
  lines.insert(lines.end(), more.begin(), more.end());
}

void paragraph(Lines& lines, const std::string& text) {
  append(lines, report::wrap(text, kBlockColumns, 4));
}

/// "A" to "Z", then "27": what stands for a file in the lines below the table.
std::string letter(std::size_t i) {
  return i < 26 ? std::string(1, static_cast<char>('A' + i)) : fmt::format("{}", i + 1);
}

std::string claimed_label(const Card& card) {
  const std::string label = label_of_file_type(card.claimed);
  if (label.empty()) return "none";
  return card.file_type ? label : label + "?";
}

/// The label; the whole path where another file has the same one.
std::string name_among(std::span<const Card> cards, std::size_t i) {
  const std::string label = card_label(cards[i]);
  const auto same =
      std::ranges::count_if(cards, [&](const Card& other) { return card_label(other) == label; });
  return same > 1 && !cards[i].files.empty() ? plain(cards[i].files.front().path) : label;
}

void table(Lines& lines, std::span<const Card> cards) {
  lines.push_back(fmt::format("     {:>7} {:>15} {:>8}  {:<10} {}", "bits", "file bytes", "tensors",
                              "claimed", "file"));
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const Card& card = cards[i];
    const auto bytes = report::file_bytes(card);
    lines.push_back(fmt::format("  {:>2} {:>7} {:>15} {:>8}  {:<10} {}", letter(i),
                                report::bits_label(bits_per_weight(card)),
                                bytes ? grouped(*bytes) : "not told", card.tensors.size(),
                                fit(claimed_label(card), 10), fit(name_among(cards, i), 60)));
  }
}

std::string shared_text(std::span<const Card> cards, const CardDiff& diff) {
  std::string text =
      fmt::format("shared: {} tensors with {} weights are in all of them; over these",
                  grouped(diff.shared.count), grouped(diff.shared.elements));
  for (std::size_t i = 0; i < cards.size(); ++i) {
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", letter(i),
                        report::bits_label(diff.shared.bits_per_weight(i)));
  }
  return text + " bits per weight";
}

/// "A q4_K 24, q6_K 8; B q6_K 32", files with one mix together.
std::string mixes_text(const RoleDifference& role) {
  std::vector<std::pair<std::string, std::string>> groups;  // mix, letters
  for (std::size_t i = 0; i < role.types.size(); ++i) {
    report::Tally tally;
    tally.types = role.types[i];
    const std::string mix = tally.mix();
    const auto found = std::ranges::find(groups, mix, &std::pair<std::string, std::string>::first);
    if (found == groups.end()) {
      groups.emplace_back(mix, letter(i));
    } else {
      found->second += letter(i);
    }
  }
  std::string text;
  for (const auto& [mix, letters] : groups) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", letters, mix);
  }
  return text;
}

std::string files_of(const PartialTensor& tensor) {
  std::string letters;
  for (const std::size_t i : tensor.in) letters += letter(i);
  return letters;
}

void differences(Lines& lines, const CardDiff& diff) {
  if (diff.shared.count > 0 && diff.differ.empty()) {
    lines.emplace_back("types: the same in every shared tensor");
  }
  if (!diff.differ.empty()) {
    lines.push_back(fmt::format("types: {} of {} shared tensors differ",
                                grouped(diff.shared.count - diff.same_type),
                                grouped(diff.shared.count)));
  }
  for (std::size_t i = 0; i < diff.differ.size() && i < kMostRows; ++i) {
    const RoleDifference& role = diff.differ[i];
    paragraph(lines, fmt::format("- {} ({}): {}", fit(plain(role.role), 40), role.tensors,
                                 mixes_text(role)));
  }
  if (diff.differ.size() > kMostRows) {
    lines.push_back(fmt::format("- and {} more roles, see --json", diff.differ.size() - kMostRows));
  }
}

void partial_tensors(Lines& lines, const CardDiff& diff) {
  // By the files that have them: one sum says more than a hundred names.
  std::vector<std::pair<std::string, report::Tally>> groups;
  for (const PartialTensor& tensor : diff.partial) {
    const std::string files = files_of(tensor);
    auto found = std::ranges::find(groups, files, &std::pair<std::string, report::Tally>::first);
    if (found == groups.end()) found = groups.insert(groups.end(), {files, {}});
    CardTensor one;
    one.type = tensor.type;
    one.elements = tensor.elements;
    one.bytes = tensor.bytes;
    found->second.add(one);
  }
  for (const auto& [files, tally] : groups) {
    // Types can differ among those that have them; the bytes are of one.
    const std::string first = files.size() > 1 ? fmt::format("in {} ", files.substr(0, 1)) : "";
    paragraph(lines,
              fmt::format("only in {}: {} {}, {} weights, {}{} ({})", files, grouped(tally.tensors),
                          tally.tensors == 1 ? "tensor" : "tensors", grouped(tally.elements), first,
                          format_bytes(tally.bytes), tally.mix()));
    std::size_t shown = 0;
    for (const PartialTensor& tensor : diff.partial) {
      if (files_of(tensor) != files) continue;
      if (++shown > kMostRows) break;
      lines.push_back(fmt::format("  - {}, {}, {} weights", fit(plain(tensor.name), 60),
                                  plain(tensor.type), grouped(tensor.elements)));
    }
    if (static_cast<std::size_t>(tally.tensors) > kMostRows) {
      lines.push_back(fmt::format("  - and {} more, see --json",
                                  static_cast<std::size_t>(tally.tensors) - kMostRows));
    }
  }
}

}  // namespace

std::string card_diff_text(std::span<const Card> cards, const CardDiff& diff) {
  Lines lines = {fmt::format("picchio id: {} files", cards.size())};
  table(lines, cards);
  if (diff.shared.count == 0) {
    const bool all_hold_some =
        std::ranges::none_of(cards, [](const Card& card) { return card.tensors.empty(); });
    lines.emplace_back(all_hold_some
                           ? "shared: no tensor is in all of them: these are different models"
                           : "shared: one of them holds no tensor");
  } else {
    paragraph(lines, shared_text(cards, diff));
  }
  differences(lines, diff);
  partial_tensors(lines, diff);
  if (!diff.incomparable.empty()) {
    paragraph(lines,
              fmt::format("not compared: {} tensors of one name and different shape or of "
                          "unknown type, the first {}",
                          diff.incomparable.size(), fit(plain(diff.incomparable.front()), 60)));
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

std::string cards_markdown(std::span<const Card> cards) {
  std::string out =
      "| file | claimed | bits/weight | bytes | parameters | sha256 | mix |\n"
      "| --- | --- | ---: | ---: | ---: | --- | --- |\n";
  for (const Card& card : cards) {
    std::string mix;
    for (const TypeRow& row : card.types) {
      mix += fmt::format("{}{} {}", mix.empty() ? "" : ", ", row.type, row.tensors);
    }
    const auto bytes = report::file_bytes(card);
    const bool hashed = card.files.size() == 1 && card.files.front().digest.has_value();
    out +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", plain_markdown(card_label(card)),
                    plain_markdown(claimed_label(card)), report::bits_label(bits_per_weight(card)),
                    bytes ? grouped(*bytes) : "n/a", grouped(card.elements),
                    hashed ? plain_markdown(card.files.front().digest->hex).substr(0, 12) : "n/a",
                    plain_markdown(mix));
  }
  return out;
}

}  // namespace picchio
