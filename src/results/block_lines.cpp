#include "results/block_lines.h"

#include "base/text.h"
#include "results/quantities.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace picchio::results {
namespace {

/// Empty for what a block says where it does not know.
std::string known(std::string_view text, std::string_view unknown) {
  return std::string(text == unknown ? std::string_view() : text);
}

constexpr std::array kEngines = {"llama.cpp",
                                 "ollama",
                                 "llama-server",
                                 "LM Studio",
                                 "vLLM",
                                 "SGLang",
                                 "KoboldCpp",
                                 "koboldcpp",
                                 "TabbyAPI",
                                 "mlx-lm",
                                 "llamafile",
                                 "ik_llama",
                                 "text-generation-webui"};

/// Splits at ", ".
std::vector<std::string_view> at_commas(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t end = text.find(", "); end != std::string_view::npos; end = text.find(", ")) {
    out.push_back(trim(text.substr(0, end)));
    text = text.substr(end + 2);
  }
  out.push_back(trim(text));
  return out;
}

std::string joined(const std::vector<std::string_view>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Takes "NUMBER%" off the front.
std::optional<double> take_percent(std::string_view& text) {
  std::string_view rest = text;
  const auto value = take_double(rest);
  if (!value || !take_prefix(rest, "%")) return std::nullopt;
  text = rest;
  return value;
}

/// Takes "NUMBER<unit>" off the whole of `text`.
std::optional<double> number_before(std::string_view text, std::string_view unit) {
  if (!text.ends_with(unit)) return std::nullopt;
  return parse_double(text.substr(0, text.size() - unit.size()));
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::optional<int> small(std::optional<std::int64_t> value) {
  constexpr std::int64_t kMost = 1'000'000;
  if (!value || *value < 0 || *value > kMost) return std::nullopt;
  return static_cast<int>(*value);
}

/// Takes what stands between the last " `open`" and the `close` at the very end off `text`.
std::optional<std::string> take_brackets(std::string_view& text, char open, char close) {
  const std::string_view rest = trim(text);
  if (!rest.ends_with(close)) return std::nullopt;
  // Devices' names have brackets of their own: "Intel(R) Arc(TM) A770 (DG2)".
  int depth = 0;
  for (std::size_t i = rest.size(); i-- > 0;) {
    if (rest[i] == close) ++depth;
    if (rest[i] == open && --depth == 0) {
      if (i > 0 && rest[i - 1] != ' ') return std::nullopt;
      std::string inside(rest.substr(i + 1, rest.size() - i - 2));
      text = trim(rest.substr(0, i));
      return inside;
    }
  }
  return std::nullopt;
}

/// "GeForce RTX 4090 x2": takes the count off the end; 1 without.
int take_count(std::string& name) {
  const std::size_t blank = name.rfind(" x");
  const bool alone = blank == std::string::npos;
  const auto count = alone ? std::nullopt : parse_int(std::string_view(name).substr(blank + 2));
  if (!count || *count < 1 || *count > 1024) return 1;
  name.resize(blank);
  return static_cast<int>(*count);
}

void read_device(std::string inside, PlacementFigures& out) {
  out.device_count = take_count(inside);
  const std::size_t colon = inside.find(": ");
  out.backend = inside.substr(0, colon);
  out.device = colon == std::string::npos ? "" : inside.substr(colon + 2);
}

bool read_share(std::string_view text, PlacementFigures& out) {
  std::string_view rest = text;
  take_prefix(rest, "ollama ps claims ");
  const auto percent = take_percent(rest);
  const bool of_weights =
      rest.starts_with(" of weights in GPU memory") || rest.starts_with(" in GPU memory");
  if (!percent || !of_weights) return false;
  out.claimed_share = std::clamp(*percent, 0.0, 100.0) / 100;
  return true;
}

bool read_layers(std::string_view text, PlacementFigures& out) {
  std::string_view rest = text;
  const auto layers = small(take_int(rest));
  if (!layers || !take_prefix(rest, "/")) return false;
  const auto total = small(take_int(rest));
  if (!total || !trim(rest).starts_with("layers on GPU")) return false;
  out.layers_on_gpu = layers;
  out.layers_total = total;
  return true;
}

/// "4.7 GiB on CUDA0 (software)", "embedding 0.53 GiB host", "CUDA0 20.1"; `unit` is that of the
/// last part, for the form that names it once.
std::optional<DeviceBytes> device_bytes(std::string_view text, std::string_view unit) {
  DeviceBytes out;
  if (auto note = take_brackets(text, '(', ')')) out.note = *std::move(note);
  if (take_prefix(text, "embedding ")) out.note = "embedding";
  std::string_view rest = text;
  if (const auto value = take_double(rest)) {
    rest = trim(rest);
    const std::size_t blank = rest.find(' ');
    const auto bytes = unit_bytes(rest.substr(0, blank));
    if (!bytes || blank == std::string_view::npos) return std::nullopt;
    out.bytes = *value * *bytes;
    rest = trim(rest.substr(blank));
    take_prefix(rest, "on ");
    out.device = rest;
    return out;
  }
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  rest = text.substr(blank);
  const auto value = take_double(rest);
  const auto own = unit_bytes(trim(rest));
  const auto bytes = own ? own : unit_bytes(unit);
  if (!value || !bytes || (!own && !trim(rest).empty())) return std::nullopt;
  out.device = text.substr(0, blank);
  out.bytes = *value * *bytes;
  return out;
}

/// Takes one cell of rates off the front.
std::optional<Rate> take_rate(std::string_view& text) {
  std::string_view rest = trim(text);
  Rate out;
  if (take_prefix(rest, "n/a")) {
    text = rest;
    return out;
  }
  if (take_prefix(rest, "abstain")) {
    out.abstains = true;
    text = rest;
    return out;
  }
  const auto value = take_double(rest);
  if (!value || *value < 0) return std::nullopt;
  rest = trim(rest);
  if (!take_prefix(rest, "tok/s") && !take_prefix(rest, "t/s")) return std::nullopt;
  out.value = value;
  text = rest;
  return out;
}

/// One figure of the meters: "mem +6.0 GiB".
bool read_meter(std::string_view part, MeterFigures& out) {
  if (take_prefix(part, "idle ")) return (out.idle_percent = take_percent(part)).has_value();
  if (part == "work not told") return true;
  if (take_prefix(part, "work ")) return (out.work_percent = take_percent(part)).has_value();
  if (take_prefix(part, "mem ")) {
    const bool less = part.starts_with('-');
    if (less || part.starts_with('+')) part.remove_prefix(1);
    const auto size = bytes_in(part);
    if (size) out.memory_bytes = less ? -*size : *size;
    return size.has_value();
  }
  if (part == "n/a J/tok") return true;
  if (part.ends_with(" J/tok")) {
    return (out.joules_per_token = number_before(part, " J/tok")).has_value();
  }
  if (part.ends_with(" W")) return (out.watts = number_before(part, " W")).has_value();
  if (part != "throttled") return false;
  out.throttled = true;
  return true;
}

}  // namespace

bool read_model(std::string_view text, RunFigures& out) {
  std::vector<std::string_view> parts = at_commas(text);
  if (parts.size() < 2) return false;
  // A version may hold a comma; an engine's name begins the last part that has one.
  std::size_t engine = parts.size() - 1;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const bool named = std::ranges::any_of(kEngines, [&](std::string_view name) {
      return parts[i] == name || parts[i].starts_with(std::string(name) + ' ');
    });
    if (named) engine = i;
  }
  std::string label = joined({parts.begin() + static_cast<std::ptrdiff_t>(engine), parts.end()});
  parts.resize(engine);
  const auto named = std::ranges::find_if(
      kEngines, [&](std::string_view name) { return label.starts_with(std::string(name) + ' '); });
  const std::size_t blank =
      named == kEngines.end() ? label.find(' ') : std::string_view(*named).size();
  out.engine = known(std::string_view(label).substr(0, blank), "engine");
  out.build = blank == std::string::npos ? "" : label.substr(blank + 1);
  if (out.build == "(version unknown)") out.build.clear();
  // From the end: a file's name may hold commas as well.
  const auto take_last = [&](auto read) {
    const auto value = parts.size() > 1 ? read(parts.back()) : std::nullopt;
    if (value) parts.pop_back();
    return value;
  };
  out.weight_bytes = take_last(bytes_in);
  out.parameters = take_last(parameters_in);
  if (!out.parameters && parts.size() > 2) {
    // The quant stands between them, of servers.
    const std::string_view quant = parts.back();
    parts.pop_back();
    out.parameters = take_last(parameters_in);
    if (out.parameters) {
      out.quant = quant;
    } else {
      parts.push_back(quant);
    }
  }
  out.model = known(joined(parts), "model name unknown");
  return true;
}

