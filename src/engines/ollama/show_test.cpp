#include "engines/ollama/show.h"

#include "engines/ollama/address.h"
#include "os/loopback_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>

namespace picchio::ollama {
namespace {

constexpr std::string_view kAnswer = R"({
 "license": "MIT", "modelfile": "# x\nFROM /usr/share/ollama/.ollama/models/blobs/sha256-aa\nTEMPLATE y",
 "parameters": "temperature 0.6", "template": "{{ .Prompt }}",
 "details": {"parent_model": "", "format": "gguf", "family": "qwen3", "families": ["qwen3"],
             "parameter_size": "8.2B", "quantization_level": "Q4_K_M"},
 "model_info": {
  "general.architecture": "qwen3", "general.file_type": 15, "general.parameter_count": 8190735360,
  "general.quantization_version": 2, "qwen3.rope.freq_base": 1000000.0, "qwen3.x": 1.5,
  "qwen3.attention.head_count_kv": [8, 8, 0, 8], "qwen3.scales": [1, 1.5],
  "tokenizer.ggml.add_bos_token": false, "tokenizer.ggml.merges": ["a b", "c d", "e f"],
  "tokenizer.ggml.scores": [], "tokenizer.ggml.tokens": null, "odd": [[1, 2], [3]],
  "objects": [{"a": [1]}, 2], "object": {"a": 1}, "huge": 18446744073709551615},
 "tensors": [{"name": "token_embd.weight", "type": "Q4_K", "shape": [4096, 151936]},
             {"name": "blk.0.attn_norm.weight", "type": "F32", "shape": [4096]}],
 "capabilities": ["completion", "tools"], "modified_at": "2026-05-01T10:00:00Z"})";

TEST(OllamaShow, ValuesAndTensors) {
  const auto shown = parse_show(kAnswer);
  ASSERT_TRUE(shown) << shown.error().message;
  const auto& values = shown->values;
  EXPECT_EQ(std::get<std::string>(values.at("general.architecture")), "qwen3");
  EXPECT_EQ(std::get<std::int64_t>(values.at("general.parameter_count")), 8190735360);
  EXPECT_EQ(std::get<double>(values.at("qwen3.x")), 1.5);
  EXPECT_EQ(std::get<double>(values.at("qwen3.rope.freq_base")), 1e6);
  EXPECT_EQ(std::get<bool>(values.at("tokenizer.ggml.add_bos_token")), false);
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(values.at("qwen3.attention.head_count_kv")),
            (std::vector<std::int64_t>{8, 8, 0, 8}));
  EXPECT_EQ(std::get<std::vector<double>>(values.at("qwen3.scales")),
            (std::vector<double>{1, 1.5}));
  EXPECT_EQ(std::get<LongArray>(values.at("tokenizer.ggml.merges")).length, 3);
  EXPECT_EQ(std::get<LongArray>(values.at("odd")).length, 2);
  EXPECT_EQ(std::get<LongArray>(values.at("objects")).length, 2);
  // Left out without "verbose": how many there are is not known.
  EXPECT_FALSE(values.contains("tokenizer.ggml.scores"));
  EXPECT_FALSE(values.contains("tokenizer.ggml.tokens"));
  EXPECT_FALSE(values.contains("object"));
  EXPECT_EQ(std::get<double>(values.at("huge")), 18446744073709551615.0);
  ASSERT_EQ(shown->tensors.size(), 2U);
  EXPECT_EQ(shown->tensors[0].name, "token_embd.weight");
  EXPECT_EQ(shown->tensors[0].type, "Q4_K");
  EXPECT_EQ(shown->tensors[0].shape, (std::vector<std::int64_t>{4096, 151936}));
  EXPECT_EQ(shown->details.at("quantization_level"), "Q4_K_M");
  EXPECT_EQ(shown->capabilities, (std::vector<std::string>{"completion", "tools"}));
  EXPECT_EQ(shown->blob, "/usr/share/ollama/.ollama/models/blobs/sha256-aa");
  EXPECT_TRUE(shown->has_template);
  EXPECT_TRUE(shown->has_parameters);
  EXPECT_EQ(shown->remote_host, std::nullopt);
}

