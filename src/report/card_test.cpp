// Cards as people and programs read them: goldens, hostile names, and what several files share.
#include "base/text.h"
#include "report/block.h"
#include "report/card_text.h"
#include "report/described.h"
#include "report/golden.h"
#include "report/sample_cards.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace picchio {
namespace {

using nlohmann::json;

TEST(CardText, Goldens) {
  Card measured = samples::dense();
  measured.last_kv = LastKv{"q8_0", "q8_0", "2026-11-28T10:00:00Z", "llama.cpp b11669"};
  expect_golden("card_dense.txt", card_text(measured));
  expect_golden("card_head.txt", card_text(samples::with_head()));
  expect_golden("card_odd.txt", card_text(samples::odd()));
  expect_golden("card_by_layer.txt", card_text(samples::dense(), CardListing::by_layer));
  expect_golden("card_by_attn.txt", card_text(samples::dense(), CardListing::by_attention));
  const std::vector<Card> two = {samples::dense(), samples::with_head()};
  expect_golden("card_two.txt", card_diff_text(two, diff_cards(two)));
}

// What holds for every card whatever went in.
void expect_card_rules(const std::string& text) {
  SCOPED_TRACE(text);
  EXPECT_TRUE(text.ends_with('\n'));
  const auto lines = split_lines(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_LE(lines[i].size(), i > 0 ? kBlockColumns : kWideColumns) << lines[i];
    for (const char c : lines[i]) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << lines[i];
  }
}

Card hostile() {
  const std::string evil = "\x1b[2J\x1b]0;title\a" + std::string(500, 'x') + "\n\xff\xfe|<b>";
  Card card = samples::odd();
  card.files[0].path = "/m/" + evil;
  card.architecture = card.name = card.claimed = evil;
  card.sources.assign(200, {evil, evil});
  card.tokenizer = {evil, evil, INT64_MAX, INT64_MAX, {{evil, INT64_MAX}, {evil, 1}}};
  card.block_count = card.context_length = INT64_MAX;
  card.experts = Experts{INT64_MAX, INT64_MAX, INT64_MAX};
  card.active_parameters = card.bytes_per_token = INT64_MAX;
  card.audit.faults = card.objections = {evil, evil};
  card.last_kv = LastKv{evil, evil, evil, evil};
  for (CardTensor& tensor : card.tensors) tensor.name += evil;
  return card;
}

TEST(CardText, NothingFromAFileReachesTheTerminalAsItCame) {
  expect_card_rules(card_text(samples::dense()));
  expect_card_rules(card_text(samples::odd()));
  expect_card_rules(card_text(Card{}));
  expect_card_rules(card_text(hostile()));
  for (const CardListingName& row : card_listings()) {
    for (const char c : card_text(hostile(), row.listing)) {
      EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F)) << row.word;
    }
  }
  const std::vector<Card> two = {hostile(), samples::dense()};
  for (const char c : card_diff_text(two, diff_cards(two)) + cards_markdown(two)) {
    EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F));
  }
}

TEST(CardText, AMarkdownRowHasItsSevenCellsWhateverTheNames) {
  const std::string rows = cards_markdown(std::vector{hostile()});
  for (const std::string_view line : split_lines(rows)) {
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      EXPECT_NE(line[i], '<') << line;
      if (line[i] == '|') ++bars;
      if (line[i] == '\\') ++i;  // and what it takes the meaning from
    }
    EXPECT_EQ(bars, 8U) << line;
  }
}

struct ClaimCase {
  const char* words;
  std::optional<std::int64_t> type;
  const char* path;
  const char* expected;
};

TEST(CardText, TheClaimIsSetAgainstTheName) {
  const ClaimCase cases[] = {
      {"Q4_K - Medium", 15, "/m/a-Q4_K_M.gguf", "Q4_K_M (general.file_type; the name agrees)"},
      {"Q4_K - Medium", 15, "/m/a-q4_k_m.gguf", "Q4_K_M (general.file_type; the name agrees)"},
      {"Q4_K - Medium", 15, "/m/a.Q4_K_S.gguf",
       "Q4_K_M (general.file_type; but the name says Q4_K_S)"},
      {"Q4_K - Medium", 15, "/m/model.gguf", "Q4_K_M (general.file_type; the name holds no label)"},
      {"IQ3_S mix - 3.66 bpw", 27, "/m/a-IQ3_M.gguf", "IQ3_M (general.file_type; the name agrees)"},
      {"all F32", 0, "/m/a-fp32.gguf", "F32 (general.file_type; the name agrees)"},
      {"Q2_K - Medium", 10, "/m/a-Q2_K.gguf", "Q2_K (general.file_type; the name agrees)"},
      {"MXFP4 MoE", 38, "/m/a-MXFP4_MOE.gguf", "MXFP4_MOE (general.file_type; the name agrees)"},
      {"(guessed) Q8_0", std::nullopt, "/m/a-Q8_0.gguf",
       "nothing: no general.file_type; an engine would guess Q8_0 from its tensors; the name says "
       "Q8_0"},
      {"unknown, may not work", 99, "/m/a.gguf",
       "general.file_type 99, which no engine names; the name holds no label"},
  };
  for (const ClaimCase& c : cases) {
    Card card = samples::dense();
    card.claimed = c.words;
    card.file_type = c.type;
    card.files[0].path = c.path;
    const std::string printed = card_text(card);
    std::string text;
    for (const std::string_view line : split_lines(printed)) {
      text += std::string(trim(line)) + ' ';
    }
    EXPECT_NE(text.find(c.expected), std::string::npos) << c.path << "\n" << card_text(card);
  }
}

