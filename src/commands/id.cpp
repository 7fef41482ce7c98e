#include "base/text.h"
#include "commands/card_digest.h"
#include "commands/card_source.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/terminal.h"
#include "evidence/card_diff.h"
#include "report/card_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace picchio {
namespace {

constexpr const char* kText =
    "Says what is inside a model file, whatever its label claims: effective bits per weight, the\n"
    "mix of types, experts, what the offsets say. Several files: also over the tensors they share.";

constexpr const char* kDetails =
    "A known SHA-256 is shown (remembered, a blob's name, a hub's word); on a terminal an unknown "
    "one "
    "is\ncomputed, and Ctrl-C skips it. Names that begin with '-' stand behind '--'.\n\n"
    "Exit codes: 0 a card; 2 could not read; 5 the header contradicts itself, or the bytes the "
    "blob's name;\n130 interrupted.\n\n";

struct IdOptions {
  std::vector<std::string> files;
  std::string by;
  bool tensors = false;
  bool hash = false;
  bool no_hash = false;
  bool json = false;
  bool markdown = false;
};

void add_options(CLI::App& app, IdOptions& options) {
  app.add_option("MODEL", options.files,
                 "GGUF file or any shard of it, ollama tag, hf:OWNER/REPO/FILE.gguf, "
                 "http(s) URL, or '-' for a header on standard input");
  app.add_flag("--tensors", options.tensors, "list every tensor");
  app.add_option("--by", options.by, "list by part, layer, attn, ffn or exps")->type_name("WORD");
  app.add_flag("--hash", options.hash, "compute the SHA-256, also where a blob's name tells it");
  app.add_flag("--no-hash", options.no_hash, "no SHA-256, not even a known one");
  app.add_flag("--json", options.json, "JSON on stdout, the card on stderr");
  app.add_flag("--markdown", options.markdown, "one table row for each file, for a post");
}

Result<CardListing> listing_of(const IdOptions& options) {
  if (options.tensors && !options.by.empty()) {
    return fail(ErrorKind::unsupported, "--tensors and --by are two listings");
  }
  if (options.tensors) return CardListing::tensors;
  if (options.by.empty()) return CardListing::none;
  const auto listings = card_listings();
  const auto found = std::ranges::find(listings, options.by, &CardListingName::word);
  if (found != listings.end()) return found->listing;
  const auto nearest = std::ranges::min_element(listings, {}, [&](const CardListingName& row) {
    return edit_distance(options.by, row.word);
  });
  return with_hint(
      fail(ErrorKind::unsupported, "--by cannot list by '{}'", plain(options.by)),
      fmt::format("did you mean '{}'? It takes part, layer, attn, ffn and exps", nearest->word));
}

Result<> check(const IdOptions& options) {
  if (options.files.empty()) {
    return with_hint(fail(ErrorKind::unsupported, "no model given"),
                     "picchio id MODEL.gguf; see picchio id --help");
  }
  if (options.hash && options.no_hash) {
    return fail(ErrorKind::unsupported, "--hash and --no-hash contradict each other");
  }
  if (options.json && options.markdown) {
    return fail(ErrorKind::unsupported, "--json and --markdown are two products");
  }
  if (std::ranges::count(options.files, "-") > 1) {
    return fail(ErrorKind::unsupported, "standard input can be read once");
  }
  return {};
}

HashWish hash_wish(const IdOptions& options) {
  if (options.no_hash) return HashWish::none;
  if (options.hash) return HashWish::compute;
  // Somebody who looks on can see the progress and stop it; a script did not ask for minutes.
  return stderr_is_terminal() ? HashWish::wait : HashWish::known;
}

ExitCode print_cards(const std::vector<Card>& cards, const IdOptions& options, CardListing listing,
                     bool interrupted) {
  // A header that contradicts itself is two witnesses that disagree.
  const bool clean = std::ranges::all_of(cards, [](const Card& card) {
    return card.audit.faults.empty() && std::ranges::none_of(card.files, [](const CardFile& file) {
             return file.digest_fault.has_value();
           });
  });
  ExitCode code = clean ? ExitCode::ok : ExitCode::conflicting_evidence;
  // Whoever stops the hashing still wants the card.
  if (interrupted) code = ExitCode::interrupted;
  std::optional<CardDiff> diff;
  if (cards.size() > 1) diff = diff_cards(cards);
  std::string human;
  if (diff && listing == CardListing::none) {
    human = card_diff_text(cards, *diff);
  } else {
    for (const Card& card : cards) human += card_text(card, listing);
    if (diff) human += card_diff_text(cards, *diff);
  }
  if (options.markdown) return print_product(cards_markdown(cards), code);
  if (!options.json) return print_product(human, code);
  print_stderr(human);
  return print_product(cards_json(cards, diff, options.tensors, static_cast<int>(code)) + "\n",
                       code);
}

}  // namespace

ExitCode id(const Arguments& arguments) {
  IdOptions options;
  CLI::App app(kText, "picchio id");
  add_options(app, options);
  app.footer(std::string(kDetails) +
             examples({"picchio id model-Q4_K_M.gguf", "picchio id a.gguf b.gguf c.gguf",
                       "picchio id --by attn model.gguf", "picchio id qwen3:8b",
                       "picchio id hf:OWNER/REPO/model-Q4_K_M.gguf"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  // Behind "--" stand names that begin with a dash.
  options.files.insert(options.files.end(), arguments.rest.begin(), arguments.rest.end());
  if (const Result<> ok = check(options); !ok) return fail_with(ok.error());
  const Result<CardListing> listing = listing_of(options);
  if (!listing) return fail_with(listing.error());
  Result<os::Interrupts> interrupts = os::Interrupts::install();
  if (!interrupts) return fail_with(interrupts.error());
  std::vector<Card> cards;
  for (const std::string& file : options.files) {
    Result<Card> card = read_card(file, *interrupts);
    if (!card) return fail_with(card.error());
    cards.push_back(*std::move(card));
  }
  for (Card& card : cards) {
    if (const Result<> ok = fill_digests(card, hash_wish(options), *interrupts); !ok) {
      return fail_with(ok.error());
    }
  }
  return print_cards(cards, options, *listing, interrupts->caught().has_value());
}

}  // namespace picchio