bool read_gpu(std::string_view text, PlacementFigures& out) {
  std::string_view rest = trim(text);
  if (auto arguments = take_brackets(rest, '[', ']')) out.arguments = *std::move(arguments);
  if (rest.starts_with("NO EVIDENCE") || rest.starts_with("EVIDENCE UNKNOWN")) {
    out.engagement = Engagement::no_evidence;
    std::string reason = take_brackets(rest, '(', ')').value_or("");
    std::string_view inside = reason;
    if (read_share(inside, out)) return true;
    out.reason = std::move(reason);
    return true;
  }
  const std::size_t colon = rest.find(": ");
  if (colon == std::string_view::npos) return false;
  const std::string_view word = rest.substr(0, colon);
  if (word == "ENGAGED") {
    out.engagement = Engagement::engaged;
  } else if (word == "PARTIAL") {
    out.engagement = Engagement::partial;
  } else if (word == "NOT ENGAGED") {
    out.engagement = Engagement::not_engaged;
  } else {
    return false;
  }
  rest = trim(rest.substr(colon + 2));
  if (read_share(rest, out)) return true;
  if (auto device = take_brackets(rest, '(', ')')) read_device(*std::move(device), out);
  return read_layers(rest, out) || rest == "layer count not reported" || read_share(rest, out);
}

