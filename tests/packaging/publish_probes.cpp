// Serves the metrics of a monitor that is told what it finds, for tests with a real Prometheus.
//
// usage: publish_probes              prints the address, then publishes a probe for each line of
// stdin:
//                                    "healthy", "fallen", "lost"; ends with stdin
//        publish_probes --text WORD  prints the exposition after such a probe
//        publish_probes --names      prints "name TAB type TAB labels" of every metric
#include "commands/monitor/metrics.h"
#include "commands/monitor/series.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;

class ScriptedMonitor {
 public:
  /// False: no such word.
  bool publish(std::string_view word, picchio::MonitorMetrics& metrics) {
    picchio::Probe probe;
    probe.number = ++number_;
    probe.at =
        std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
    probe.since = number_ * 1s;
    probe.model = "Tiny \"Q4_K_M\" \\ 7M";
    if (word == "healthy") {
      answer(600, 20, picchio::State::healthy, 0.95, probe);
      status_.standing = picchio::Standing::steady;
    } else if (word == "fallen") {
      answer(8, 2, picchio::State::silent_cpu_fallback, 0, probe);
      status_.standing = picchio::Standing::fallen;
      ++status_.falls;
    } else if (word == "lost") {
      probe.end = picchio::ProbeEnd::unreachable;
      status_.standing = picchio::Standing::lost;
      ++status_.unreachable;
    } else {
      return false;
    }
    metrics.publish(probe, status_);
    return true;
  }

 private:
  void answer(double prefill, double decode, picchio::State state, double share,
              picchio::Probe& probe) {
    probe.end = picchio::ProbeEnd::answered;
    probe.length = 800ms;
    probe.prefill = prefill;
    probe.decode = decode;
    probe.state = state;
    probe.placement.weights_on_gpu_fraction = share;
    picchio::ProbedGpu gpu;
    gpu.name = "NVIDIA GeForce RTX 4090";
    gpu.busy = 100 * share;
    gpu.watts = 300.0;
    gpu.joules = 240.0;
    probe.gpus.push_back(gpu);
    ++status_.answered;
    status_.target = "http://127.0.0.1:8080";
    status_.kind = picchio::ServerKind::llama_server;
    status_.generated_tokens += 16;
    status_.decode = picchio::Baseline{.median = 20, .spread = 0.02, .probes = 5};
  }

  picchio::MonitorStatus status_;
  std::int64_t number_ = 0;
};

int print_names() {
  for (const picchio::MetricDescription& one : picchio::metric_descriptions()) {
    fmt::print("{}\t{}\t{}\n", one.name, one.counter ? "counter" : "gauge", one.labels);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view option = argc > 1 ? argv[1] : "";
  if (option == "--names") return print_names();
  const auto metrics = picchio::MonitorMetrics::serve({}, PICCHIO_EXPORTER);
  if (!metrics) {
    fmt::print(stderr, "publish_probes: error: {}\n", metrics.error().message);
    return 2;
  }
  ScriptedMonitor monitor;
  if (option == "--text" && argc > 2) {
    if (!monitor.publish(argv[2], **metrics)) return 2;
    fmt::print("{}", (*metrics)->text());
    return 0;
  }
  fmt::print("{}\n", (*metrics)->address());
  std::fflush(stdout);
  for (std::string word; std::getline(std::cin, word);) {
    if (!monitor.publish(word, **metrics)) return 2;
  }
  return 0;
}
