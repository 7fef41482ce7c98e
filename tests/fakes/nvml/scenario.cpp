#include "scenario.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace fake {
namespace {

namespace abi = picchio::meters::nvml::abi;

constexpr double kPeriodMs = 100;  // of the energy counter and of the samples of processes

Process process(const Words& words) {
  Process out;
  out.kind = words.at(1);
  out.pid = words.at(2);
  for (std::size_t i = 3; i < words.size(); i += 2) {
    const std::string& key = words[i];
    if (key == "memory") {
      out.memory = curve(words, i + 1);
      return out;
    }
    const double value = number(words.at(i + 1));
    if (key == "from")
      out.from_ms = value;
    else if (key == "to")
      out.to_ms = value;
    else if (key == "sm")
      out.sm = value;
    else if (key == "instance")
      out.gpu_instance = static_cast<unsigned>(value);
    else
      throw std::invalid_argument("unknown word: " + key);
  }
  return out;
}

abi::ProcessUtilization garbage(const Words& words) {
  abi::ProcessUtilization row{};
  row.pid = static_cast<unsigned>(whole(words.at(1)));
  row.sm = static_cast<unsigned>(whole(words.at(2)));
  row.timestamp = static_cast<std::uint64_t>(whole(words.at(3)));
  return row;
}

void set_bus(Gpu& gpu, const std::string& text) {
  if (std::sscanf(text.c_str(), "%x:%x:%x", &gpu.domain, &gpu.bus, &gpu.slot) != 3) {
    throw std::invalid_argument("no address: " + text);
  }
}

bool read_gpu_line(Gpu& gpu, const Words& words) {
  const std::string& key = words[0];
  const std::pair<const char*, Curve Gpu::*> curves[] = {
      {"busy", &Gpu::busy},         {"used", &Gpu::memory_used},
      {"power", &Gpu::power},       {"energy", &Gpu::energy},
      {"clock", &Gpu::clock},       {"memory-clock", &Gpu::memory_clock},
      {"throttle", &Gpu::throttle}, {"temperature", &Gpu::temperature},
  };
  if (key == "energy" && words.at(1) == "none") return gpu.no_energy = true;
  for (const auto& [name, member] : curves) {
    if (key != name) continue;
    gpu.*member = curve(words, 1);
    return true;
  }
  if (key == "bus") {
    set_bus(gpu, words.at(1));
  } else if (key == "mig") {
    gpu.mig = true;
  } else if (key == "memory") {
    gpu.memory_total = whole(words.at(1));
    gpu.memory_reserved = words.size() > 2 ? whole(words[2]) : 0;
  } else if (key == "max-memory-clock") {
    gpu.max_memory_clock = whole(words.at(1));
  } else if (key == "bus-width") {
    gpu.bus_bits = whole(words.at(1));
  } else if (key == "link") {
    gpu.link_generation = whole(words.at(1));
    gpu.link_width = whole(words.at(2));
    gpu.max_link_generation = whole(words.at(3));
    gpu.max_link_width = whole(words.at(4));
  } else if (key == "process") {
    gpu.processes.push_back(process(words));
  } else if (key == "garbage") {
    gpu.garbage.push_back(garbage(words));
  } else {
    return false;
  }
  return true;
}

Failure failure(const Words& words) {
  Failure out{words.at(1), static_cast<int>(whole(words.at(2)))};
  for (std::size_t i = 3; i + 1 < words.size(); i += 2) {
    if (words[i] == "from")
      out.from_ms = number(words[i + 1]);
    else if (words[i] == "to")
      out.to_ms = number(words[i + 1]);
    else if (words[i] == "gpu")
      out.device = static_cast<int>(whole(words[i + 1]));
    else
      throw std::invalid_argument("unknown word: " + words[i]);
  }
  return out;
}

void read_line(Scenario& scenario, const std::string& line) {
  const Words words = words_of(line);
  if (words.empty()) return;
  const std::string& key = words[0];
  if (key == "gpu") {
    scenario.gpus.emplace_back();
    const std::size_t name = line.find_first_not_of(" \t", line.find("gpu") + 3);
    if (name != std::string::npos) scenario.gpus.back().name = line.substr(name);
  } else if (key == "init") {
    scenario.init_code = static_cast<int>(whole(words.at(1)));
  } else if (key == "driver") {
    scenario.driver = words.at(1);
  } else if (key == "step") {
    scenario.step_function = words.at(1);
    scenario.step_ms = number(words.at(2));
  } else if (key == "since") {
    scenario.since = words.at(1);
  } else if (key == "stride") {
    scenario.stride = static_cast<int>(whole(words.at(1)));
  } else if (key == "clears-lists") {
    scenario.clears_lists = true;
  } else if (key == "fail") {
    scenario.failures.push_back(failure(words));
  } else if (key == "slow") {
    const bool one = words.size() > 4 && words[3] == "gpu";
    scenario.slow.push_back(
        {words.at(1), number(words.at(2)), one ? static_cast<int>(whole(words[4])) : -1});
  } else if (scenario.gpus.empty() || !read_gpu_line(scenario.gpus.back(), words)) {
    throw std::invalid_argument("unknown line");
  }
}

}  // namespace

unsigned Process::pid_now() const { return script_pid(pid); }

std::string Gpu::bus_id() const {
  char text[32];
  std::snprintf(text, sizeof text, "%08X:%02X:%02X.0", domain, bus, slot);
  return text;
}

std::optional<std::int64_t> Gpu::energy_mj_at(double ms) const {
  if (no_energy) return std::nullopt;
  const double tick = std::floor(ms / kPeriodMs) * kPeriodMs;
  const auto joules = energy.at(tick) ? energy.at(tick) : power.integral(tick);
  if (!joules) return std::nullopt;
  return std::llround(*joules * 1000);
}

std::vector<abi::ProcessUtilization> Gpu::samples_since(double ms, double zero_ms,
                                                        unsigned long long last_seen) const {
  constexpr double kClockAtStartUs = 1e9;
  const double tick = std::floor(ms / kPeriodMs) * kPeriodMs;
  const auto stamp = static_cast<std::uint64_t>(kClockAtStartUs + (zero_ms + tick) * 1000);
  std::vector<abi::ProcessUtilization> rows;
  for (const Process& process : processes) {
    if (!process.sm || *process.sm <= 0 || !process.there_at(tick) || stamp <= last_seen) continue;
    abi::ProcessUtilization row{};
    row.pid = process.pid_now();
    row.timestamp = stamp;
    row.sm = static_cast<unsigned>(*process.sm);
    rows.push_back(row);
  }
  rows.insert(rows.end(), garbage.begin(), garbage.end());
  return rows;
}

Scenario read_scenario() {
  Scenario scenario;
  play_script("fake NVML", "PICCHIO_FAKE_NVML",
              [&](const std::string& line) { read_line(scenario, line); });
  return scenario;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace fake