bool read_bytes(std::string_view text, PlacementFigures& out) {
  const std::vector<std::string_view> parts = at_commas(text);
  const std::string_view last = parts.back();
  const std::size_t unit_at = last.rfind(' ');
  const std::string_view unit =
      unit_at == std::string_view::npos ? std::string_view() : last.substr(unit_at + 1);
  bool read_any = false;
  for (std::string_view part : parts) {
    if (take_prefix(part, "weights ")) {
      if (const auto percent = take_percent(part)) {
        out.gpu_share = std::clamp(*percent, 0.0, 100.0) / 100;
        read_any = true;
      }
    } else if (take_prefix(part, "kv ")) {
      out.kv = part;
      read_any = true;
    } else if (auto device = device_bytes(part, unit)) {
      out.devices.push_back(*std::move(device));
      read_any = true;
    }
  }
  return read_any || text.starts_with("not reported");
}

bool read_os(std::string_view text, MeterFigures& out) {
  std::string_view rest = trim(text);
  if (!take_prefix(rest, "gpu ")) return false;
  if (take_prefix(rest, "not sampled")) {
    out.not_sampled = between(rest, "(", ")").value_or("no reason told");
    // A long reason stands in a row of its own, behind the evidence.
    if (out.not_sampled == "see below") {
      out.not_sampled = between(rest.substr(rest.find(')')), "(", ")").value_or(out.not_sampled);
    }
    return true;
  }
  if (rest.starts_with("lost") || rest.starts_with("sampled, nothing") ||
      rest.contains("before the run")) {
    out.not_sampled = rest;
    return true;
  }
  bool read_any = false;
  for (const std::string_view part : at_commas(rest.substr(0, rest.find(';')))) {
    if (read_meter(part, out)) read_any = true;
  }
  return read_any;
}

bool read_cpu(std::string_view text, CpuFigures& out) {
  if (trim(text) == "not read") return true;
  std::string_view rest = trim(text);
  const auto busy = take_double(rest);
  if (!busy) return false;
  rest = trim(rest);
  if (take_prefix(rest, "of ")) out.cores = small(take_int(rest));
  if (!trim(rest).starts_with("cores in decode")) return false;
  out.busy_cores = busy;
  if (const std::size_t comma = rest.find(", "); comma != std::string_view::npos) {
    rest = rest.substr(comma + 2);
    out.threads = small(take_int(rest));
  }
  return true;
}

bool read_settings(std::string_view text, RunFigures& out) {
  const std::string_view rest = trim(text);
  if (rest.starts_with("not recorded")) return true;
  Sampling sampling;
  bool read_any = false;
  for (std::string_view part : at_commas(rest)) {
    const auto take = [&](std::string_view name, std::optional<double>& into) {
      std::string_view value = part;
      if (!take_prefix(value, name)) return;
      into = parse_double(value);
      read_any = read_any || into.has_value();
    };
    take("temp ", sampling.temperature);
    take("top-k ", sampling.top_k);
    take("top-p ", sampling.top_p);
    take("min-p ", sampling.min_p);
    if (take_prefix(part, "seed ")) {
      sampling.seed = parse_int(part);
      read_any = read_any || sampling.seed.has_value();
    }
  }
  if (read_any) out.sampling = sampling;
  return read_any;
}