TEST(CardJson, SaysWhatTheTextSays) {
  const std::vector<Card> two = {samples::dense(), samples::with_head()};
  const json doc = json::parse(cards_json(two, diff_cards(two), true, 0));
  EXPECT_EQ(doc["schema"], "picchio.id.v1");
  EXPECT_EQ(doc["cards"].size(), 2U);
  EXPECT_EQ(doc["cards"][0]["tensors"], 34);
  EXPECT_EQ(doc["cards"][0]["tensor_table"].size(), 34U);
  EXPECT_EQ(doc["cards"][1]["unusual_tensors"][0]["name"], "blk.8.nextn.eh_proj.weight");
  EXPECT_EQ(doc["comparison"]["shared_tensors"], 34);
  EXPECT_EQ(doc["comparison"]["differ"][0]["role"], "attn_v.weight");
  EXPECT_EQ(doc["comparison"]["differ"][0]["types"][0]["q6_K"], 4);
  EXPECT_EQ(doc["comparison"]["partial"][0]["cards"], json::array({1}));
  const json one = json::parse(cards_json(std::vector{samples::odd()}, std::nullopt, false, 5));
  EXPECT_TRUE(one["comparison"].is_null());
  EXPECT_FALSE(one["cards"][0].contains("tensor_table"));
  EXPECT_EQ(one["cards"][0]["audit"]["clean"], false);
  EXPECT_EQ(one["cards"][0]["unpriced_tensors"], 1);
  EXPECT_TRUE(json::accept(cards_json(std::vector{hostile()}, std::nullopt, true, 5)));
}

TEST(CardJson, SchemaAndDocumentNameEveryKey) {
  const std::string docs = std::string(PICCHIO_SOURCE_DIR) + "/docs/";
  const json schema = json::parse(file_text(docs + "schema/id.v1.json"));
  const std::vector<Card> cards = {samples::with_head(), samples::odd(), samples::dense()};
  expect_described(json::parse(cards_json(cards, diff_cards(cards), true, 0)), schema,
                   file_text(docs + "json.md"), "id");
  expect_described(json::parse(cards_json(std::vector{Card{}}, std::nullopt, false, 0)), schema,
                   file_text(docs + "json.md"), "id");
}

TEST(CardDiff, OverSharedTensorsOnly) {
  const std::vector<Card> cards = {samples::dense(), samples::dense("q4_K"), samples::with_head()};
  const CardDiff diff = diff_cards(cards);
  EXPECT_EQ(diff.shared.count, 34);
  EXPECT_EQ(diff.same_type, 30);
  ASSERT_EQ(diff.differ.size(), 1U);
  EXPECT_EQ(diff.differ[0].tensors, 4);
  // The second and the third differ in the head alone, and over the shared tensors not at all.
  EXPECT_EQ(diff.shared.bits_per_weight(1), diff.shared.bits_per_weight(2));
  EXPECT_GT(*diff.shared.bits_per_weight(0), *diff.shared.bits_per_weight(1));
  EXPECT_NE(bits_per_weight(cards[1]), bits_per_weight(cards[2]));
  ASSERT_EQ(diff.partial.size(), 1U);
  EXPECT_EQ(diff.partial[0].in, std::vector<std::size_t>{2});
}

TEST(CardDiff, OfDifferentShapeOrWithoutAPriceIsNotShared) {
  std::vector<Card> cards = {samples::dense(), samples::dense()};
  cards[1].tensors[1].ne = {4096};
  cards[1].tensors[2].bytes.reset();
  const CardDiff diff = diff_cards(cards);
  EXPECT_EQ(diff.shared.count, 32);
  EXPECT_EQ(diff.incomparable.size(), 2U);
}

}  // namespace
}  // namespace picchio
