// The way to disk and back, runs of the established tool, and files that somebody spoiled.
#include "base/text.h"
#include "kept/codec.h"
#include "kept/folder.h"
#include "kept/sample_raw_runs.h"
#include "kept/telemetry.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <tuple>

namespace picchio::kept {
namespace {

namespace fs = std::filesystem;
using samples::random_run;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "picchio-kept-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

void spill(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Equality written out apart from the codec's own list of fields. The structured bindings name
// every field there is: one that is added to a struct stops this file from compiling until it is
// added here, and then the round trip fails until kept/fields.h has it too.
void expect_same(const EngineProgram& a, const EngineProgram& b) {
  const auto& [path, name, version, build] = a;
  EXPECT_EQ(std::tie(path, name, version, build), std::tie(b.path, b.name, b.version, b.build));
}

void expect_same(const MachineGpu& a, const MachineGpu& b) {
  const auto& [name, vendor, address, driver, source, can_compute, reason] = a;
  EXPECT_EQ(std::tie(name, vendor, address, driver, source, can_compute, reason),
            std::tie(b.name, b.vendor, b.address, b.driver, b.source, b.can_compute,
                     b.no_compute_reason));
}

void expect_same(const TensorInfo& a, const TensorInfo& b) {
  const auto& [name, type, elements, bytes, block] = a;
  EXPECT_EQ(std::tie(name, type, elements, bytes, block),
            std::tie(b.name, b.type, b.elements, b.bytes, b.block));
}

void expect_same(const CpuSample& a, const CpuSample& b) {
  const auto& [at, cpu_seconds] = a;
  EXPECT_EQ(std::tie(at, cpu_seconds), std::tie(b.at, b.cpu_seconds));
}

void expect_same(const LocalWorker& a, const LocalWorker& b) {
  const auto& [endpoint, process, libraries, device_nodes] = a;
  EXPECT_EQ(std::tie(endpoint, process, libraries, device_nodes),
            std::tie(b.endpoint, b.process, b.libraries, b.device_nodes));
}

template <class T>
void expect_same(const std::vector<T>& a, const std::vector<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) expect_same(a[i], b[i]);
}

void expect_same(const ProcessFacts& a, const ProcessFacts& b) {
  const auto& [readable, libraries, device_nodes, processes, workers, renderer] = a;
  EXPECT_EQ(std::tie(readable, libraries, device_nodes, processes, renderer),
            std::tie(b.readable, b.libraries, b.device_nodes, b.processes, b.renderer));
  expect_same(workers, b.workers);
}

void expect_same(const Machine& a, const Machine& b) {
  const auto& [chip, os, distribution, ram_bytes, logical_cores, gpus, gpus_known, reason, links,
               ram_speed, modules, cache] = a;
  ASSERT_EQ(links.size(), b.broken_links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto& [cause, found, remedy] = links[i];
    EXPECT_EQ(std::tie(cause, found, remedy),
              std::tie(b.broken_links[i].cause, b.broken_links[i].found, b.broken_links[i].remedy));
  }
  EXPECT_EQ(std::tie(chip, os, distribution, ram_bytes, logical_cores, gpus_known, reason,
                     ram_speed, cache),
            std::tie(b.chip, b.os, b.distribution, b.ram_bytes, b.logical_cores, b.gpus_known,
                     b.gpus_unknown_reason, b.ram_bytes_per_second, b.last_level_cache_bytes));
  ASSERT_EQ(modules.has_value(), b.memory_modules.has_value());
  if (modules && b.memory_modules) {
    const auto& [slots, filled] = *modules;
    EXPECT_EQ(std::tie(slots, filled), std::tie(b.memory_modules->slots, b.memory_modules->filled));
  }
  expect_same(gpus, b.gpus);
}

void expect_same(const ModelFile& a, const ModelFile& b) {
  const auto& [path, name, architecture, file_type, file_bytes, tensor_bytes, parameters, tensors,
               shards, block_count, context_length, expert_count, expert_used_count, nextn, tied,
               always_host, skipped, token_embd, per_token] = a;
  EXPECT_EQ(std::tie(path, name, architecture, file_type, file_bytes, tensor_bytes, parameters,
                     shards, block_count, context_length, expert_count, expert_used_count, nextn,
                     tied, always_host, skipped, token_embd, per_token),
            std::tie(b.path, b.name, b.architecture, b.file_type, b.file_bytes, b.tensor_bytes,
                     b.parameters, b.shards, b.block_count, b.context_length, b.expert_count,
                     b.expert_used_count, b.nextn_predict_layers, b.tied_output,
                     b.always_host_bytes, b.skipped_bytes, b.token_embd_bytes, b.bytes_per_token));
  expect_same(tensors, b.tensors);
}

void expect_same(const RawExchange& a, const RawExchange& b) {
  const auto& [request, prompt_bytes, body, stamps, latency, claim, before, after] = a;
  EXPECT_EQ(std::tie(request, prompt_bytes, body, stamps, latency, claim, before, after),
            std::tie(b.request, b.prompt_bytes, b.body, b.line_stamps, b.latency, b.claim,
                     b.counters_before, b.counters_after));
}

void expect_same(const ServerFacts& a, const ServerFacts& b) {
  const auto& [kind, url, version, model, model_file, local, unseen, process, command_line, loads,
               log_source, no_log, quant, weight_bytes, parameters, context, notes] = a;
  EXPECT_EQ(std::tie(kind, url, version, model, model_file, local, unseen, process, command_line,
                     loads, log_source, no_log, quant, weight_bytes, parameters, context, notes),
            std::tie(b.kind, b.url, b.version, b.model, b.model_file, b.local, b.unseen_because,
                     b.process, b.command_line, b.loads_on_request, b.log_source, b.no_log_because,
                     b.quant, b.weight_bytes, b.parameters, b.context, b.notes));
}

void expect_same(const RawPass& a, const RawPass& b) {
  const auto& [argv, log, line_stamps, stdout_bytes, first_token, last_token, stdout_reads, wall,
               exit_code, cpu, cached_fraction, cache_dropped, repeats, process, prompt_prefix,
               began, exchange] = a;
  EXPECT_EQ(
      std::tie(argv, log, line_stamps, stdout_bytes, first_token, last_token, stdout_reads, wall,
               exit_code, cached_fraction, cache_dropped, repeats, prompt_prefix, began),
      std::tie(b.argv, b.log, b.line_stamps, b.stdout_bytes, b.first_token, b.last_token,
               b.stdout_reads, b.wall, b.exit_code, b.cached_fraction, b.cache_dropped, b.repeats,
               b.prompt_prefix, b.began));
  expect_same(cpu, b.cpu);
  expect_same(process, b.process);
  ASSERT_EQ(exchange.has_value(), b.exchange.has_value());
  if (exchange) expect_same(*exchange, *b.exchange);
}

void expect_same(const RawRun& a, const RawRun& b) {
  const auto& [picchio_version, protocol, engine, machine, model, model_label, user_args,
               environment, context_asked, tokens_asked, prompt_note, passes, telemetry, server] =
      a;
  EXPECT_EQ(std::tie(picchio_version, protocol, model_label, user_args, environment, context_asked,
                     tokens_asked, prompt_note),
            std::tie(b.picchio_version, b.protocol, b.model_label, b.user_args, b.environment,
                     b.context_asked, b.tokens_asked, b.prompt_note));
  expect_same(engine, b.engine);
  expect_same(machine, b.machine);
  ASSERT_EQ(model.has_value(), b.model.has_value());
  if (model) expect_same(*model, *b.model);
  ASSERT_EQ(server.has_value(), b.server.has_value());
  if (server) expect_same(*server, *b.server);
  EXPECT_EQ(telemetry_to_text(telemetry), telemetry_to_text(b.telemetry));
  ASSERT_EQ(passes.size(), b.passes.size());
  for (std::size_t i = 0; i < passes.size(); ++i) expect_same(passes[i], b.passes[i]);
}

void keep(const std::string& folder, const RawRun& run) {
  const Result<> header = write_run(folder, run);
  ASSERT_TRUE(header) << header.error().message;
  for (std::size_t i = 0; i < run.passes.size(); ++i) {
    const Result<> pass = write_pass(folder, run, i);
    ASSERT_TRUE(pass) << pass.error().message;
  }
}

TEST(Codec, EveryFieldComesBack) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const RawRun run = random_run(seed);
    const Result<KeptHeader> header = run_from_json(run_to_json(run));
    ASSERT_TRUE(header) << header.error().message;
    RawRun back = header->run;
    EXPECT_EQ(static_cast<std::size_t>(header->pass_count), run.passes.size());
    for (const RawPass& pass : run.passes) {
      const Result<RawPass> read = pass_from_json(pass_to_json(run, pass));
      ASSERT_TRUE(read) << read.error().message;
      const auto stamps = stamps_from_text(stamps_to_text(pass.line_stamps));
      ASSERT_TRUE(stamps) << stamps.error().message;
      back.passes.push_back(*read);
      back.passes.back().log = pass.log;  // a file of its own, as it is
      back.passes.back().line_stamps = *stamps;
      if (pass.exchange && back.passes.back().exchange) {
        back.passes.back().exchange->body = pass.exchange->body;  // the same
        back.passes.back().exchange->line_stamps = pass.exchange->line_stamps;
      }
    }
    expect_same(run, back);
  }
}

