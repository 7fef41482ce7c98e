// Prints what the NVML meter tells, a JSON object a line: the devices, then a reading of each
// device at each look, with what the processes named on the command line have. For nvml_record.py,
// and for looking at a new board.
//
//     print_nvml [--library PATH] [--seconds S] [--hz H] [PID...]
#include "base/text.h"
#include "meters/nvml/nvml.h"
#include "os/clock.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

namespace picchio {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  meters::Place place;
  double seconds = 5;
  double hz = 10;
  std::vector<int> pids;
};

template <class T>
void put(Json& json, const char* name, const std::optional<T>& value) {
  if (value) json[name] = *value;
}

Json json_of(const std::vector<MissingFigure>& missing) {
  Json list = Json::array();
  for (const MissingFigure& one : missing) {
    list.push_back({{"figure", name_of(one.figure)}, {"reason", one.reason}});
  }
  return list;
}

Json json_of(const std::optional<PcieLink>& link) {
  return link ? Json{{"generation", link->generation}, {"width", link->width}} : Json();
}

Json json_of(const MeteredGpu& gpu) {
  Json json{{"device", gpu.index},
            {"name", gpu.name},
            {"address", gpu.address},
            {"driver", gpu.driver},
            {"unified_memory", gpu.unified_memory}};
  put(json, "memory_bytes", gpu.memory_bytes);
  put(json, "peak_bytes_per_second", gpu.peak_bytes_per_second);
  put(json, "busy_window_seconds", gpu.busy_window_seconds);
  if (gpu.link_max) json["link_max"] = json_of(gpu.link_max);
  json["missing"] = json_of(gpu.missing);
  return json;
}

Json json_of(const GpuReading& reading, std::size_t device, double at) {
  Json json{{"at", at}, {"device", device}};
  put(json, "busy_percent", reading.busy_percent);
  put(json, "memory_bytes", reading.memory_bytes);
  put(json, "power_watts", reading.power_watts);
  put(json, "energy_joules", reading.energy_joules);
  put(json, "clock_mhz", reading.clock_mhz);
  put(json, "memory_clock_mhz", reading.memory_clock_mhz);
  put(json, "temperature_celsius", reading.temperature_celsius);
  if (reading.throttling) {
    json["throttling"] = {{"power_cap", reading.throttling->power_cap},
                          {"thermal", reading.throttling->thermal},
                          {"hardware", reading.throttling->hardware}};
  }
  if (reading.link) json["link"] = json_of(reading.link);
  if (!reading.lost.empty()) json["lost"] = reading.lost;
  if (!reading.given_up.empty()) json["given_up"] = json_of(reading.given_up);
  return json;
}

Json json_of(const GpuProcessUse& use, double at) {
  Json json{{"at", at}, {"device", use.device}, {"pid", use.pid}};
  put(json, "busy_percent", use.busy_percent);
  put(json, "memory_bytes", use.memory_bytes);
  return json;
}

void print(const Json& json) { std::puts(json.dump().c_str()); }

bool read_arguments(const std::vector<std::string_view>& words, Arguments& into) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (const auto pid = parse_int(words[i])) {
      into.pids.push_back(static_cast<int>(*pid));
      continue;
    }
    if (i + 1 == words.size()) return false;
    const std::string_view value = words[i + 1];
    if (words[i] == "--library") {
      into.place.nvml_library = value;
    } else if (words[i] == "--seconds" && parse_double(value)) {
      into.seconds = *parse_double(value);
    } else if (words[i] == "--hz" && parse_double(value).value_or(0) > 0) {
      into.hz = *parse_double(value);
    } else {
      return false;
    }
    ++i;
  }
  return true;
}

void look(meters::Meter& meter, const Arguments& arguments, double at) {
  const auto readings = meter.sample();
  for (std::size_t i = 0; i < readings.size(); ++i) print(json_of(readings[i], i, at));
  if (arguments.pids.empty()) return;
  const auto use = meter.process_use(arguments.pids);
  if (!use) print({{"at", at}, {"processes", use.error().message}});
  for (const GpuProcessUse& one : use.value_or(std::vector<GpuProcessUse>())) {
    print(json_of(one, at));
  }
}

int run(const std::vector<std::string_view>& words) {
  Arguments arguments;
  if (!read_arguments(words, arguments)) {
    std::fputs("usage: print_nvml [--library PATH] [--seconds S] [--hz H] [PID...]\n", stderr);
    return 2;
  }
  auto meter = meters::nvml::probe(arguments.place);
  if (!meter) {
    fmt::print(stderr, "print_nvml: {}\n", plain(meter.error().message));
    if (!meter.error().hint.empty()) fmt::print(stderr, "hint: {}\n", plain(meter.error().hint));
    return 1;
  }
  for (const MeteredGpu& gpu : (*meter)->devices()) print(json_of(gpu));
  const Micros start = os::monotonic_now();
  const auto looks = static_cast<int>(arguments.seconds * arguments.hz);
  for (int i = 0; i < looks; ++i) {
    look(**meter, arguments, seconds(os::monotonic_now() - start));
    std::fflush(stdout);  // a reader beside it waits for lines
    const Micros next = start + Micros(static_cast<std::int64_t>((i + 1) * 1e6 / arguments.hz));
    std::this_thread::sleep_for(next - os::monotonic_now());
  }
  return 0;
}

}  // namespace
}  // namespace picchio

int main(int argc, char** argv) { return picchio::run({argv + 1, argv + argc}); }