TEST(OllamaShow, AVocabularyIsCountedAndNotKept) {
  std::string tokens;
  std::string numbers;
  constexpr int kTokens = 30'000;
  for (int i = 0; i < kTokens; ++i) {
    tokens += fmt::format("{}\"t{}\"", i == 0 ? "" : ",", i);
    numbers += fmt::format("{}{}", i == 0 ? "" : ",", i);
  }
  const auto shown = parse_show(fmt::format(
      R"({{"model_info": {{"tokens": [{}], "types": [{}], "after": [1, 2]}}, "tensors": []}})",
      tokens, numbers));
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(std::get<LongArray>(shown->values.at("tokens")).length, kTokens);
  EXPECT_EQ(std::get<LongArray>(shown->values.at("types")).length, kTokens);
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(shown->values.at("after")).size(), 2U);
}

// gemma's sliding_window_pattern is such a list.
TEST(OllamaShow, BooleansAreNumbers) {
  const auto shown =
      parse_show(R"({"model_info": {"pattern": [true, false, true], "tensors": 1}})");
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(shown->values.at("pattern")),
            (std::vector<std::int64_t>{1, 0, 1}));
}

TEST(OllamaShow, ACloudModelHasNoTable) {
  const auto shown = parse_show(
      R"({"remote_host": "https://ollama.com:443", "remote_model": "x", "details": {}})");
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(shown->remote_host, "https://ollama.com:443");
  EXPECT_TRUE(shown->tensors.empty());
}

struct Refused {
  const char* text;
  const char* why;
};

constexpr std::array kRefused = {
    Refused{"", "it is no JSON object"},
    Refused{"[1]", "it is no JSON object"},
    Refused{R"({"model_info": {)", "it is no JSON object"},
    Refused{"{}", "it has no model_info"},
    Refused{R"({"model_info": [1]})", "it has no model_info"},
    Refused{R"({"error": "no \u001b[31m way"})", "no way"},
    Refused{R"({"model_info": {}, "tensors": [7]})", "tensor 1 of its table is no object"},
    Refused{R"({"model_info": {}, "tensors": [{"type": "F32", "shape": [1]}]})",
            "tensor 1 of its table has no name"},
    Refused{R"({"model_info": {}, "tensors": [{"name": "a", "shape": [1]}]})",
            "tensor 1 of its table has no type"},
    Refused{R"({"model_info": {}, "tensors": [{"name": "a", "type": "F32"}]})",
            "tensor 1 of its table has no shape"},
    Refused{
        R"({"model_info": {}, "tensors": [{"name": "a", "type": "F32", "shape": [1,1,1,1,1]}]})",
        "tensor 1 of its table has no shape"},
    Refused{R"({"model_info": {}, "tensors": [{"name": "a", "type": "F32", "shape": [-1]}]})",
            "tensor 1 of its table has a shape that is none"},
    Refused{R"({"model_info": {}, "tensors": [{"name": "a", "type": "F32", "shape": [1.5]}]})",
            "tensor 1 of its table has a shape that is none"},
    Refused{R"({"model_info": {}, "tensors": [{"name": "a", "type": "F32",
                "shape": [18446744073709551615]}]})",
            "tensor 1 of its table has a shape that is none"},
};

TEST(OllamaShow, OtherAnswersAreRefused) {
  for (const Refused& each : kRefused) {
    const auto shown = parse_show(each.text);
    ASSERT_FALSE(shown) << each.text;
    EXPECT_EQ(shown.error().message, each.why);
  }
}

os::HttpClient client() {
  return *os::HttpClient::open({.user_agent = "picchio/test", .ca_file = ""}, nullptr);
}

TEST(OllamaShow, AsksTheServer) {
  os::LoopbackServer server([](const os::LoopbackServer::Request&) {
    return os::LoopbackServer::reply("200 OK", "", kAnswer);
  });
  os::HttpClient http = client();
  const auto shown = ask_show(http, server.url("/prefix"), "qwen3:8b");
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(shown->tensors.size(), 2U);
  const auto seen = server.requests().at(0);
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.target, "/prefix/api/show");
  EXPECT_EQ(seen.body, R"({"model":"qwen3:8b","verbose":true})");
}