TEST(Folder, EveryByteOfARunComesBack) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const TemporaryFolder folder;
    RawRun run = random_run(seed);
    run.telemetry.gpus.resize(seed % 3);
    run.telemetry.samples = {{Micros{seed}, std::vector<GpuReading>(seed % 3)}};
    run.telemetry.none_because = seed % 3 == 0 ? "no GPU meter" : "";
    keep(folder.file("a/b"), run);
    const Result<RawRun> back = read_run(folder.file("a/b"));
    ASSERT_TRUE(back) << back.error().message;
    expect_same(run, *back);
  }
}

TEST(Folder, FilesAreForTheirOwnerAndTheEstablishedTool) {
  const TemporaryFolder folder;
  RawRun run = random_run(3);
  run.server.reset();
  run.engine = {"/usr/bin/llama-completion", "llama-completion", "0.7.0", "b11669"};
  run.model.reset();
  run.model_label = "tiny.gguf";
  run.user_args = {"-ngl", "4"};
  run.passes[0].wall = Micros(4904695);
  run.passes[0].prompt_prefix = "Run 7978b8f3 pass 01. ";
  keep(folder.path(), run);
  EXPECT_EQ(slurp(folder.file("pass1.stderr.txt")), run.passes[0].log);
  const auto meta = nlohmann::json::parse(slurp(folder.file("pass1.meta.json")));
  EXPECT_EQ(meta["wall_s"], 4.904695);
  EXPECT_EQ(meta["engine"], "llama.cpp b11669");
  EXPECT_EQ(meta["model_name"], "tiny.gguf");
  EXPECT_EQ(meta["prompt_nonce"], "Run 7978b8f3 pass 01. ");
  EXPECT_EQ(meta["extra_args"], (nlohmann::json{"-ngl", "4"}));
  for (const char* name : {"run.json", "pass1.stderr.txt", "pass1.meta.json", "pass1.stamps.txt"}) {
    EXPECT_EQ(fs::status(folder.file(name)).permissions() & fs::perms::all,
              fs::perms::owner_read | fs::perms::owner_write)
        << name;
  }
}

