#include "commands/offers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace picchio {
namespace {

using models::FoundModel;
using models::Place;

struct OfferCase {
  FoundModel model;
  std::string size;
  std::string where;
};

TEST(Offers, SayWhatAndWhere) {
  const std::vector<OfferCase> cases = {
      {{"a.gguf", "a.gguf", Place::current_folder, "", 5 << 20, 1}, "5.0 MiB", "this folder"},
      {{"b/a.gguf", "a.gguf", Place::current_folder, "b", 1, 1}, "1 B", "this folder: b"},
      {{"qwen3:8b", "qwen3:8b", Place::ollama, "", 5 << 20, 1}, "5.0 MiB", "ollama"},
      {{"/x", "x", Place::hugging_face, "o/r", 5 << 20, 3},
       "5.0 MiB, 3 parts",
       "Hugging Face cache: o/r"},
      {{"/x", "x", Place::home_models, "sub", 5 << 20, 1}, "5.0 MiB", "~/models/sub"},
  };
  for (const OfferCase& row : cases) {
    const Offer offer = offer_of(row.model);
    EXPECT_EQ(offer.argument, row.model.argument);
    EXPECT_EQ(offer.size, row.size);
    EXPECT_EQ(offer.where, row.where);
  }
}

TEST(Offers, ArePasteable) {
  const std::vector<Offer> offers = {{"a.gguf", "", "", "this folder"},
                                     {"two words.gguf", "", "", "this folder"},
                                     {"/m/b\n.gguf", "", "", "~/models/\x1b[31mred"},
                                     {"qwen3:8b", "", "", "ollama"}};
  EXPECT_EQ(pasteable(offers, 9),
            "this folder\n"
            "  picchio a.gguf\n"
            "  picchio 'two words.gguf'\n"
            "~/models/red\n"
            "  picchio $'/m/b\\012.gguf'\n"
            "ollama\n"
            "  picchio qwen3:8b\n");
  EXPECT_EQ(pasteable(offers, 1), "this folder\n  picchio a.gguf\nand 3 more\n");
  EXPECT_EQ(pasteable({}, 1), "");
}

TEST(Offers, TellEachPlaceOnce) {
  EXPECT_EQ(searched({.folders = {{Place::current_folder, "."},
                                  {Place::lm_studio, "/a"},
                                  {Place::lm_studio, "/b"},
                                  {Place::home_models, "/c"}}}),
            "this folder, the folders of LM Studio, ~/models");
}

}  // namespace
}  // namespace picchio