TEST(OllamaShow, WhatAServerMayAnswerInstead) {
  struct Case {
    const char* status;
    const char* body;
    ErrorKind kind;
    const char* words;
  };
  for (const Case& each :
       {Case{"404 X", R"({"error": "model 'x' not found"})", ErrorKind::not_found,
             "cannot ask ollama for 'x': HOST answers 404 not found: model 'x' not found"},
        Case{"500 X", "<html>", ErrorKind::failed,
             "cannot ask ollama for 'x': HOST answers 500 internal server error"},
        Case{"200 OK", R"({"error": "Unexpected endpoint"})", ErrorKind::failed,
             "cannot use what HOST answers about 'x': Unexpected endpoint"},
        Case{"302 Found", "", ErrorKind::failed, "cannot ask ollama for 'x': HOST answers 302"}}) {
    os::LoopbackServer server([&](const os::LoopbackServer::Request&) {
      return os::LoopbackServer::reply(each.status, "location: http://localhost:1/\r\n", each.body);
    });
    os::HttpClient http = client();
    const auto shown = ask_show(http, server.url(""), "x");
    ASSERT_FALSE(shown);
    std::string wanted = each.words;
    wanted.replace(wanted.find("HOST"), 4, server.host());
    EXPECT_EQ(shown.error().message, wanted);
    EXPECT_EQ(shown.error().kind, each.kind);
  }
}

struct Address {
  const char* text;
  const char* url;  // null: refused
};

// The spellings of facts 1.7; what ollama's own reader makes of each.
constexpr std::array kAddresses = {
    Address{"", "http://127.0.0.1:11434"},
    Address{"0.0.0.0", "http://127.0.0.1:11434"},
    Address{"0.0.0.0:8080", "http://127.0.0.1:8080"},
    Address{"http://0.0.0.0", "http://127.0.0.1:80"},
    Address{"[::]:8080", "http://[::1]:8080"},
    Address{"::", "http://[::1]:11434"},
    Address{"::1", "http://[::1]:11434"},
    Address{"[::1]", "http://[::1]:11434"},
    Address{"fe80::1%eth0", "http://[fe80::1%eth0]:11434"},
    Address{":11435", "http://127.0.0.1:11435"},
    Address{"11435", "http://11435:11434"},
    Address{"gpu-box", "http://gpu-box:11434"},
    Address{"gpu-box:1234", "http://gpu-box:1234"},
    Address{" \"gpu-box:1234\" ", "http://gpu-box:1234"},
    Address{"'gpu-box'", "http://gpu-box:11434"},
    Address{"http://gpu-box", "http://gpu-box:80"},
    Address{"https://gpu-box", "https://gpu-box:443"},
    Address{"https://gpu-box:8443/ollama/", "https://gpu-box:8443/ollama"},
    Address{"gpu-box/ollama", "http://gpu-box:11434/ollama"},
    Address{"gpu-box:99999", "http://gpu-box:11434"},
    Address{"gpu-box:x", "http://gpu-box:11434"},
    Address{"ollama.com", "https://ollama.com:443"},
    Address{"ftp://gpu-box", nullptr},
    Address{"user@gpu-box", nullptr},
    Address{"gpu box", nullptr},
    Address{"gpu-box/a?b", nullptr},
    Address{"http://http://x", nullptr},
};

TEST(OllamaAddress, Spellings) {
  for (const Address& each : kAddresses) {
    const auto url = base_url(each.text);
    ASSERT_EQ(url.has_value(), each.url != nullptr) << each.text << url.value_or("");
    if (url) {
      EXPECT_EQ(*url, each.url) << each.text;
    }
  }
  ASSERT_EQ(::setenv("OLLAMA_HOST", "h:1", 1), 0);
  EXPECT_EQ(base_url(), "http://h:1");
  ASSERT_EQ(::unsetenv("OLLAMA_HOST"), 0);
  EXPECT_EQ(base_url(), "http://127.0.0.1:11434");
}

// A server that means no good: half a million of what nobody asked for, and a table without end.
TEST(Show, WhatNobodyAskedForIsPassedOverAndAnEndlessTableRefused) {
  std::string many;
  for (int i = 0; i < 500'000; ++i) many += "{},";
  many.back() = ' ';
  const auto passed =
      parse_show(R"({"junk": [)" + many + R"(], "model_info": {"general.architecture": "llama"}})");
  ASSERT_TRUE(passed) << passed.error().message;
  EXPECT_EQ(passed->values.size(), 1U);
  EXPECT_FALSE(parse_show(R"({"model_info": {}, "tensors": [)" + many + "]}"));
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_TRUE(parse_show(R"({"model_info": {"x": )" + deep + "}}"));
}

}  // namespace
}  // namespace picchio::ollama