TEST(Folder, ARunThatEndedEarlyIsReadUpToThere) {
  const TemporaryFolder folder;
  RawRun run = random_run(5);
  run.passes.resize(1);
  keep(folder.path(), run);
  const Result<RawRun> back = read_run(folder.path());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->passes.size(), 1U);
}

TEST(Folder, NumbersThatAreNotFiniteAreNotKept) {
  const TemporaryFolder folder;
  RawRun run = random_run(6);
  run.passes.resize(1);
  run.passes[0].cached_fraction = std::numeric_limits<double>::quiet_NaN();
  run.passes[0].cpu = {{Micros(1), 1.5}, {Micros(2), std::numeric_limits<double>::infinity()}};
  keep(folder.path(), run);
  const Result<RawRun> back = read_run(folder.path());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_FALSE(back->passes[0].cached_fraction);
  ASSERT_EQ(back->passes[0].cpu.size(), 1U);
  EXPECT_EQ(back->passes[0].cpu[0].cpu_seconds, 1.5);
}

struct Spoiled {
  std::string name;
  std::string file;
  std::function<std::string(const std::string&)> change;  // "" removes the file
  std::string reason;
};

std::string with(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return "the test's text is gone";
  return text.replace(at, from.size(), to);
}

TEST(Folder, SpoiledFilesAreNamedWithTheReason) {
  const std::vector<Spoiled> table = {
      {"no pass file", "pass2.stderr.txt", [](const auto&) { return ""; },
       "lacks 'pass2.stderr.txt'"},
      {"no stamps", "pass1.stamps.txt", [](const auto&) { return ""; }, "lacks 'pass1.stamps.txt'"},
      {"no meta", "pass1.meta.json", [](const auto&) { return ""; }, "lacks 'pass1.meta.json'"},
      {"half a file", "run.json", [](const auto& text) { return text.substr(0, text.size() / 2); },
       "run.json': it is not JSON"},
      {"other schema", "run.json",
       [](const auto& text) { return with(text, "kept-run.v1", "run.v1"); },
       "its schema is not 'picchio.kept-run.v1'"},
      {"an array", "run.json", [](const auto&) { return "[1]"; }, "it is not a JSON object"},
      {"a wrong type", "run.json",
       [](const auto& text) { return with(text, "\"pass_count\": 2", "\"pass_count\": \"2\""); },
       "field 'pass_count' is not a whole number"},
      {"no such count", "run.json",
       [](const auto& text) { return with(text, "\"pass_count\": 2", "\"pass_count\": 2000000"); },
       "field 'pass_count' is not between 0 and 1000"},
      {"a deep wrong type", "run.json",
       [](const auto& text) { return with(text, "\"gpus_known\":", "\"gpus_known\":4,\"x\":"); },
       "field 'machine.gpus_known' is not true or false"},
      {"a bomb of brackets", "run.json", [](const auto&) { return std::string(1000000, '['); },
       "it nests deeper than 32 levels"},
      {"a number too large", "pass1.meta.json",
       [](const auto& text) {
         return with(text, "\"exit_code\": ", "\"exit_code\": 99999999999, \"x\": ");
       },
       "field 'exit_code' is not a number of 32 bits"},
      {"a number beyond 64 bits", "pass1.meta.json",
       [](const auto& text) {
         return with(text, "\"wall_us\": ", "\"wall_us\": 18446744073709551615, \"x\": ");
       },
       "field 'wall_us' is not a whole number"},
      {"bad hex", "pass1.meta.json",
       [](const auto& text) {
         return with(text, "\"prompt_prefix\": ", "\"prompt_prefix\": {\"hex\": \"4\"}, \"x\": ");
       },
       "field 'prompt_prefix' is not a string"},
      {"a bad stamp", "pass1.stamps.txt", [](const auto&) { return "1\n2\nnow\x1b[31m\n"; },
       "line 3 is not a whole number of microseconds: 'now'"},
  };
  for (const Spoiled& spoiled : table) {
    SCOPED_TRACE(spoiled.name);
    const TemporaryFolder folder;
    RawRun run = random_run(8);
    run.passes.resize(2);
    keep(folder.path(), run);
    const std::string path = folder.file(spoiled.file);
    const std::string changed = spoiled.change(slurp(path));
    if (changed.empty()) {
      fs::remove(path);
    } else {
      spill(path, changed);
    }
    const Result<RawRun> back = read_run(folder.path());
    ASSERT_FALSE(back);
    EXPECT_NE(back.error().message.find(spoiled.reason), std::string::npos) << back.error().message;
  }
}

