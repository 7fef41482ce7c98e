#include "commands/monitor/metrics.h"

#include "base/text.h"
#include "commands/monitor/series.h"
#include "os/file.h"
#include "os/http.h"
#include "os/signals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <thread>

namespace picchio {
namespace {

TEST(ParseListenAddress, ReadsWhatIsAnAddressOfAMachine) {
  struct Case {
    const char* text;
    const char* canonical;
  };
  for (const auto& [text, canonical] : {
           Case{"9464", "127.0.0.1:9464"},
           Case{"0", "127.0.0.1:0"},
           Case{"65535", "127.0.0.1:65535"},
           Case{"127.0.0.1:9464", "127.0.0.1:9464"},
           Case{"0.0.0.0:9464", "0.0.0.0:9464"},
           Case{"localhost:9464", "127.0.0.1:9464"},
           Case{"[::1]:9464", "[::1]:9464"},
           Case{"[::]:80", "[::]:80"},
           Case{"[2001:db8::5]:1", "[2001:db8::5]:1"},
       }) {
    const auto read = parse_listen_address(text);
    ASSERT_TRUE(read) << text << ": " << read.error().message;
    EXPECT_EQ(to_text(*read), canonical);
  }
}

TEST(ParseListenAddress, SaysWhatToWriteInstead) {
  for (const char* text : {"",
                           ":",
                           ":9464",
                           "host",
                           "host:9464",
                           "*:9464",
                           "127.0.0.1",
                           "127.0.0.1:",
                           "65536",
                           "127.0.0.1:70000",
                           "-1",
                           "+80",
                           "0x50",
                           "9464 ",
                           "256.0.0.1:1",
                           "1.2.3:4",
                           "1.2.3.4.5:6",
                           "::1:9464",
                           "[::1]",
                           "[::1:9464",
                           "[]:9464",
                           "[abc]:9464",
                           "[fe80::1%eth0]:1",
                           "http://127.0.0.1:9464",
                           "127.0.0.1:9464/metrics",
                           "1,2",
                           "127.0.0.1:80s",
                           "\x1b[31m:80",
                           "99999999999999999999"}) {
    const auto read = parse_listen_address(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message.find("127.0.0.1:"), std::string::npos) << read.error().message;
    EXPECT_EQ(plain(read.error().message), read.error().message) << "one plain line";
  }
}

Probe healthy_probe() {
  Probe probe;
  probe.number = 1;
  probe.at = Moment(std::chrono::seconds(1'800'000'000));
  probe.since = std::chrono::seconds(10);
  probe.length = std::chrono::milliseconds(1500);
  probe.end = ProbeEnd::answered;
  probe.prefill = 600.0;
  probe.decode = 20.0;
  probe.wallclock = 15.0;
  probe.first_token_seconds = 0.25;
  probe.state = State::healthy;
  probe.model = "qwen";
  probe.placement.weights_on_gpu_fraction = 0.95;
  DeviceAccount card;
  card.name = "CUDA0";
  card.description = "RTX 4090";
  card.kind = DeviceKind::hardware_gpu;
  card.weights_bytes = 5000;
  card.kv_bytes = 700;
  card.compute_bytes = 30;
  DeviceAccount host;
  host.name = "CPU";
  host.weights_bytes = 250;
  probe.placement.devices = {card, host};
  probe.gpus = {{.index = 0,
                 .name = "RTX 4090",
                 .pci = "0000:01:00.0",
                 .busy = 99.0,
                 .server_share = 0.98,
                 .watts = 343.0,
                 .joules = 500.5,
                 .memory_used = 6000,
                 .memory_total = 24000,
                 .server_memory = 5900,
                 .celsius = 61.0}};
  probe.cpu_cores = 1.5;
  probe.residency = Residency{.resident = 900, .resident_files = 400, .swapped = 5};
  return probe;
}

MonitorStatus steady_status() {
  MonitorStatus status;
  status.target = "http://127.0.0.1:8080";
  status.kind = ServerKind::llama_server;
  status.server_version = "b11669";
  status.standing = Standing::steady;
  status.decode = Baseline{.median = 21.0, .spread = 0.02, .probes = 5};
  status.answered = 1;
  status.prompt_tokens = 730;
  status.generated_tokens = 16;
  status.asked = std::chrono::milliseconds(1500);
  return status;
}

// "name{label=value,...}" to value.
std::map<std::string, double> values(const MonitorSeries& series) {
  std::map<std::string, double> out;
  for (const prometheus::MetricFamily& family : series.families()) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      std::vector<std::string> labels;
      for (const auto& label : metric.label) labels.push_back(label.name + "=" + label.value);
      const bool counter = family.type == prometheus::MetricType::Counter;
      const bool fresh = out.emplace(fmt::format("{}{{{}}}", family.name, fmt::join(labels, ",")),
                                     counter ? metric.counter.value : metric.gauge.value)
                             .second;
      EXPECT_TRUE(fresh) << "twice: " << family.name << fmt::format("{}", fmt::join(labels, ","));
    }
  }
  return out;
}

bool tells(const std::map<std::string, double>& values, std::string_view name) {
  const auto found = values.lower_bound(std::string(name) + "{");
  return found != values.end() && found->first.starts_with(std::string(name) + "{");
}

constexpr const char* kCard = "{gpu=0,name=RTX 4090,pci=0000:01:00.0}";

TEST(MonitorSeries, ExportsWhatAProbeTells) {
  MonitorSeries series;
  series.take(healthy_probe(), steady_status());
  const auto has = values(series);
  const std::string card = kCard;
  const std::map<std::string, double> expected = {
      {"picchio_target_info{target=http://127.0.0.1:8080,server=llama-server,"
       "server_version=b11669,model=qwen,mode=probed}",
       1},
      {"picchio_standing{standing=steady}", 1},
      {"picchio_standing{standing=fallen}", 0},
      {"picchio_verdict{verdict=healthy}", 1},
      {"picchio_verdict{verdict=silent_cpu_fallback}", 0},
      {"picchio_weights_gpu_ratio{}", 0.95},
      {"picchio_device_bytes{device=CUDA0,description=RTX 4090,kind=hardware gpu,use=weights}",
       5000},
      {"picchio_device_bytes{device=CUDA0,description=RTX 4090,kind=hardware gpu,use=kv}", 700},
      {"picchio_device_bytes{device=CPU,description=,kind=host,use=weights}", 250},
      {"picchio_tokens_per_second{lane=prefill}", 600},
      {"picchio_tokens_per_second{lane=decode}", 20},
      {"picchio_tokens_per_second{lane=wallclock}", 15},
      {"picchio_baseline_tokens_per_second{lane=decode}", 21},
      {"picchio_prefill_decode_ratio{}", 30},
      {"picchio_first_token_seconds{}", 0.25},
      {"picchio_gpu_busy_ratio" + card, 0.99},
      {"picchio_gpu_server_ratio" + card, 0.98},
      {"picchio_gpu_power_watts" + card, 343},
      {"picchio_gpu_probe_energy_joules_total" + card, 500.5},
      {"picchio_gpu_memory_used_bytes" + card, 6000},
      {"picchio_gpu_memory_total_bytes" + card, 24000},
      {"picchio_gpu_memory_server_bytes" + card, 5900},
      {"picchio_gpu_temperature_celsius" + card, 61},
      {"picchio_gpu_throttled" + card, 0},
      {"picchio_server_cpu_cores{}", 1.5},
      {"picchio_server_resident_bytes{}", 900},
      {"picchio_server_resident_file_bytes{}", 400},
      {"picchio_server_swapped_bytes{}", 5},
      {"picchio_probe_duration_seconds{}", 1.5},
      {"picchio_probe_work_seconds_total{}", 1.5},
      {"picchio_probe_tokens_total{kind=prompt}", 730},
      {"picchio_probes_total{end=answered}", 1},
      {"picchio_probes_total{end=unreachable}", 0},
      {"picchio_last_probe_timestamp_seconds{}", 1.8e9},
      {"picchio_last_answered_timestamp_seconds{}", 1.8e9},
  };
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(has.contains(name)) << name;
    EXPECT_DOUBLE_EQ(has.at(name), value) << name;
  }
  EXPECT_FALSE(has.contains("picchio_device_bytes{device=CPU,description=,kind=host,use=kv}"))
      << "no such line in the log is not 0 bytes";
  EXPECT_FALSE(has.contains("picchio_baseline_tokens_per_second{lane=prefill}")) << "not locked";
  EXPECT_FALSE(tells(has, "picchio_probe_interval_seconds")) << "one probe has no interval";
}

TEST(MonitorSeries, BeforeTheFirstProbeThereIsTheBuildAlone) {
  const auto has = values(MonitorSeries());
  ASSERT_EQ(has.size(), 1U);
  EXPECT_TRUE(has.begin()->first.starts_with("picchio_build_info{version="));
}

// What is of the moment must not outlive it: each end of a probe, after a healthy one.
TEST(MonitorSeries, NoRateStandsAfterTheProbeThatToldIt) {
  for (const ProbeEnd end : {ProbeEnd::idle, ProbeEnd::busy, ProbeEnd::loading,
                             ProbeEnd::unreachable, ProbeEnd::failed}) {
    MonitorSeries series;
    series.take(healthy_probe(), steady_status());
    Probe next;
    next.at = Moment(std::chrono::seconds(1'800'000'060));
    next.since = std::chrono::seconds(70);
    next.end = end;
    MonitorStatus status = steady_status();
    status.standing = end == ProbeEnd::unreachable ? Standing::lost : Standing::steady;
    series.take(next, status);
    const auto has = values(series);
    for (const char* gone :
         {"picchio_tokens_per_second", "picchio_prefill_decode_ratio",
          "picchio_first_token_seconds", "picchio_verdict", "picchio_weights_gpu_ratio",
          "picchio_device_bytes", "picchio_gpu_busy_ratio", "picchio_gpu_power_watts",
          "picchio_gpu_throttled", "picchio_server_cpu_cores", "picchio_server_resident_bytes",
          "picchio_probe_duration_seconds", "picchio_probe_contended"}) {
      EXPECT_FALSE(tells(has, gone)) << gone << " after " << name_of(end);
    }
    EXPECT_EQ(has.at("picchio_last_answered_timestamp_seconds{}"), 1.8e9);
    EXPECT_EQ(has.at("picchio_last_probe_timestamp_seconds{}"), 1.8e9 + 60);
    EXPECT_EQ(has.at("picchio_probe_interval_seconds{}"), 60);
    EXPECT_EQ(has.at("picchio_baseline_tokens_per_second{lane=decode}"), 21);
    EXPECT_EQ(has.at(std::string("picchio_gpu_probe_energy_joules_total") + kCard), 500.5)
        << "a counter stays";
    EXPECT_EQ(has.at("picchio_standing{standing=lost}"), end == ProbeEnd::unreachable ? 1 : 0);
  }
}

TEST(MonitorSeries, WhatABrokenProbeReadIsNoRateAndNoPlacement) {
  for (const ProbeEnd end : {ProbeEnd::loading, ProbeEnd::unreachable, ProbeEnd::failed}) {
    Probe probe = healthy_probe();
    probe.end = end;
    MonitorSeries series;
    series.take(probe, steady_status());
    const auto has = values(series);
    EXPECT_FALSE(tells(has, "picchio_tokens_per_second")) << name_of(end);
    EXPECT_FALSE(tells(has, "picchio_weights_gpu_ratio")) << name_of(end);
    EXPECT_FALSE(tells(has, "picchio_verdict")) << name_of(end);
    EXPECT_FALSE(tells(has, "picchio_last_answered_timestamp_seconds")) << name_of(end);
    EXPECT_TRUE(tells(has, "picchio_gpu_power_watts")) << "the meters saw it all the same";
  }
}

TEST(MonitorSeries, EnergyAddsUpByCardAndTakesNothingBack) {
  MonitorSeries series;
  for (const double joules : {500.5, 100.0, -7.0, std::numeric_limits<double>::quiet_NaN()}) {
    Probe probe = healthy_probe();
    probe.gpus[0].joules = joules;
    series.take(probe, steady_status());
  }
  EXPECT_DOUBLE_EQ(values(series).at(std::string("picchio_gpu_probe_energy_joules_total") + kCard),
                   600.5);
}

TEST(MonitorSeries, WhatIsNoNumberIsNotTold) {
  Probe probe = healthy_probe();
  probe.prefill = std::numeric_limits<double>::infinity();
  probe.decode = std::numeric_limits<double>::quiet_NaN();
  MonitorSeries series;
  series.take(probe, steady_status());
  const auto has = values(series);
  EXPECT_TRUE(has.contains("picchio_tokens_per_second{lane=wallclock}"));
  EXPECT_FALSE(has.contains("picchio_tokens_per_second{lane=prefill}"));
  EXPECT_FALSE(has.contains("picchio_tokens_per_second{lane=decode}"));
  EXPECT_FALSE(tells(has, "picchio_prefill_decode_ratio"));
}

TEST(MonitorSeries, LabelsFromOutsideAreBoundedAndNeverTwoOfOneName) {
  Probe probe = healthy_probe();
  probe.model = std::string(5000, 'm') + "\x1b[31m\n\"}";
  const std::string common(200, 'd');
  probe.placement.devices.clear();
  probe.gpus.clear();
  for (int i = 0; i < 500; ++i) {
    DeviceAccount device;
    device.name = common + std::to_string(i);
    device.weights_bytes = 10;
    probe.placement.devices.push_back(device);
    ProbedGpu gpu;
    gpu.index = i;
    gpu.name = "a\nb\x1b[2Jc";
    gpu.joules = 1.0;
    probe.gpus.push_back(gpu);
  }
  probe.gpus.push_back(probe.gpus.front());
  MonitorSeries series;
  for (int i = 0; i < 3; ++i) series.take(probe, steady_status());
  const auto has = values(series);  // asserts that none is there twice
  EXPECT_LT(has.size(), 200U);
  for (const auto& [name, value] : has) {
    EXPECT_EQ(plain(name), name);
    EXPECT_LT(name.size(), 400U);
  }
  const auto sum = has.lower_bound("picchio_device_bytes{");
  ASSERT_NE(sum, has.end());
  EXPECT_EQ(sum->second, 320) << "32 devices of one label are one series of their sum";
}

TEST(MonitorSeries, EveryMetricIsDescribedByConvention) {
  std::set<std::string> names;
  for (const MetricDescription& one : metric_descriptions()) {
    const std::string name = one.name;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_TRUE(name.starts_with("picchio_")) << name;
    EXPECT_EQ(one.counter, name.ends_with("_total")) << name;
    EXPECT_GT(std::string_view(one.help).size(), 8U) << name;
  }
  EXPECT_TRUE(std::ranges::is_sorted(metric_descriptions(), {}, [](const MetricDescription& one) {
    return std::string_view(one.name);
  }));
}

// docs/fleet.md against the code: "| `name` | gauge | `labels` | meaning |".
TEST(MonitorSeries, TheDocumentedMetricsAreThoseThatAreExported) {
  const auto page = os::read_file(PICCHIO_SOURCE_DIR "/docs/fleet.md", 1 << 20);
  ASSERT_TRUE(page) << page.error().message;
  std::vector<std::string> documented;
  for (const std::string_view line : split_lines(*page)) {
    if (!line.starts_with("| `picchio_")) continue;
    const std::vector<std::string_view> cells = split(line, '|');
    ASSERT_EQ(cells.size(), 6U) << line;
    documented.push_back(fmt::format("{} {} {}", trim(cells[1]), trim(cells[2]), trim(cells[3])));
  }
  std::vector<std::string> exported;
  for (const MetricDescription& one : metric_descriptions()) {
    const std::string_view labels = one.labels;
    exported.push_back(fmt::format("`{}` {} {}", one.name, one.counter ? "counter" : "gauge",
                                   labels.empty() ? "" : fmt::format("`{}`", labels)));
  }
  for (std::string& row : exported) row = std::string(trim(row));
  for (std::string& row : documented) row = std::string(trim(row));
  EXPECT_EQ(documented, exported);
}

TEST(MonitorSeries, EveryDescribedMetricHasAValueWhenAllIsTold) {
  MonitorSeries series;
  MonitorStatus status = steady_status();
  status.prefill = Baseline{.median = 600.0, .spread = 0.02, .probes = 5};
  series.take(healthy_probe(), status);
  Probe second = healthy_probe();
  second.since += std::chrono::seconds(30);
  series.take(second, status);
  EXPECT_EQ(series.families().size(), metric_descriptions().size());
}

std::unique_ptr<MonitorMetrics> served() {
  auto metrics = MonitorMetrics::serve({}, PICCHIO_EXPORTER);
  if (!metrics) ADD_FAILURE() << metrics.error().message;
  return metrics ? *std::move(metrics) : nullptr;
}

std::string scrape(const std::string& address) {
  auto client = os::HttpClient::open({.user_agent = "test", .ca_file = {}}, nullptr);
  if (!client) return client.error().message;
  os::HttpRequest request;
  request.url = "http://" + address + "/metrics";
  const auto answer = client->send(request);
  return answer ? answer->body : answer.error().message;
}

std::size_t threads() {
  const auto tasks = os::list_dir("/proc/self/task");
  return tasks ? tasks->size() : 0;
}

TEST(MonitorMetrics, AScrapeGetsTheExposition) {
  const auto metrics = served();
  ASSERT_TRUE(metrics);
  EXPECT_NE(scrape(metrics->address()).find("# TYPE picchio_build_info gauge"), std::string::npos);
  Probe probe = healthy_probe();
  probe.model = R"(say "a\b")";
  metrics->publish(probe, steady_status());
  const std::string body = scrape(metrics->address());
  EXPECT_NE(body.find("# HELP picchio_falls_total "), std::string::npos) << body;
  EXPECT_NE(body.find("# TYPE picchio_falls_total counter"), std::string::npos);
  EXPECT_NE(body.find(R"(model="say \"a\\b\"")"), std::string::npos) << "escaped";
  EXPECT_NE(body.find("picchio_standing{standing=\"steady\"} 1\n"), std::string::npos);
  EXPECT_NE(body.find(metrics->text()), std::string::npos) << "the library's own come beside it";
}

// Every family of a scrape must come from one probe: all figures of probe N are N.
TEST(MonitorMetrics, AScrapeNeverMixesTwoProbes) {
  const auto metrics = served();
  ASSERT_TRUE(metrics);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 1; !stop; ++i) {
      Probe probe = healthy_probe();
      probe.prefill = probe.decode = probe.wallclock = probe.first_token_seconds = i;
      MonitorStatus status = steady_status();
      status.falls = status.reloads = i;
      metrics->publish(probe, status);
    }
  });
  for (int i = 0; i < 100; ++i) {
    const std::string body = scrape(metrics->address());
    std::set<std::string> seen;
    for (const std::string_view line : split_lines(body)) {
      const bool counted = line.starts_with("picchio_tokens_per_second{") ||
                           line.starts_with("picchio_first_token_seconds ") ||
                           line.starts_with("picchio_falls_total ") ||
                           line.starts_with("picchio_reloads_total ");
      if (counted) seen.emplace(split_blanks(line).back());
    }
    EXPECT_LE(seen.size(), 1U) << body;
  }
  stop = true;
  writer.join();
}

TEST(MonitorMetrics, ItLeavesNoThreadAndTheSignalsAsTheyWere) {
  const auto interrupts = os::Interrupts::install();
  ASSERT_TRUE(interrupts);
  const std::size_t before = threads();
  struct sigaction was = {};
  struct sigaction is = {};
  std::map<int, void (*)(int)> handlers;
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigaction(signal, nullptr, &was) == 0) handlers[signal] = was.sa_handler;
  }
  for (int i = 0; i < 3; ++i) {
    const auto metrics = served();
    ASSERT_TRUE(metrics);
    EXPECT_GT(threads(), before);
    for (const auto& [signal, handler] : handlers) {
      ASSERT_EQ(sigaction(signal, nullptr, &is), 0);
      EXPECT_EQ(is.sa_handler, handler) << "of signal " << signal;
    }
    EXPECT_FALSE(scrape(metrics->address()).empty());
  }
  EXPECT_EQ(threads(), before);
}

