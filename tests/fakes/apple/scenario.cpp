#include "scenario.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

namespace fake {
namespace {

// A name as one word: Device_Utilization_%.
std::string name_of(std::string word) {
  if (word == "-") return {};
  std::ranges::replace(word, '_', ' ');
  return word;
}

std::string rest_of(const std::string& line, const std::string& key) {
  const std::size_t start = line.find_first_not_of(" \t", line.find(key) + key.size());
  return start == std::string::npos ? std::string() : line.substr(start);
}

Span span_of(const Words& words, std::size_t from) {
  Span span;
  for (std::size_t i = from; i + 1 < words.size(); i += 2) {
    if (words[i] == "from")
      span.from_ms = number(words[i + 1]);
    else if (words[i] == "to")
      span.to_ms = number(words[i + 1]);
    else
      throw std::invalid_argument("unknown word: " + words[i]);
  }
  return span;
}

bool read_client_line(Client& client, const Words& words, const std::string& line) {
  if (words[0] == "queue") {
    client.queues.push_back(curve(words, 1));
  } else if (words[0] == "own-time") {
    client.own_time = curve(words, 1);
  } else if (words[0] == "creator") {
    client.creator = rest_of(line, "creator");
  } else {
    return false;
  }
  return true;
}

bool read_gpu_line(Accelerator& gpu, const Words& words, const std::string& line) {
  const std::string& key = words[0];
  if (key == "model" || key == "model-bytes") {
    gpu.model = rest_of(line, key);
    gpu.model_as_bytes = key == "model-bytes";
  } else if (key == "cores") {
    gpu.cores = whole(words.at(1));
  } else if (key == "statistic") {
    gpu.statistics.emplace_back(name_of(words.at(1)), curve(words, 2));
  } else if (key == "odd-statistic") {
    gpu.odd_statistic = name_of(words.at(1));
  } else if (key == "client") {
    Client client;
    client.id = std::stoull(words.at(1), nullptr, 16);
    client.pid = words.at(2);
    client.there = span_of(words, 3);
    gpu.clients.push_back(std::move(client));
  } else {
    return !gpu.clients.empty() && read_client_line(gpu.clients.back(), words, line);
  }
  return true;
}

bool read_channel_line(Scenario& scenario, const Words& words) {
  const std::string& key = words[0];
  if (key == "channel") {
    Channel channel;
    channel.group = name_of(words.at(1));
    channel.subgroup = name_of(words.at(2));
    channel.name = name_of(words.at(3));
    channel.unit = name_of(words.at(4));
    channel.counts = curve(words, 5);
    scenario.channels.push_back(std::move(channel));
    return true;
  }
  if (scenario.channels.empty()) return false;
  Channel& channel = scenario.channels.back();
  if (key == "state") {
    channel.states.emplace_back(words.at(1), curve(words, 2));
  } else if (key == "batch") {
    channel.batch_ms = number(words.at(1));
  } else if (key == "invalid") {
    channel.invalid = span_of(words, 1);
  } else {
    return false;
  }
  return true;
}

bool read_machine_line(Scenario& scenario, const Words& words) {
  const std::string& key = words[0];
  if (key == "memory") {
    scenario.memory = whole(words.at(1));
  } else if (key == "heat") {
    scenario.heat = curve(words, 1);
  } else if (key == "process") {
    scenario.processes.push_back(
        {static_cast<int>(whole(words.at(1))), number(words.at(2)), span_of(words, 3)});
  } else if (key == "fail") {
    scenario.failures.push_back({words.at(1), span_of(words, 2)});
  } else if (key == "restless") {
    scenario.restless = static_cast<int>(whole(words.at(1)));
  } else if (key == "clocks") {
    for (std::size_t i = 1; i < words.size(); ++i) scenario.clocks.push_back(whole(words[i]));
  } else {
    return false;
  }
  return true;
}

void read_line(Scenario& scenario, const std::string& line) {
  const Words words = words_of(line);
  if (words.empty()) return;
  if (words[0] == "gpu") {
    Accelerator gpu;
    gpu.id = 0x100000500 + scenario.accelerators.size();
    gpu.io_class = words.at(1);
    scenario.accelerators.push_back(std::move(gpu));
    return;
  }
  if (read_machine_line(scenario, words) || read_channel_line(scenario, words)) return;
  if (scenario.accelerators.empty() || !read_gpu_line(scenario.accelerators.back(), words, line)) {
    throw std::invalid_argument("unknown line");
  }
}

Scenario read_scenario() {
  Scenario scenario;
  play_script("fake Mac", "PICCHIO_FAKE_APPLE",
              [&](const std::string& line) { read_line(scenario, line); });
  return scenario;
}

}  // namespace

std::int64_t Channel::value_at(double ms, const Curve& of) const {
  if (invalid && invalid->holds(ms)) return INT64_MIN;
  const double at = batch_ms > 0 ? std::floor(ms / batch_ms) * batch_ms : ms;
  return std::llround(of.at(at).value_or(0));
}

double Scenario::now() const {
  if (now_ms >= 0) return now_ms;
  static const auto since = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since)
      .count();
}

bool Scenario::fails(const std::string& function) const {
  return std::ranges::any_of(failures, [&](const Failure& failure) {
    return failure.function == function && failure.when.holds(now());
  });
}

Scenario& scenario() {
  static Scenario the_scenario = read_scenario();
  return the_scenario;
}

std::int64_t& live() {
  static std::int64_t count = 0;
  return count;
}

}  // namespace fake

/// For tests: reads the file anew and sets the time in ms; what is below 0 lets the clock's run.
FAKE_APPLE void fakeAppleStart(double ms) {
  fake::scenario() = fake::read_scenario();
  fake::scenario().now_ms = ms;
}

FAKE_APPLE void fakeAppleTime(double ms) { fake::scenario().now_ms = ms; }

FAKE_APPLE std::int64_t fakeAppleLive() { return fake::live(); }