// Every prefix and many single-byte changes: an answer or an error, never a crash.
TEST(Codec, NoTextCrashesIt) {
  const RawRun run = random_run(11);
  const std::string header = run_to_json(run);
  const std::string meta = pass_to_json(run, run.passes[0]);
  const auto read_all = [](const std::string& text) {
    return static_cast<int>(run_from_json(text).has_value()) +
           static_cast<int>(pass_from_json(text).has_value()) +
           static_cast<int>(foreign_pass_from_json(text).has_value()) +
           static_cast<int>(stamps_from_text(text).has_value());
  };
  int answers = 0;
  for (const std::string& text : {header, meta}) {
    for (std::size_t i = 0; i < text.size(); i += 1 + text.size() / 50) {
      // Without its line end alone a text is still whole.
      if (i + 2 < text.size()) {
        EXPECT_LE(read_all(text.substr(0, i)), 1);
      }
      for (const char c : {'\0', '"', '[', '{', '9', '-', '\xff', 'n'}) {
        std::string changed = text;
        changed[i] = c;
        answers += read_all(changed);
      }
    }
  }
  EXPECT_GT(answers, 0);  // changes inside strings are still readable
}

TEST(Codec, AnOlderRunHasFewerFields) {
  const Result<KeptHeader> header = run_from_json(R"({"schema": "picchio.kept-run.v1"})");
  ASSERT_TRUE(header);
  EXPECT_EQ(header->run.protocol, "mp1");
  EXPECT_FALSE(header->run.model);
  const Result<RawPass> pass =
      pass_from_json(R"({"schema": "picchio.kept-pass.v1", "future": [1]})");
  ASSERT_TRUE(pass);
  EXPECT_FALSE(pass->cached_fraction);
}