bool read_rates(std::string_view text, RateRow row, RunFigures& out) {
  std::array<Rate, kLanes.size()> rates;
  for (Rate& rate : rates) {
    const auto taken = take_rate(text);
    if (!taken) return false;
    rate = *taken;
  }
  for (const Lane lane : kLanes) {
    LaneFigures& figures = out.lane(lane);
    (row == RateRow::cold ? figures.cold : figures.warm) = rates[static_cast<std::size_t>(lane)];
  }
  return true;
}

bool read_spans(std::string_view text, RunFigures& out) {
  const std::vector<std::string_view> cells = split_blanks(text);
  if (cells.size() != kLanes.size()) return false;
  std::array<std::pair<std::optional<double>, std::optional<double>>, kLanes.size()> spans;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] == "-") continue;
    // An editor, or somebody, made a dash of it.
    const std::size_t wave = cells[i].find_first_of("~-", 1);
    if (wave == std::string_view::npos) return false;
    spans[i] = {parse_double(cells[i].substr(0, wave)), parse_double(cells[i].substr(wave + 1))};
    if (!spans[i].first || !spans[i].second) return false;
  }
  for (const Lane lane : kLanes) {
    out.lane(lane).low = spans[static_cast<std::size_t>(lane)].first;
    out.lane(lane).high = spans[static_cast<std::size_t>(lane)].second;
  }
  return true;
}

bool read_cold_pass(std::string_view text, ColdPassFigures& out) {
  std::vector<std::string_view> parts = at_commas(text);
  const auto whole = number_before(parts.front(), " s");
  if (!whole) return false;
  out.seconds = whole;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    std::string_view part = parts[i];
    if (!part.ends_with(" threads")) {
      out.cache = part;
      continue;
    }
    out.threads = small(take_int(part));
    if (take_prefix(part, "/")) out.cores = small(take_int(part));
  }
  return true;
}

bool read_phase(std::string_view text, PhaseFigures& out) {
  std::string_view rest = trim(text);
  PhaseFigures phase;
  if (!take_prefix(rest, "n/a")) {
    phase.seconds = take_double(rest);
    rest = trim(rest);
    if (!phase.seconds || !take_prefix(rest, "s")) return false;
  }
  const std::size_t after = rest.find_first_not_of(" #.");
  const std::string_view bar = trim(rest.substr(0, after));
  if (!bar.empty()) phase.marks = small(std::ranges::count(bar, '#'));
  if (after != std::string_view::npos) {
    rest = rest.substr(after);
    if (!rest.starts_with("n/a")) phase.percent = take_percent(rest);
  }
  out = phase;
  return true;
}

bool read_verdict(std::string_view text, RunFigures& out) {
  const std::string_view rest = trim(text);
  const std::size_t end = rest.find('.');
  std::string name(rest.substr(0, end));
  std::ranges::transform(name, name.begin(), upper);
  const auto state = state_named(name);
  if (!state) return false;
  out.state = state;
  out.sentence = end == std::string_view::npos ? std::string_view() : trim(rest.substr(end + 1));
  return true;
}

bool read_footer(std::string_view text, RunFigures& out) {
  std::string_view rest = trim(text);
  const std::size_t on = rest.find(" on ");
  if (!take_prefix(rest, "v") || on == std::string_view::npos) return false;
  const std::vector<std::string_view> words = split_blanks(rest.substr(0, on - 1));
  if (words.empty() || words.size() > 2) return false;
  std::string_view machine = rest.substr(on - 1 + std::string_view(" on ").size());
  // From the end: a chip's name may hold commas.
  const std::size_t ram = machine.rfind(" GB, ");
  if (ram == std::string_view::npos) return false;
  const std::size_t comma = machine.substr(0, ram).rfind(", ");
  if (comma == std::string_view::npos) return false;
  out.version = known(words[0], "?");
  out.protocol = words.size() > 1 ? words[1] : "";
  out.machine.os =
      known(trim(machine.substr(ram + std::string_view(" GB, ").size())), "unknown OS");
  out.machine.ram_gib = parse_double(machine.substr(comma + 2, ram - comma - 2));
  std::string chip(machine.substr(0, comma));
  const std::size_t plus = chip.find(" + ");
  out.machine.chip = known(std::string_view(chip).substr(0, plus), "unknown chip");
  if (plus == std::string::npos) return true;
  out.machine.gpu = chip.substr(plus + 3);
  out.machine.gpu_count = take_count(out.machine.gpu);
  return true;
}

}  // namespace picchio::results