// SIGTERM waits for it: left to itself civetweb takes two seconds.
TEST(MonitorMetrics, ItsEndIsPrompt) {
  auto metrics = served();
  ASSERT_TRUE(metrics);
  EXPECT_FALSE(scrape(metrics->address()).empty());
  const auto begin = std::chrono::steady_clock::now();
  metrics.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1500));
}

TEST(MonitorMetrics, APlaceThatCannotBeHadIsOneLine) {
  const auto first = served();
  ASSERT_TRUE(first);
  const auto taken = parse_listen_address(first->address());
  ASSERT_TRUE(taken);
  const auto second = MonitorMetrics::serve(*taken, PICCHIO_EXPORTER);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            fmt::format("cannot listen on '{}': Address already in use", first->address()));

  // An address for documents, of no machine (RFC 5737).
  const auto elsewhere = MonitorMetrics::serve({.host = "192.0.2.1", .port = 0}, PICCHIO_EXPORTER);
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().message,
            "cannot listen on '192.0.2.1:0': Cannot assign requested address");

  const auto no_address = MonitorMetrics::serve({.host = "1::2::3", .port = 0}, PICCHIO_EXPORTER);
  ASSERT_FALSE(no_address);
  EXPECT_EQ(plain(no_address.error().message), no_address.error().message);
}

TEST(MonitorMetrics, AMissingLibraryIsOneLineWithAWayOut) {
  const auto none = MonitorMetrics::serve({}, "/nowhere/libpicchio-exporter.so");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("/nowhere/libpicchio-exporter.so"), std::string::npos);
  EXPECT_NE(none.error().hint.find("libprometheus-cpp-pull"), std::string::npos);
}

}  // namespace
}  // namespace picchio