TEST(Codec, ForeignPasses) {
  const auto pass = foreign_pass_from_json(
      R"({"wall_s": 49.92333729201346, "engine": "llama.cpp b9430", "model_name": "m.gguf",
          "extra_args": ["-ngl", "0"], "prompt_nonce": null})");
  ASSERT_TRUE(pass) << pass.error().message;
  EXPECT_EQ(pass->pass.wall, Micros(49923337));
  EXPECT_EQ(pass->engine.name, "llama.cpp");
  EXPECT_EQ(pass->engine.build, "b9430");
  EXPECT_EQ(pass->user_args, (std::vector<std::string>{"-ngl", "0"}));
  const auto single = foreign_pass_from_json(
      R"({"case":"x","exit":3,"wall_s":8,"cmd":"llama-completion -m model.gguf -ngl 99"})");
  ASSERT_TRUE(single) << single.error().message;
  EXPECT_EQ(single->pass.exit_code, 3);
  EXPECT_EQ(single->pass.argv.size(), 5U);
  EXPECT_EQ(single->engine.name, "llama-completion");
  struct Name {
    const char* text;
    const char* name;
    const char* build;
  };
  for (const Name& each : {Name{"llama.cpp llama-completion", "llama-completion", ""},
                           Name{"llama.cpp b0.2.0-dev", "llama.cpp", "b0.2.0-dev"},
                           Name{"llama.cpp (version unknown)", "llama.cpp", ""}}) {
    const auto read =
        foreign_pass_from_json(fmt::format(R"({{"wall_s": 1, "engine": "{}"}})", each.text));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->engine.name, each.name);
    EXPECT_EQ(read->engine.build, each.build);
  }
  for (const char* bad : {R"({"wall_s": "8"})", R"({"wall_s": -1})", R"({"wall_s": 1e300})",
                          R"({})", R"({"wall_s": 1, "extra_args": "-ngl 0"})", R"([])", ""}) {
    EXPECT_FALSE(foreign_pass_from_json(bad)) << bad;
  }
}

