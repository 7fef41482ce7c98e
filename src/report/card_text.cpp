#include "report/card_text.h"

#include "base/text.h"
#include "report/block.h"
#include "report/card_parts.h"
#include "report/layout.h"
#include "report/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace picchio {
namespace {

using report::grouped;
using Lines = std::vector<std::string>;

constexpr std::size_t kTextColumn = 13;  // where the established tool's values begin
constexpr std::size_t kMostSources = 6;
constexpr std::size_t kMostUnusual = 6;
constexpr std::size_t kWidestValue = 100;  // of one claim: the rest is in --json

constexpr std::array<std::string_view, 4> kNoSources = {"general.type", "general.size_label",
                                                        "general.basename", "general.name"};

constexpr std::array<CardListingName, 6> kListings = {{
    {"part", CardListing::by_part},
    {"layer", CardListing::by_layer},
    {"attn", CardListing::by_attention},
    {"ffn", CardListing::by_ffn},
    {"exps", CardListing::by_experts},
    {"tensor", CardListing::tensors},
}};

void labelled(Lines& lines, std::string_view label, std::string_view text) {
  std::string_view head = label;
  for (const std::string& line : report::wrap(text, kBlockColumns - kTextColumn, 0)) {
    lines.push_back(fmt::format("  {:<{}}{}", head, kTextColumn - 2, line));
    head = "";
  }
}

std::string digest_text(const CardFile& file) {
  if (!file.digest) return "sha256 not computed (--hash)";
  const std::string_view caveat = report::digest_caveat(file.digest->source);
  return fmt::format("sha256 {}{}", plain(file.digest->hex).substr(0, 12),
                     caveat.empty() ? "" : fmt::format(" ({})", caveat));
}

std::string bytes_text(std::optional<std::int64_t> bytes) {
  return bytes ? grouped(*bytes) + " bytes" : "size not told";
}

std::string one_file_text(const CardFile& file) {
  if (file.path == "-") return "a header from standard input; the data behind it was not read";
  std::string text = fmt::format("{}, {}", bytes_text(file.bytes), digest_text(file));
  if (file.transferred_bytes) {
    text += fmt::format("; read from the network: {}", grouped(*file.transferred_bytes));
  }
  return text;
}

void file_lines(Lines& lines, const Card& card) {
  if (card.files.size() == 1) {
    const CardFile& file = card.files.front();
    // A table has nothing of the file but its tensors.
    labelled(lines, "file",
             card.audit.none_because.empty()
                 ? one_file_text(file)
                 : std::string("not read: a server listed its tensors"));
    return;
  }
  labelled(
      lines, "file",
      fmt::format("{} shards, {} in all", card.files.size(), bytes_text(report::file_bytes(card))));
  for (std::size_t i = 0; i < card.files.size(); ++i) {
    lines.push_back(fit(fmt::format("    {} of {}, {}, {}", i + 1, card.files.size(),
                                    bytes_text(card.files[i].bytes), digest_text(card.files[i])),
                        kBlockColumns));
  }
}

std::string count_of(std::int64_t number, std::string_view what) {
  return fmt::format("{} {}{}", grouped(number), what, number == 1 ? "" : "s");
}

std::string model_text(const Card& card) {
  Lines parts;
  if (card.kind != CardKind::model) parts.emplace_back(name_of(card.kind));
  if (!card.architecture.empty()) parts.push_back(fit(plain(card.architecture), 40));
  if (card.block_count) parts.push_back(count_of(*card.block_count, "block"));
  if (card.context_length) parts.push_back("context " + grouped(*card.context_length));
  if (!card.name.empty()) parts.push_back(fmt::format("\"{}\"", fit(plain(card.name), 60)));
  std::string container = fmt::format("GGUF v{}", card.version);
  if (card.big_endian) container += " big-endian";
  if (card.alignment != 32) container += fmt::format(", alignment {}", card.alignment);
  // The usual container is not worth a word.
  if (container != "GGUF v3") parts.push_back(container);
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// What stands elsewhere on the card, or tells nothing of where the file comes from.
bool tells_a_source(const SourceClaim& claim) {
  return std::ranges::find(kNoSources, claim.key) == kNoSources.end();
}

std::string source_text(const Card& card) {
  const auto count = std::ranges::count_if(card.sources, tells_a_source);
  if (count == 0) return {};
  Lines parts;
  for (const SourceClaim& claim : card.sources) {
    if (!tells_a_source(claim)) continue;
    if (parts.size() == kMostSources) {
      parts.push_back(
          fmt::format("and {} more, see --json", static_cast<std::size_t>(count) - kMostSources));
      break;
    }
    std::string key = plain(claim.key);
    if (key.starts_with("general.")) key.erase(0, 8);
    parts.push_back(fmt::format("{} {}", fit(key, 40), fit(plain(claim.value), kWidestValue)));
  }
  return fmt::format("{} ({})", fmt::join(parts, "; "),
                     parts.size() == 1 ? "the file's own claim, not checked"
                                       : "the file's own claims, not checked");
}

std::string name_verdict(const std::string& label, const std::string& named) {
  if (named.empty()) return "the name holds no label";
  if (label.empty()) return "the name says " + named;
  if (named == label) return "the name agrees";
  return "but the name says " + named;
}

std::string claim_text(const Card& card) {
  const std::string named = label_in_name(card_label(card));
  const std::string label = label_of_file_type(card.claimed);
  if (!card.file_type) {
    const std::string guess =
        label.empty() ? "" : fmt::format("an engine would guess {} from its tensors; ", label);
    return fmt::format("nothing: no general.file_type; {}{}", guess, name_verdict("", named));
  }
  const std::string shown = label.empty() ? fmt::format("general.file_type {}", *card.file_type)
                                          : label + " (general.file_type";
  return label.empty()
             ? fmt::format("{}, which no engine names; {}", shown, name_verdict("", named))
             : fmt::format("{}; {})", shown, name_verdict(label, named));
}

std::string type_row(const TypeRow& row, std::int64_t all_bytes) {
  if (!row.bytes) {
    return fmt::format("    {:<8}{:>5} tensors      ? bits", fit(plain(row.type), 24), row.tensors);
  }
  const double bits = row.elements > 0
                          ? 8 * static_cast<double>(*row.bytes) / static_cast<double>(row.elements)
                          : 0;
  const double share =
      all_bytes > 0 ? 100 * static_cast<double>(*row.bytes) / static_cast<double>(all_bytes) : 0;
  return fmt::format("    {:<8}{:>5} tensors{:>7.2f} bits{:>7.1f}% of weight bytes",
                     fit(plain(row.type), 24), row.tensors, bits, share);
}

void type_lines(Lines& lines, const Card& card) {
  labelled(lines, "walked",
           fmt::format("{}, {}, priced one by one{}",
                       count_of(static_cast<std::int64_t>(card.tensors.size()), "tensor"),
                       count_of(static_cast<std::int64_t>(card.types.size()), "type"),
                       card.types.empty() ? "" : ":"));
  for (const TypeRow& row : card.types) lines.push_back(type_row(row, card.tensor_bytes));
}

std::string effective_text(const Card& card) {
  std::string text = fmt::format("{} bits per weight: {} tensor bytes over {} weights",
                                 report::bits_label(bits_per_weight(card)),
                                 grouped(card.tensor_bytes), grouped(card.elements));
  if (card.unpriced > 0) {
    text += fmt::format("; excludes {} with {} weights, whose size nobody knows",
                        count_of(card.unpriced, "tensor"), grouped(card.unpriced_elements));
  }
  return text;
}

std::string audit_text(const Card& card) {
  const OffsetAudit& audit = card.audit;
  if (!audit.none_because.empty()) return "none: " + plain(audit.none_because);
  if (!audit.faults.empty()) {
    std::string text = "NOT CLEAN: " + plain(audit.faults.front());
    if (audit.faults.size() > 1) text += fmt::format(", and {} more", audit.faults.size() - 1);
    return text + "; engines refuse such a file";
  }
  std::string text = card.unpriced > 0 ? "the offsets agree with the sizes that are known"
                                       : "the header's offsets give the same bytes";
  if (audit.padding_bytes > 0) {
    text += fmt::format(", with {} of padding", count_of(audit.padding_bytes, "byte"));
  }
  if (!audit.trailing_bytes) return text + "; where the file ends is not known";
  if (*audit.trailing_bytes > 0) {
    text += fmt::format(", and {} behind the last tensor", count_of(*audit.trailing_bytes, "byte"));
  }
  return text;
}

/// Sums by part, in the order of the parts.
std::map<TensorPart, report::Tally> parts_of(const Card& card) {
  std::map<TensorPart, report::Tally> parts;
  for (const CardTensor& tensor : card.tensors) parts[tensor.part].add(tensor);
  return parts;
}

std::string tally_row(std::string_view name, int width, const report::Tally& tally,
                      std::int64_t all_bytes) {
  const double share =
      all_bytes > 0 ? 100 * static_cast<double>(tally.bytes) / static_cast<double>(all_bytes) : 0;
  return fmt::format("    {:<{}} {:>5} tensors{:>7} bits{:>7.1f}%", name, width, tally.tensors,
                     report::bits_label(tally.bits()), share);
}

void part_lines(Lines& lines, const Card& card) {
  const auto parts = parts_of(card);
  if (parts.size() < 2) return;
  lines.emplace_back("  by part");
  for (const auto& [part, tally] : parts) {
    lines.push_back(tally_row(name_of(part), 16, tally, card.tensor_bytes));
  }
}

std::string unusual_text(const Card& card) {
  std::map<std::string, report::Tally> groups;
  for (const std::size_t i : unusual_tensors(card)) {
    const CardTensor& tensor = card.tensors[i];
    // A part has one sum; what no part claims is named one by one.
    const bool named = tensor.part == TensorPart::other || tensor.part == TensorPart::output;
    groups[named ? fit(plain(role_of(tensor.name)), 40) : std::string(name_of(tensor.part))].add(
        tensor);
  }
  Lines parts;
  for (const auto& [name, tally] : groups) {
    if (parts.size() == kMostUnusual) {
      parts.push_back(fmt::format("and {} more", groups.size() - kMostUnusual));
      break;
    }
    parts.push_back(fmt::format("{}: {}, {} weights, {} ({})", name,
                                count_of(tally.tensors, "tensor"), grouped(tally.elements),
                                format_bytes(tally.bytes), tally.mix()));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string experts_text(const Card& card) {
  const Experts& experts = *card.experts;
  std::string text = fmt::format("{} of {} used by a token", experts.used, experts.count);
  if (experts.shared.value_or(0) > 0) text += fmt::format(", {} shared", *experts.shared);
  if (card.active_parameters) {
    text += fmt::format("; {} parameters active",
                        report::active_label(*card.active_parameters, card.elements));
  }
  return text;
}

std::string tokenizer_text(const TokenizerLine& tokenizer) {
  Lines parts;
  if (!tokenizer.model.empty()) {
    std::string model = fit(plain(tokenizer.model), 30);
    if (!tokenizer.pre.empty()) model += fmt::format(" ({})", fit(plain(tokenizer.pre), 30));
    parts.push_back(model);
  }
  if (tokenizer.vocabulary) parts.push_back(grouped(*tokenizer.vocabulary) + " tokens");
  if (tokenizer.merges) parts.push_back(grouped(*tokenizer.merges) + " merges");
  if (tokenizer.templates.empty()) {
    parts.emplace_back("no chat template");
  } else {
    parts.push_back(
        fmt::format("chat template of {}", count_of(tokenizer.templates.front().second, "byte")));
    if (tokenizer.templates.size() > 1) {
      parts.push_back(fmt::format("{} more", tokenizer.templates.size() - 1));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string kv_text(const Card& card) {
  const std::string choice = "chosen when the engine starts (-ctk, -ctv), not in the file; ";
  if (!card.last_kv) return choice + "this file was not measured here yet";
  return choice + fmt::format("last measured here: K {}, V {} ({}, {})", plain(card.last_kv->k),
                              plain(card.last_kv->v), plain(card.last_kv->time).substr(0, 10),
                              plain(card.last_kv->engine));
}

// Listings below the card.

void tensor_rows(Lines& lines, const Card& card) {
  std::size_t width = 0;
  for (const CardTensor& tensor : card.tensors) width = std::max(width, tensor.name.size());
  width = std::min<std::size_t>(width, 60);
  lines.emplace_back("  tensors");
  for (const CardTensor& tensor : card.tensors) {
    lines.push_back(fmt::format(
        "    {:<{}}  {:<8} {:>14}  {}", fit(plain(tensor.name), 60), width, plain(tensor.type),
        tensor.bytes ? grouped(*tensor.bytes) : std::string("?"), fmt::join(tensor.ne, " x ")));
  }
}

void tally_rows(Lines& lines, std::string_view title,
                const std::vector<std::pair<std::string, report::Tally>>& rows,
                std::int64_t all_bytes) {
  std::size_t width = 8;
  for (const auto& [name, tally] : rows) width = std::max(width, name.size());
  lines.push_back(fmt::format("  {}", title));
  if (rows.empty()) lines.emplace_back("    none in this file");
  for (const auto& [name, tally] : rows) {
    lines.push_back(fmt::format("{}  {:>16}  {}",
                                tally_row(name, static_cast<int>(width), tally, all_bytes),
                                grouped(tally.bytes), tally.mix()));
  }
}

template <class Key>
std::vector<std::pair<std::string, report::Tally>> tallied(const Card& card, Key key) {
  std::vector<std::pair<std::string, report::Tally>> rows;
  std::map<std::string, std::size_t> index;
  for (const CardTensor& tensor : card.tensors) {
    const std::optional<std::string> name = key(tensor);
    if (!name) continue;
    const auto [found, is_new] = index.try_emplace(*name, rows.size());
    if (is_new) rows.push_back({*name, {}});
    rows[found->second].second.add(tensor);
  }
  return rows;
}

void role_rows(Lines& lines, const Card& card, std::string_view title,
               std::initializer_list<TensorPart> parts) {
  const auto role = [&](const CardTensor& tensor) -> std::optional<std::string> {
    if (std::ranges::find(parts, tensor.part) == parts.end()) return std::nullopt;
    return fit(plain(role_of(tensor.name)), 40);
  };
  tally_rows(lines, title, tallied(card, role), card.tensor_bytes);
}

void listing_lines(Lines& lines, const Card& card, CardListing listing) {
  switch (listing) {
    case CardListing::none:
      return;
    case CardListing::tensors:
      return tensor_rows(lines, card);
    case CardListing::by_part:
      return tally_rows(lines, "by part",
                        tallied(card,
                                [](const CardTensor& tensor) -> std::optional<std::string> {
                                  return std::string(name_of(tensor.part));
                                }),
                        card.tensor_bytes);
    case CardListing::by_layer:
      return tally_rows(lines, "by layer",
                        tallied(card,
                                [](const CardTensor& tensor) -> std::optional<std::string> {
                                  return tensor.block < 0 ? std::string("outside")
                                                          : fmt::format("block {}", tensor.block);
                                }),
                        card.tensor_bytes);
    case CardListing::by_attention:
      return role_rows(lines, card, "attention", {TensorPart::attention, TensorPart::recurrent});
    case CardListing::by_ffn:
      return role_rows(lines, card, "ffn", {TensorPart::ffn, TensorPart::shared_experts});
    case CardListing::by_experts:
      return role_rows(lines, card, "experts",
                       {TensorPart::experts, TensorPart::shared_experts, TensorPart::router});
  }
}

}  // namespace

std::span<const CardListingName> card_listings() { return kListings; }

std::string raw_card_label(const Card& card) {
  if (!card.label.empty()) return card.label;
  if (card.files.empty()) return "no file";
  const std::string& path = card.files.front().path;
  if (path == "-") return "standard input";
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

std::string card_label(const Card& card) { return plain(raw_card_label(card)); }

std::string card_text(const Card& card, CardListing listing) {
  Lines lines = {"picchio id: " + fit(card_label(card), 120)};
  file_lines(lines, card);
  if (const std::string model = model_text(card); !model.empty()) labelled(lines, "model", model);
  if (const std::string source = source_text(card); !source.empty()) {
    labelled(lines, "source", source);
  }
  if (card.kind == CardKind::model) labelled(lines, "claimed", claim_text(card));
  type_lines(lines, card);
  labelled(lines, "effective", effective_text(card));
  labelled(lines, "audit", audit_text(card));
  for (const CardFile& file : card.files) {
    if (file.digest_fault) labelled(lines, "sha256", "WRONG: " + plain(*file.digest_fault));
  }
  for (const std::string& objection : card.objections) {
    labelled(lines, "engines", "refuse this file: " + plain(objection));
  }
  if (listing != CardListing::by_part) part_lines(lines, card);
  if (const std::string unusual = unusual_text(card); !unusual.empty()) {
    labelled(lines, "unusual", unusual);
  }
  if (card.experts) labelled(lines, "experts", experts_text(card));
  if (card.bytes_per_token) {
    labelled(lines, "per token", format_bytes(*card.bytes_per_token) + " of weights are read");
  }
  if (card.kind == CardKind::model) {
    labelled(lines, "tokenizer", tokenizer_text(card.tokenizer));
    labelled(lines, "kv cache", kv_text(card));
  }
  listing_lines(lines, card, listing);
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace picchio
