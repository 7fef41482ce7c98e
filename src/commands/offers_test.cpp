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
      {{"qwen3:4b", "qwen3:4b", Place::ollama, "", std::nullopt, 1}, "", "ollama"},
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

TEST(Offers, OfServersSayWhereTheyAnswer) {
  servers::DetectedServer server;
  server.kind = ServerKind::llama_server;
  server.endpoint.base_url = "http://127.0.0.1:8080";
  EXPECT_EQ(offer_of(server).name, "llama-server at 127.0.0.1:8080");
  server.version = "b11669";
  server.loading = true;
  const Offer offer = offer_of(server);
  EXPECT_EQ(offer.name, "llama-server b11669 at 127.0.0.1:8080, still loading");
  EXPECT_EQ(command_of(offer), "picchio http://127.0.0.1:8080");
  EXPECT_EQ(offer.size, "");
  EXPECT_EQ(offer.where, "running server");
}

TEST(Offers, ArePasteable) {
  const std::vector<Offer> offers = {{"a.gguf", "", "", "", "this folder"},
                                     {"two words.gguf", "", "", "", "this folder"},
                                     {"/m/b\n.gguf", "", "", "", "~/models"},
                                     {"qwen3:8b", "", "", "", "ollama"}};
  EXPECT_EQ(pasteable(offers, 9),
            "this folder:\n"
            "  picchio a.gguf\n"
            "  picchio 'two words.gguf'\n"
            "~/models:\n"
            "  picchio $'/m/b\\012.gguf'\n"
            "ollama:\n"
            "  picchio qwen3:8b\n");
  EXPECT_EQ(pasteable(offers, 1), "this folder:\n  picchio a.gguf\nand 3 more\n");
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