TEST(Folder, RunsOfTheEstablishedToolAreRead) {
  const fs::path corpus = fs::path(PICCHIO_CORPUS_DIR) / "raw";
  if (!fs::exists(corpus)) GTEST_SKIP() << "no recorded runs at " << corpus;
  for (const char* name : {"healthy-metal", "cpu-fallback", "linux-4090", "linux-5090-cuda"}) {
    const Result<RawRun> run = read_run((corpus / name).string());
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->passes.size(), 3U) << name;
    EXPECT_FALSE(run->model_label.empty()) << name;
    EXPECT_FALSE(run->machine.gpus_known) << name;
    for (const RawPass& pass : run->passes) {
      EXPECT_GT(pass.wall.count(), 0) << name;
      EXPECT_FALSE(pass.log.empty()) << name;
      EXPECT_TRUE(pass.line_stamps.empty()) << name;
    }
  }
  const Result<RawRun> forced = read_run((corpus / "cpu-fallback").string());
  EXPECT_EQ(forced->user_args, (std::vector<std::string>{"--device", "none", "-ngl", "0"}));
  const Result<RawRun> single = read_run((corpus / "linux-4090/cuda-ngl0.stderr.txt").string());
  ASSERT_TRUE(single) << single.error().message;
  EXPECT_EQ(single->passes.size(), 1U);
  EXPECT_EQ(single->passes[0].wall, Micros(163'000'000));
  const Result<RawRun> endpoint = read_run((corpus / "server-endpoint").string());
  ASSERT_TRUE(endpoint) << endpoint.error().message;
  EXPECT_EQ(endpoint->server->kind, ServerKind::llama_server);
  EXPECT_FALSE(endpoint->server->loads_on_request);
  EXPECT_EQ(endpoint->server->context, 4096);
  const Result<RawRun> ollama = read_run((corpus / "ollama-35b").string());
  ASSERT_TRUE(ollama) << ollama.error().message;
  EXPECT_EQ(ollama->server->kind, ServerKind::ollama);
  EXPECT_EQ(ollama->server->version, "0.31.1");
  EXPECT_TRUE(ollama->server->loads_on_request);
  EXPECT_NE(ollama->passes[0].exchange->claim.find("size_vram"), std::string::npos);
  const Result<RawRun> log_alone = read_run((corpus / "kv-q8").string());
  ASSERT_FALSE(log_alone);
  EXPECT_NE(log_alone.error().message.find("lacks 'ctk-q8.meta.json'"), std::string::npos);
  EXPECT_FALSE(log_alone.error().hint.empty());
}

TEST(Folder, ForeignFoldersThatAreNoRun) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_run(folder.path()).error().kind, ErrorKind::not_found);
  EXPECT_EQ(read_run(folder.file("absent")).error().kind, ErrorKind::not_found);
  spill(folder.file("pass1.stderr.txt"), "log");
  spill(folder.file("pass1.meta.json"), R"({"wall_s": 1})");
  spill(folder.file("pass3.stderr.txt"), "log");
  spill(folder.file("pass3.meta.json"), R"({"wall_s": 1})");
  const Result<RawRun> gap = read_run(folder.path());
  ASSERT_FALSE(gap);
  EXPECT_NE(gap.error().message.find("lacks 'pass2.stderr.txt'"), std::string::npos)
      << gap.error().message;
  const TemporaryFolder several;
  for (const char* name : {"a", "b"}) {
    spill(several.file(name + std::string(".stderr.txt")), "log");
    spill(several.file(name + std::string(".meta.json")), R"({"wall_s": 1})");
  }
  const Result<RawRun> two = read_run(several.path());
  ASSERT_FALSE(two);
  EXPECT_NE(two.error().hint.find("a.stderr.txt"), std::string::npos);
  EXPECT_TRUE(read_run(several.file("b.stderr.txt")));
}

}  // namespace
}  // namespace picchio::kept
