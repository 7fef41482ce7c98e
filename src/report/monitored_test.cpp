#include "report/monitored.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace picchio {
namespace {

using nlohmann::json;

constexpr std::string_view kHostile = "\x1b[2J\nVERDICT: HEALTHY\r\xff";

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7F); });
}

Probe answered() {
  Probe out;
  out.number = 12;
  out.at = Moment{std::chrono::sys_days{std::chrono::year{2026} / 11 / 30} +
                  std::chrono::hours(13) + std::chrono::minutes(5) + std::chrono::seconds(1)};
  out.since = std::chrono::seconds(360);
  out.length = std::chrono::seconds(4);
  out.end = ProbeEnd::answered;
  out.prompt_tokens = 760;
  out.generated_tokens = 128;
  out.prefill = 812.34;
  out.decode = 41.2;
  out.first_token_seconds = 0.951;
  out.state = State::healthy;
  out.sentence = "All of it is on the GPU.";
  out.placement.weights_on_gpu_fraction = 1;
  ProbedGpu gpu;
  gpu.busy = 97;
  gpu.watts = 310.4;
  gpu.memory_used = 6'000'000'000;
  out.gpus.push_back(gpu);
  out.cpu_cores = 1.02;
  out.pid = 4242;
  return out;
}

TEST(Monitored, ProbeLineHasWhatWasMeasured) {
  EXPECT_EQ(probe_line(answered(), Standing::steady),
            "13:05:01Z #12 steady: prefill 812.3, decode 41.2 tok/s, ratio 19.7, TTFT 0.95 s, "
            "100% of weights on GPU, 1.0 cores, gpu0 97% 310 W");
  Probe busy = answered();
  busy = {};
  busy.number = 3;
  busy.at = answered().at;
  busy.end = ProbeEnd::busy;
  busy.why = "1 of 4 slots are at work for others";
  EXPECT_EQ(probe_line(busy, Standing::unknown),
            "13:05:01Z #3 unknown: busy: 1 of 4 slots are at work for others");
  Probe none = busy;
  none.end = ProbeEnd::answered;
  none.why.clear();
  EXPECT_EQ(probe_line(none, Standing::unknown), "13:05:01Z #3 unknown: answered without figures");
}

MonitorEvent fall() {
  MonitorEvent out;
  out.probe = 13;
  out.at = answered().at;
  out.from = Standing::steady;
  out.to = Standing::fallen;
  out.rule = "runs-on-cpu";
  out.sentence = "The CPU did the work.";
  out.why = "'--device none' keeps it off the GPU";
  out.fix = "leave it out";
  return out;
}

TEST(Monitored, EventLineHasWhyAndFix) {
  EXPECT_EQ(
      event_line(fall(), false),
      "13:05:01Z #13 FALLEN (was steady): The CPU did the work. WHY: '--device none' keeps it "
      "off the GPU. FIX: leave it out.");
  EXPECT_TRUE(event_line(fall(), true).contains("\x1b[1;31mFALLEN\x1b[0m"));
  MonitorEvent locked;
  locked.kind = MonitorEvent::Kind::baseline_locked;
  locked.at = answered().at;
  locked.probe = 3;
  locked.sentence = "its baseline from now on: decode 41.2 tok/s";
  EXPECT_EQ(event_line(locked, false), "13:05:01Z #3 its baseline from now on: decode 41.2 tok/s");
}

TEST(Monitored, NothingFromAServerReachesATerminalAsItCame) {
  Probe probe = answered();
  for (std::string* text : {&probe.why, &probe.sentence, &probe.model, &probe.contended,
                            &probe.prefill_abstain, &probe.reload}) {
    *text = kHostile;
  }
  probe.gpus[0].name = kHostile;
  MonitorEvent event = fall();
  for (std::string* text : {&event.sentence, &event.why, &event.fix}) *text = kHostile;
  MonitorStatus status;
  status.target = status.server_version = kHostile;
  MonitorVerdict verdict{"HEALTHY", std::string(kHostile)};
  ResidencyReport residency;
  residency.sentence = kHostile;
  for (const ProbeEnd end : {ProbeEnd::answered, ProbeEnd::failed}) {
    probe.end = end;
    const std::string line = probe_line(probe, Standing::steady);
    EXPECT_TRUE(is_plain(line)) << line;
    EXPECT_FALSE(line.contains('\n'));
  }
  const std::string line = event_line(event, false);
  EXPECT_TRUE(is_plain(line) && !line.contains('\n')) << line;
  const std::string summary = monitor_summary(status, verdict, residency);
  EXPECT_TRUE(is_plain(summary)) << summary;
  for (const std::string& document : {probe_json(probe, Standing::steady), event_json(event),
                                      monitor_summary_json(status, verdict, 0, residency)}) {
    EXPECT_TRUE(is_plain(document)) << document;
    EXPECT_EQ(std::ranges::count(document, '\n'), 1);
    EXPECT_TRUE(json::accept(document)) << document;
  }
}

TEST(Monitored, JsonTellsAbsentFromZero) {
  const json full = json::parse(probe_json(answered(), Standing::steady));
  EXPECT_EQ(full["type"], "probe");
  EXPECT_EQ(full["state"], "HEALTHY");
  EXPECT_EQ(full["tokens_per_second"]["decode"], 41.2);
  EXPECT_EQ(full["gpus"][0]["watts"], 310.4);
  EXPECT_EQ(full["gpus"][0]["celsius"], nullptr);
  const json none = json::parse(probe_json({}, Standing::unknown));
  for (const char* key : {"state", "ttft_s", "prompt_tokens", "pid", "cause", "resident_bytes"}) {
    EXPECT_EQ(none.at(key), nullptr) << key;
  }
  EXPECT_EQ(none["tokens_per_second"]["prefill"], nullptr);
}

TEST(Monitored, RowsHaveACellForEachColumn) {
  EXPECT_EQ(probe_cells(answered(), Standing::steady).size(), probe_columns().size());
  EXPECT_EQ(probe_cells({}, Standing::unknown).size(), probe_columns().size());
  RowWriter writer(RowFormat::csv, kProbeTable, probe_columns());
  const std::string rows = writer.begin() + writer.row(probe_cells(answered(), Standing::steady));
  EXPECT_TRUE(rows.contains("\n12,2026-11-30T13:05:01.000000Z,answered,steady,HEALTHY,812.34,41.2"))
      << rows;
}

TEST(Monitored, SummaryCountsEveryProbe) {
  MonitorStatus status;
  status.target = "http://127.0.0.1:8080";
  status.kind = ServerKind::llama_server;
  status.server_version = "b11669";
  status.answered = 180;
  status.busy = 15;
  status.unreachable = 5;
  status.prompt_tokens = 136'800;
  status.generated_tokens = 23'040;
  status.asked = std::chrono::seconds(720);
  status.running = std::chrono::hours(2);
  status.decode = Baseline{41.2, 0.03, 180};
  status.falls = 1;
  EXPECT_EQ(monitor_summary(status, {"RATES FELL", "it was slower."}, std::nullopt),
            "target   http://127.0.0.1:8080, llama-server b11669\n"
            "probes   180 answered, 15 skipped, it was busy, 5 without an answer in 2.0 h\n"
            "cost     136800 prompt and 23040 generated tokens, 10.0% of the time\n"
            "baseline decode 41.2 tok/s (+-3%)\n"
            "changes  1 fall, 0 reloads\n"
            "VERDICT: RATES FELL. It was slower.\n");
}

}  // namespace
}  // namespace picchio
