// Servers that were running already: their answers as passes, their claims, and the rules for a
// server of which no line tells where the bytes are.
#include "verdict/answers.h"
#include "verdict/judge.h"
#include "verdict/lanes.h"
#include "verdict/server_claim.h"
#include "verdict/test_recordings.h"
#include "verdict/witnesses.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace picchio::test {
namespace {

using MeasuredRun = Run;  // googletest has a Test::Run

/// 730 prompt tokens at 600 tok/s, 128 generated ones at 20: what test_recordings.h expects.
ServerAnswer answer_of() {
  ServerAnswer out;
  out.finished = true;
  out.prompt_tokens = out.evaluated_tokens = 730;
  out.generated_tokens = 127;
  out.prompt_ms = 730.0 * 1000 / 600;
  out.eval_ms = 127.0 * 1000 / 20;
  out.prefill_source = out.decode_source = RateSource::engine;
  out.first_token = second(kDecodeBegin);
  out.last_token = second(kDecodeEnd);
  out.pieces = 127;
  return out;
}

RawRun server_run(std::size_t passes, ServerKind kind = ServerKind::ollama) {
  RawRun raw = raw_run(passes);
  ServerFacts server;
  server.kind = kind;
  server.version = "0.33.0";
  server.local = true;
  server.loads_on_request = kind == ServerKind::ollama;
  server.no_log_because = "its standard error is a terminal";
  server.weight_bytes = gib(8.4);
  raw.server = server;
  raw.tokens_asked = 127;
  for (RawPass& pass : raw.passes) {
    pass.exchange.emplace();
    pass.first_token = second(kDecodeBegin);
    pass.last_token = second(kDecodeEnd);
    pass.stdout_reads = 127;
    pass.process = process_facts({"libcuda.so.1"}, {"/dev/nvidia0"});
    // One core waits.
    pass.cpu = {{Micros(0), 0}, {second(kPass), kPass}};
  }
  return raw;
}

MeasuredRun judged(RawRun raw, std::optional<ServerClaim> claim,
                   ServerAnswer answer = answer_of()) {
  std::vector<ReadExchange> exchanges(raw.passes.size(), ReadExchange{answer, claim});
  return assemble(std::move(raw), {}, std::move(exchanges));
}

ServerClaim claims(double gpu_gib) { return {gib(9.1), gib(gpu_gib), 4096}; }

/// A run without any recording of a meter.
RawRun unmetered(RawRun raw) {
  raw.telemetry.none_because = "no GPU meter on this machine";
  return raw;
}

RawRun far_away(RawRun raw) {
  raw.server->local = false;
  raw.server->unseen_because = "it runs on another machine";
  raw.machine = Machine{};
  raw.machine.gpus_known = false;
  for (RawPass& pass : raw.passes) pass.process = ProcessFacts{};
  return unmetered(std::move(raw));
}

struct Case {
  const char* what;
  const char* rule;
  State state;
  MeasuredRun run;
};

TEST(Servers, RulesWithoutALog) {
  Scene idle{.prefill_busy = 1,
             .decode_busy = 1,
             .work_watts = 15,
             .step_gib = 0,
             .own_gib = 0,
             .own_busy = 0};
  Scene half{.decode_busy = 55, .step_gib = 4, .own_gib = 4, .own_busy = 50};
  Scene warm{.step_gib = 0, .own_gib = 9};
  Scene unified{.step_gib = 0.2, .tells_processes = false};
  Scene drowsy{.decode_busy = 60,
               .step_gib = 0.2,
               .own_gib = std::nullopt,
               .own_busy = std::nullopt,
               .tells_processes = false};
  RawRun no_gpu = unmetered(server_run(2));
  no_gpu.machine.gpus.clear();
  RawRun on_cpu = no_gpu;
  for (RawPass& pass : on_cpu.passes) pass.process = process_facts({"libggml-cpu.so"});
  RawRun lying = unmetered(server_run(2));
  for (RawPass& pass : lying.passes) pass.process = process_facts({"libggml-cpu.so"});
  RawRun rendered = on_cpu;
  for (RawPass& pass : rendered.passes) pass.process.renderer = "llvmpipe";
  MeasuredRun burning = judged(unmetered(server_run(2)), claims(9.1));
  for (Pass& pass : burning.passes) {
    pass.cpu.decode_cores = 7.9;
    pass.log.threads = 8;
  }
  const ServerKind llama = ServerKind::llama_server;
  const auto with_cores = [](MeasuredRun run, double cores) {
    for (Pass& pass : run.passes) pass.cpu.decode_cores = cores;
    return run;
  };
  Scene turns{.decode_busy = 50, .step_gib = 0, .own_gib = 5, .own_busy = 48};
  MeasuredRun odd_pass = judged(recorded(server_run(2, llama), {warm}), std::nullopt);
  odd_pass.passes[0].cpu.decode_cores = 4;
  odd_pass.passes[1].cpu.decode_cores = 1;
  RawRun asked = server_run(2, llama);
  asked.server->command_line = {"llama-server", "-m", "x.gguf", "-nkvo"};
  RawRun kept_by_others = server_run(2, llama);
  kept_by_others.server->local = false;
  for (RawPass& pass : kept_by_others.passes) pass.cpu.clear();
  RawRun unread = server_run(2, llama);
  for (RawPass& pass : unread.passes) pass.cpu.clear();
  RawRun one_thread = server_run(2, llama);
  one_thread.server->command_line = {"llama-server", "-t", "1"};
  MeasuredRun later = judged(unmetered(server_run(2)), claims(9.1));
  later.passes[1].claim = claims(5.5);
  Scene filled{.decode_busy = 60, .step_gib = 0, .own_gib = 9, .own_busy = 55};

  const std::vector<Case> cases = {
      {"claim and meter agree", "meter-acquits", State::healthy,
       judged(recorded(server_run(2), {Scene{}}), claims(9.1))},
      {"no claim, its own work all the time", "meter-acquits", State::healthy,
       judged(recorded(server_run(2, llama), {warm}), std::nullopt)},
      {"no process told, busy all the time: with whose work?", "nothing-tells",
       State::no_placement_evidence,
       judged(recorded(server_run(2, llama), {unified}), std::nullopt)},
      {"100% claimed, no process told, busy all the time", "claim-alone",
       State::no_placement_evidence, judged(recorded(server_run(2), {unified}), claims(9.1))},
      {"a run that others kept, busy all the time", "meter-acquits", State::healthy,
       judged(recorded(kept_by_others, {unified}), std::nullopt)},
      {"two cards that take turns", "meter-acquits", State::healthy,
       judged(recorded(server_run(2, llama), {turns, turns}), std::nullopt)},
      {"the weights' size in memory, busy for half of the time", "nothing-tells",
       State::no_placement_evidence,
       with_cores(judged(recorded(server_run(2, llama), {filled}), std::nullopt), 1.0)},
      {"100% claimed, busy for half of the time", "claim-alone", State::no_placement_evidence,
       with_cores(judged(recorded(server_run(2), {filled}), claims(9.1)), 1.0)},
      {"busy all the time, but so is the CPU", "nothing-tells", State::no_placement_evidence,
       with_cores(judged(recorded(server_run(2, llama), {warm}), std::nullopt), 5.0)},
      {"busy all the time, but the CPU in one pass", "nothing-tells", State::no_placement_evidence,
       odd_pass},
      {"100% claimed, a card at work for somebody, the CPU works", "claim-alone",
       State::no_placement_evidence,
       with_cores(judged(recorded(server_run(2), {unified}), claims(9.1)), 5.0)},
      {"busy all the time, asked for the cache on the host", "nothing-tells",
       State::no_placement_evidence, judged(recorded(asked, {warm}), std::nullopt)},
      {"busy all the time, the CPU was not read", "nothing-tells", State::no_placement_evidence,
       judged(recorded(unread, {warm}), std::nullopt)},
      {"busy with somebody's work, one thread that may compute", "nothing-tells",
       State::no_placement_evidence, judged(recorded(one_thread, {unified}), std::nullopt)},
      {"busy with its own work, one thread", "meter-acquits", State::healthy,
       judged(recorded(one_thread, {warm}), std::nullopt)},
      {"60% claimed in a later pass", "claim-partial", State::partial_offload, later},
      {"busy for half of the time acquits nobody", "nothing-tells", State::no_placement_evidence,
       judged(recorded(server_run(2, llama), {drowsy}), std::nullopt)},
      {"half of the weights acquit nobody", "nothing-tells", State::no_placement_evidence,
       judged(recorded(server_run(2, llama), {half}), std::nullopt)},
      {"100% claimed, the card idle", "claim-contradicted", State::conflicting_evidence,
       judged(recorded(server_run(2), {idle}), claims(9.1))},
      {"100% claimed, every thread at work", "claim-contradicted", State::conflicting_evidence,
       burning},
      {"100% claimed, no driver in the process", "gpu-stood-by", State::silent_cpu_fallback,
       judged(lying, claims(9.1))},
      {"0% claimed, the card at work", "claim-contradicted", State::conflicting_evidence,
       judged(recorded(server_run(2), {Scene{}}), claims(0))},
      {"0% claimed, a card here", "gpu-stood-by", State::silent_cpu_fallback,
       judged(unmetered(server_run(2)), claims(0))},
      {"0% claimed far away", "cpu-inventory-unknown", State::silent_cpu_fallback,
       judged(far_away(server_run(2)), claims(0))},
      {"60% claimed", "claim-partial", State::partial_offload,
       judged(recorded(server_run(2), {half}), claims(5.5))},
      {"60% claimed far away", "claim-partial", State::partial_offload,
       judged(far_away(server_run(2)), claims(5.5))},
      {"100% claimed far away", "claim-alone", State::no_placement_evidence,
       judged(far_away(server_run(2)), claims(9.1))},
      {"nothing claimed far away", "nothing-tells", State::no_placement_evidence,
       judged(far_away(server_run(2, llama)), std::nullopt)},
      {"100% of nothing", "nothing-tells", State::no_placement_evidence,
       judged(far_away(server_run(2)), ServerClaim{0, 0, 4096})},
      {"100% claimed here, nobody else could testify", "claim-alone", State::no_placement_evidence,
       judged(unmetered(server_run(2)), claims(9.1))},
      {"no GPU in the machine", "cpu-only-machine", State::cpu_only_machine,
       judged(on_cpu, claims(9.1))},
      {"llvmpipe", "software-device", State::silent_cpu_fallback, judged(rendered, claims(9.1))},
  };
  for (const Case& c : cases) {
    const Verdict verdict = judge(c.run);
    EXPECT_EQ(verdict.rule, c.rule) << c.what << ": " << verdict.sentence;
    EXPECT_EQ(name_of(verdict.state), name_of(c.state)) << c.what;
  }
}

TEST(Servers, ARendererIsTheCauseWithoutALog) {
  RawRun raw = unmetered(server_run(1, ServerKind::llama_server));
  raw.machine.gpus.clear();
  raw.environment["GGML_VK_VISIBLE_DEVICES"] = "0";
  raw.passes[0].process = process_facts({"libvulkan_lvp.so"});
  raw.passes[0].process.renderer = "llvmpipe";
  const Verdict verdict = judge(judged(raw, std::nullopt));
  ASSERT_TRUE(verdict.cause);
  EXPECT_EQ(verdict.cause->id, "software_vulkan_device");
  EXPECT_EQ(verdict.cause->fix, "unset GGML_VK_VISIBLE_DEVICES");
}

TEST(Servers, ALogOfTheServersDecidesBeforeItsClaim) {
  RawRun raw = unmetered(server_run(2));
  std::vector<ReadExchange> exchanges(2, ReadExchange{answer_of(), claims(9.1)});
  const MeasuredRun run = assemble(raw, {cpu_with_card()}, exchanges);
  EXPECT_EQ(judge(run).state, State::silent_cpu_fallback);
}

TEST(Servers, AnotherModelsLoadInTheLogIsNotOurs) {
  EngineLog log = full_cuda();
  log.loads.back().model_path = "/blobs/sha256-aa";
  EngineLog both = log;
  both.loads.push_back(log.loads.back());
  both.loads.back().model_path = "/blobs/sha256-bb";
  EngineLog nameless = full_cuda();
  EngineLog twice = log;
  twice.loads.push_back(log.loads.back());
  // The one on the card last: the one on the host would be taken for it.
  EngineLog two_places = cpu_with_card();
  two_places.loads.back().model_path = "/blobs/sha256-aa";
  two_places.devices = log.devices;
  two_places.loads.push_back(log.loads.back());
  struct Row {
    const char* file;
    EngineLog log;
    Shape shape;
  };
  for (const Row& row : std::vector<Row>{{"/blobs/sha256-aa", log, Shape::gpu},
                                         {"/blobs/sha256-cc", log, Shape::unknown},
                                         {"/elsewhere/sha256-aa", log, Shape::unknown},
                                         {"sha256-aa", log, Shape::gpu},
                                         {"/blobs/sha256-aa", nameless, Shape::unknown},
                                         {"/blobs/sha256-aa", twice, Shape::gpu},
                                         {"/blobs/sha256-aa", two_places, Shape::unknown},
                                         {"", two_places, Shape::unknown},
                                         {"/blobs/sha256-aa", both, Shape::unknown},
                                         {"", log, Shape::gpu},
                                         {"", both, Shape::unknown}}) {
    RawRun raw = unmetered(server_run(1, ServerKind::llama_server));
    raw.server->model_file = row.file;
    std::vector<ReadExchange> exchanges(1, ReadExchange{answer_of(), std::nullopt});
    EXPECT_EQ(assemble(raw, {row.log}, exchanges).placement.shape, row.shape) << row.file;
  }
}

TEST(Servers, AClaimOfLessDeniesBytesOnTheGpu) {
  std::vector<ReadExchange> exchanges(1, ReadExchange{answer_of(), claims(4)});
  const MeasuredRun run = assemble(unmetered(server_run(1)), {full_cuda()}, exchanges);
  const Verdict verdict = judge(run);
  EXPECT_EQ(verdict.rule, "claim-denies-bytes") << verdict.sentence;
  EXPECT_EQ(verdict.state, State::conflicting_evidence);
}

TEST(Servers, WarmServersBringNoMemory) {
  // The model was there before the first look: that nothing came convicts nobody.
  Scene short_work{.decode_busy = 0,
                   .work_watts = 15,
                   .step_gib = 0,
                   .own_gib = std::nullopt,
                   .own_busy = std::nullopt,
                   .tells_processes = false};
  short_work.hz = 1;
  const MeasuredRun run =
      judged(recorded(server_run(1, ServerKind::llama_server), {short_work}), std::nullopt);
  EXPECT_FALSE(gpu_meter_testimony(run).word) << gpu_meter_testimony(run).sentence;
}

TEST(ServerClaim, WordsByVersion) {
  struct Row {
    const char* version;
    ServerClaim claim;
    std::optional<Word> word;
    const char* says;
  };
  const std::int64_t size = gib(8.4);
  for (const Row& row : std::vector<Row>{
           {"0.31.1", {gib(9), gib(9), 4096}, Word::gpu, "100% of"},
           {"0.31.1", {gib(9), gib(8.99), 4096}, Word::partial, "not quite 100%"},
           {"0.31.1", {gib(9), gib(4.5), 4096}, Word::partial, "50% of"},
           {"0.30.4", {gib(9), gib(4.5), 4096}, Word::partial, "counted twice"},
           {"0.31.1", {gib(9), 1024, 4096}, Word::partial, "less than 1%"},
           {"0.31.1", {gib(9), 0, 4096}, Word::cpu, "0% of"},
           {"0.9.6", {gib(9), gib(9), {}}, Word::gpu, "planned before the load"},
           {"0.33.0", {size, size, 4096}, std::nullopt, "could not read the runner's log"},
           {"0.0.0", {size, size, 4096}, std::nullopt, "could not read the runner's log"},
           {"0.33.0", {size - 500, size - 500, 4096}, std::nullopt, "no more than the files"},
           {"0.20.0", {size, size, 4096}, Word::gpu, "100% of"},
           {"0.33.0", {0, 0, 4096}, std::nullopt, "0 of 0 bytes"},
           {"0.33.0", {gib(1), gib(2), 4096}, std::nullopt, "says nothing"}}) {
    RawRun raw = server_run(1);
    raw.server->version = row.version;
    const Testimony heard = server_claim_testimony(judged(raw, row.claim));
    EXPECT_EQ(heard.word, row.word) << row.version << ": " << heard.sentence;
    EXPECT_NE(heard.sentence.find(row.says), std::string::npos) << heard.sentence;
  }
  const MeasuredRun other = judged(server_run(1, ServerKind::vllm), claims(9.1));
  EXPECT_FALSE(server_claim_testimony(other).word);
}

TEST(ServerClaim, Versions) {
  EXPECT_LT(parse_version("0.9.6"), parse_version("0.11.11"));
  EXPECT_EQ(parse_version("0.33.0-rc2"), (ServerVersion{0, 33, 0}));
  for (const char* text : {"", "0.0.0", "1.2", "a.b.c", "1.2.3.4", "0.31.-1", "0.31.99999"}) {
    EXPECT_FALSE(parse_version(text)) << text;
  }
}

TEST(Answers, LanesAreTheServersFigures) {
  const MeasuredRun run = judged(unmetered(server_run(3)), claims(9.1));
  EXPECT_NEAR(run.warm_prefill.median.value(), 600, 0.01);
  EXPECT_NEAR(run.warm_decode.median.value(), 20, 0.01);
  EXPECT_NEAR(run.warm_wallclock.median.value(), 12.7, 0.01) << "127 tokens in ten seconds";
  EXPECT_TRUE(run.passes[0].remarks.empty()) << run.passes[0].remarks.front();
  EXPECT_EQ(run.context, 4096);
}

TEST(Answers, WhatSpoilsALane) {
  struct Row {
    const char* what;
    void (*spoil)(ServerAnswer&);
    const char* prefill;  // its abstention; empty: it counts
    const char* remark;
  };
  for (const Row& row : std::vector<Row>{
           {"nothing", [](ServerAnswer&) {}, "", ""},
           {"a template is reused", [](ServerAnswer& a) { a.cached_tokens = 20; }, "", ""},
           {"a prompt is reused", [](ServerAnswer& a) { a.cached_tokens = 700; },
            "700 prompt tokens came from a cache", "700 prompt tokens came from a cache"},
           {"cut, as it says", [](ServerAnswer& a) { a.truncated = true; },
            "the server cut the prompt to 730 tokens", "the server cut the prompt to 730 tokens"},
           {"cut without a word",
            [](ServerAnswer& a) { a.prompt_tokens = a.evaluated_tokens = 131; },
            "the server cut the prompt to 131 tokens", "the server cut the prompt to 131 tokens"},
           {"faster than anything", [](ServerAnswer& a) { a.prompt_ms = 2; },
            "no device reads 365000 tok/s: the prompt came from a cache",
            "no device reads 365000 tok/s: the prompt came from a cache"},
           {"drafts",
            [](ServerAnswer& a) {
              a.drafted = 120;
              a.drafts_accepted = 96;
            },
            "", "speculative: 96 of 120 drafted tokens accepted, 4.9 steps/s"},
           {"nobody counted", [](ServerAnswer& a) { a.generated_counted_by_us = true; }, "",
            "tokens counted by the pieces of the stream"},
           {"few tokens", [](ServerAnswer& a) { a.generated_tokens = 100; }, "",
            "100 of 127 tokens generated"}}) {
    ServerAnswer answer = answer_of();
    row.spoil(answer);
    RawRun raw = unmetered(server_run(2));
    for (RawPass& pass : raw.passes) pass.exchange->prompt_bytes = 4000;
    const MeasuredRun run = judged(raw, claims(9.1), answer);
    EXPECT_EQ(run.passes[1].lanes.prefill_abstain, row.prefill) << row.what;
    const std::string remark = run.passes[1].remarks.empty() ? "" : run.passes[1].remarks.front();
    EXPECT_EQ(remark, row.remark) << row.what;
  }
}

TEST(Answers, TheRunnersLogTellsWhatWasReused) {
  // ollama from 0.30.1 on counts the reused tokens, and its time is that of the new ones.
  EngineLog log;
  log.timings.push_back(timings(10'000, 20, 6));
  std::vector<ReadExchange> exchanges(1, ReadExchange{answer_of(), std::nullopt});
  const MeasuredRun run = assemble(unmetered(server_run(1)), {log}, exchanges);
  EXPECT_EQ(run.passes[0].lanes.prefill_abstain, "724 prompt tokens came from a cache");
}

TEST(Answers, AWarmPassTenTimesOffItsSiblingsIsACachedOne) {
  RawRun raw = unmetered(server_run(3));
  std::vector<ReadExchange> exchanges(3, ReadExchange{answer_of(), std::nullopt});
  exchanges[2].answer->prompt_ms = 30;
  const MeasuredRun run = assemble(raw, {}, exchanges);
  EXPECT_TRUE(run.passes[1].lanes.prefill_abstain.empty());
  EXPECT_EQ(run.passes[2].lanes.prefill_abstain, "41 times off the other passes");
}

}  // namespace
}  // namespace picchio::test
