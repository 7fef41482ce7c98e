#include "kept/telemetry.h"

#include "base/text.h"
#include "kept/telemetry_fields.h"
#include "os/file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>

namespace picchio::kept {
namespace {

constexpr std::string_view kSchema = "picchio.telemetry.v1";
constexpr double kLongestSeconds = 1e9;  // above it a double is no microsecond
constexpr double kMiB = 1024.0 * 1024;
// Beyond these no machine has a say; sums of what is within them fit 64 bits.
constexpr std::int64_t kLongestMicros = 1'000'000'000'000'000;
constexpr std::int64_t kMostBytes = 1'000'000'000'000'000;
constexpr std::size_t kMostGpus = 1024;

// A meter that tells little would fill its lines with nulls: what is absent or false is left out.
void prune(Json& json) {
  if (json.is_array()) {
    for (Json& element : json) prune(element);
    return;
  }
  if (!json.is_object()) return;
  for (auto field = json.begin(); field != json.end();) {
    const bool nothing = field->is_null() || *field == false || *field == "";
    field = nothing ? json.erase(field) : std::next(field);
  }
  for (Json& field : json) prune(field);
}

template <class T>
void add_line(std::string& out, const T& row) {
  Writer writer;
  describe(writer, row);
  Json json = writer.take();
  prune(json);
  out += json.dump();
  out += '\n';
}

bool sane(std::optional<std::int64_t> bytes) {
  return !bytes || (*bytes >= 0 && *bytes <= kMostBytes);
}

bool sane(Micros at) { return at.count() >= -kLongestMicros && at.count() <= kLongestMicros; }

// What else a meter tells: no figure of one GPU is beyond this.
bool sane(std::optional<double> value, double most) {
  return !value || (*value >= 0 && *value <= most);
}

constexpr double kMostPercent = 1000;  // of a process on several queues
constexpr double kMostWatts = 1e6;
constexpr double kMostJoules = 1e15;

bool sane(const GpuSample& sample) {
  return sane(sample.at) && std::ranges::all_of(sample.readings, [](const GpuReading& reading) {
           return sane(reading.memory_bytes) && sane(reading.busy_percent, kMostPercent) &&
                  sane(reading.power_watts, kMostWatts) && sane(reading.energy_joules, kMostJoules);
         });
}

bool sane(const Telemetry& head) {
  constexpr double kMostHz = 1e4;
  constexpr double kMostBytesPerSecond = 1e15;
  constexpr int kMostHalvings = 63;
  return sane(head.hz, kMostHz) && head.halvings >= 0 && head.halvings <= kMostHalvings &&
         std::ranges::all_of(head.gpus, [](const MeteredGpu& gpu) {
           return sane(gpu.memory_bytes) && sane(gpu.peak_bytes_per_second, kMostBytesPerSecond);
         });
}

bool sane(const ProcessSample& sample) {
  return sane(sample.at) && std::ranges::all_of(sample.use, [](const GpuProcessUse& use) {
           return sane(use.memory_bytes) && sane(use.evicted_bytes) &&
                  sane(use.busy_percent, kMostPercent) && sane(use.gpu_seconds, kLongestSeconds);
         });
}

// A line about looks at GPUs has "gpus", one about processes "use".
Result<> read_row(const Json& json, Telemetry& out) {
  Reader reader(json);
  bool plausible = false;
  if (json.contains("use")) {
    ProcessSample& sample = out.processes.emplace_back();
    describe(reader, sample);
    plausible = sane(sample);
  } else {
    GpuSample& sample = out.samples.emplace_back();
    describe(reader, sample);
    sample.readings.resize(out.gpus.size());
    plausible = sane(sample);
  }
  if (reader.error()) return fail(ErrorKind::malformed, "{}", *reader.error());
  if (!plausible) return fail(ErrorKind::malformed, "it holds a figure that cannot be");
  return {};
}

bool ascending(const Telemetry& telemetry) {
  return std::ranges::is_sorted(telemetry.samples, {}, &GpuSample::at) &&
         std::ranges::is_sorted(telemetry.processes, {}, &ProcessSample::at);
}

std::optional<double> number(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<Micros> moment(const Json& json, const char* key) {
  const auto value = number(json, key);
  if (!value || std::fabs(*value) > kLongestSeconds) return std::nullopt;
  return Micros(std::llround(*value * 1e6));
}

std::optional<std::int64_t> bytes(std::optional<double> value, double unit) {
  if (!value || *value < 0 || *value * unit > static_cast<double>(kMostBytes)) return std::nullopt;
  return std::llround(*value * unit);
}

std::optional<double> figure(const Json& json, const char* key, double most) {
  const auto value = number(json, key);
  return sane(value, most) ? value : std::nullopt;
}

MeteredGpu foreign_gpu(std::string meter) {
  MeteredGpu gpu;
  gpu.meter = std::move(meter);
  gpu.unified_memory = gpu.meter == "apple";
  for (const GpuFigure figure :
       {GpuFigure::energy, GpuFigure::clocks, GpuFigure::temperature, GpuFigure::throttling,
        GpuFigure::link, GpuFigure::process_busy, GpuFigure::process_memory}) {
    gpu.missing.push_back({figure, "not recorded with this run"});
  }
  return gpu;
}

// Its word for where the figures come from; without one it was a Mac.
std::string foreign_meter(const Json& summary, const Json& samples) {
  if (const auto source = summary.find("src"); source != summary.end() && source->is_string()) {
    const auto& word = source->get_ref<const std::string&>();
    return word == "ioreg" ? "apple" : fit(plain(word), 20);
  }
  const bool renderer = samples.is_array() && !samples.empty() && samples.front().is_object() &&
                        samples.front().contains("ren");
  return renderer ? "apple" : "unknown";
}

void read_marks(const Json& marks, Micros zero, RawRun& run) {
  if (!marks.is_array()) return;
  for (std::size_t i = 0; i < marks.size() && i < run.passes.size(); ++i) {
    if (!marks[i].is_object()) return;
    const auto end = moment(marks[i], "t_end");
    const auto wall = moment(marks[i], "wall_s");
    if (end && wall) run.passes[i].began = *end - *wall - zero;
  }
}

}  // namespace

std::string telemetry_to_text(const Telemetry& telemetry) {
  Json head;
  head["schema"] = kSchema;
  Writer writer;
  describe(writer, telemetry);
  Json fields = writer.take();
  prune(fields);
  head.update(fields);
  std::string out = head.dump() + "\n";
  // In the order of time, so that a recording reads like one.
  auto processes = telemetry.processes.begin();
  for (const GpuSample& sample : telemetry.samples) {
    for (; processes != telemetry.processes.end() && processes->at < sample.at; ++processes) {
      add_line(out, *processes);
    }
    add_line(out, sample);
  }
  for (; processes != telemetry.processes.end(); ++processes) add_line(out, *processes);
  return out;
}

Result<Telemetry> telemetry_from_text(std::string_view text) {
  Telemetry out;
  const bool cut = !text.empty() && text.back() != '\n';
  std::vector<std::string_view> lines = split_lines(text);
  if (cut && lines.size() > 1) lines.pop_back();
  if (lines.empty()) return fail(ErrorKind::malformed, "it is empty");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Result<Json> json = parse_json(lines[i]);
    if (!json) return fail(json.error().kind, "line {}: {}", i + 1, json.error().message);
    if (!json->is_object()) {
      return fail(ErrorKind::malformed, "line {} is not a JSON object", i + 1);
    }
    if (i == 0) {
      if (json->value("schema", Json()) != kSchema) {
        return fail(ErrorKind::malformed, "its schema is not '{}'", kSchema);
      }
      Reader reader(*json);
      describe(reader, out);
      if (reader.error()) return fail(ErrorKind::malformed, "line 1: {}", *reader.error());
      if (out.gpus.size() > kMostGpus || !sane(out)) {
        return fail(ErrorKind::malformed, "line 1: it holds a figure that cannot be");
      }
      for (MeteredGpu& gpu : out.gpus) {
        std::erase_if(gpu.missing, [](const MissingFigure& m) { return m.reason.empty(); });
      }
    } else if (const Result<> read = read_row(*json, out); !read) {
      return fail(ErrorKind::malformed, "line {}: {}", i + 1, read.error().message);
    }
  }
  if (!ascending(out)) return fail(ErrorKind::malformed, "its times do not ascend");
  return out;
}

Result<> write_telemetry(const std::string& folder, const Telemetry& telemetry) {
  if (const Result<> made = os::make_dirs(folder); !made) return made;
  return os::write_file_atomic((std::filesystem::path(folder) / "telemetry.jsonl").string(),
                               telemetry_to_text(telemetry));
}

Result<> read_foreign_telemetry(std::string_view text, RawRun& run) {
  const Result<Json> json = parse_json(text);
  if (!json) return std::unexpected(json.error());
  if (!json->is_object()) return fail(ErrorKind::malformed, "it is not a JSON object");
  const Json summary = json->value("summary", Json::object());
  const Json samples = json->value("samples", Json::array());
  Telemetry& out = run.telemetry;
  if (!summary.is_object()) return fail(ErrorKind::malformed, "its summary is not an object");
  if (const auto off = summary.find("off"); off != summary.end()) {
    out.none_because = off->is_string() ? fit(plain(off->get<std::string>()), 60) : "switched off";
    return {};
  }
  if (!samples.is_array() || samples.empty()) {
    out.none_because = "the recording holds no sample";
    return {};
  }
  std::optional<Micros> zero;
  for (const Json& row : samples) {
    const auto at = row.is_object() ? moment(row, "t") : std::nullopt;
    if (!at) return fail(ErrorKind::malformed, "a sample has no time");
    if (!zero) zero = at;
    GpuReading reading;
    reading.busy_percent = figure(row, "dev", kMostPercent);
    reading.memory_bytes = bytes(number(row, "mem"), 1);
    reading.power_watts = figure(row, "gpu_w", kMostWatts);
    out.samples.push_back({*at - *zero, {reading}});
  }
  out.gpus = {foreign_gpu(foreign_meter(summary, samples))};
  out.hz = figure(summary, "hz", 1e4).value_or(0);
  if (!ascending(out)) return fail(ErrorKind::malformed, "its times do not ascend");
  read_marks(json->value("marks", Json::array()), *zero, run);
  return {};
}

Result<> read_foreign_samples(std::string_view jsonl, RawRun& run) {
  Telemetry& out = run.telemetry;
  std::string driver;
  std::optional<std::int64_t> least;
  std::optional<Micros> grew;  // the look before the one that showed it
  const std::vector<std::string_view> lines = split_lines(jsonl);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (trim(lines[i]).empty()) continue;
    const Result<Json> json = parse_json(lines[i]);
    // A recorder that was killed leaves half a line.
    if (!json && i > 0 && i + 1 == lines.size() && !jsonl.ends_with('\n')) break;
    if (!json) return fail(json.error().kind, "line {}: {}", i + 1, json.error().message);
    if (!json->is_object()) {
      return fail(ErrorKind::malformed, "line {} is not a JSON object", i + 1);
    }
    if (const auto found = json->find("driver"); found != json->end() && found->is_string()) {
      driver = found->get<std::string>();
    }
    const auto at = moment(*json, "t");
    if (!at) continue;
    GpuReading reading;
    reading.busy_percent = figure(*json, "util_gpu", kMostPercent);
    reading.memory_bytes = bytes(number(*json, "mem_used_mib"), kMiB);
    reading.power_watts = figure(*json, "power_w", kMostWatts);
    reading.temperature_celsius = number(*json, "temp_c");
    if (reading.memory_bytes) {
      if (!grew && least && *reading.memory_bytes > *least) grew = out.samples.back().at;
      least = std::min(least.value_or(*reading.memory_bytes), *reading.memory_bytes);
    }
    out.samples.push_back({*at, {reading}});
  }
  if (out.samples.empty()) {
    out.none_because = "the recording holds no sample";
    return {};
  }
  if (!ascending(out)) return fail(ErrorKind::malformed, "its times do not ascend");
  out.gpus = {foreign_gpu("nvml")};
  out.gpus.front().driver = driver;
  if (run.passes.size() == 1) run.passes.front().began = grew.value_or(out.samples.front().at);
  return {};
}

}  // namespace picchio::kept
