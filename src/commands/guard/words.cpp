#include "commands/guard/words.h"

#include "base/text.h"
#include "machine/server_process.h"
#include "report/json_parts.h"
#include "report/names.h"
#include "version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace picchio {
namespace {

struct Phrase {
  std::string_view done;
  std::string_view now;
};
// The verdict speaks of a run that is over.
constexpr Phrase kPresent[] = {
    {"did the work", "does the work"}, {" stood by", " stands by"},
    {" The rates are its CPU's.", ""}, {"waited", "waits"},
    {"The CPU did", "The CPU does"},
};

std::string in_the_present(std::string text) {
  for (const Phrase& phrase : kPresent) {
    const std::size_t at = text.find(phrase.done);
    if (at != std::string::npos) text.replace(at, phrase.done.size(), phrase.now);
  }
  return text;
}

std::string percent(double share) {
  const double value = 100 * share;
  const bool fine = (value > 0 && value < 1) || (value > 99 && value < 100);
  return fine ? fmt::format("{:.2f}%", value) : fmt::format("{:.0f}%", value);
}

/// "97% of the weights on CUDA0 (RTX 4090), KV cache gpu".
std::string where(const Placement& placement) {
  std::string out;
  if (placement.weights_on_gpu_fraction) {
    out = percent(*placement.weights_on_gpu_fraction) + " of the weights";
  }
  std::string devices;
  for (const DeviceAccount& device : placement.devices) {
    if (device.kind == DeviceKind::host || device.weights_bytes.value_or(0) <= 0) continue;
    devices += devices.empty() ? " on " : " and ";
    devices += plain(device.name);
    if (!device.description.empty())
      devices += fmt::format(" ({})", fit(plain(device.description), 40));
  }
  out += devices;
  if (placement.kv_on) out += fmt::format(", KV cache {}", name_of(*placement.kv_on));
  return out;
}

std::string_view colour_of(State state) {
  switch (state) {
    case State::silent_cpu_fallback:
    case State::conflicting_evidence:
      return "\x1b[1;31m";
    case State::partial_offload:
      return "\x1b[1;33m";
    case State::healthy:
    case State::cpu_only_machine:
    case State::no_placement_evidence:
    case State::no_timing_evidence:
      break;
  }
  return "";
}

std::string_view basis(GuardSource source) {
  switch (source) {
    case GuardSource::log_and_process:
      return "";
    case GuardSource::log_alone:
      return " (By its log alone: the engine could not be seen among the command's processes.)";
    case GuardSource::process:
      return " (By its process: its log does not tell.)";
  }
  return "";
}

std::string rates_of(const EngineLog& log) {
  if (log.timings.empty()) return {};
  const EngineTimings& last = log.timings.back();
  std::string out;
  if (last.prefill_tokens_per_second) {
    out += fmt::format(", prefill {:.1f} tok/s", *last.prefill_tokens_per_second);
  }
  if (last.decode_tokens_per_second) {
    out += fmt::format(", decode {:.1f} tok/s", *last.decode_tokens_per_second);
  }
  if (!out.empty()) out = "; last rates:" + out.substr(1);
  return out;
}

std::string nothing_seen(const GuardJudge& judge, const GuardEnding& ending) {
  std::string out;
  if (!judge.engine_seen()) {
    out = "no model was seen to be loaded";
    if (ending.engine_elsewhere) {
      out += "; what it starts elsewhere is none of its processes, so only a log could tell";
    }
  } else {
    out = "where the model lay, nothing told";
  }
  if (!ending.quiet_log.empty()) {
    out += fmt::format("; its log was left as it is: {} (placement is printed at '-lv 4')",
                       ending.quiet_log);
  }
  return out;
}

bool on_gpu_in_part(const GuardFinding& finding) {
  return finding.verdict.state == State::healthy || finding.verdict.state == State::partial_offload;
}

bool holds(const Expectation& expectation, const GuardFinding& finding) {
  switch (expectation.kind) {
    case Expectation::Kind::gpu:
      return finding.verdict.state == State::healthy;
    case Expectation::Kind::partial:
      return on_gpu_in_part(finding);
    case Expectation::Kind::bytes:
      return on_gpu_in_part(finding) &&
             finding.placement.weights_on_gpu_fraction.value_or(-1) >= expectation.least;
  }
  return false;
}

nlohmann::json json_of(const GuardFinding& finding) {
  nlohmann::json out;
  out["at_s"] = seconds(finding.at);
  out["model"] = finding.model.empty() ? nlohmann::json() : nlohmann::json(finding.model);
  out["state"] = name_of(finding.verdict.state);
  out["rule"] = finding.verdict.rule;
  out["sentence"] = finding.verdict.sentence;
  out["shape"] = name_of(finding.placement.shape);
  const auto& share = finding.placement.weights_on_gpu_fraction;
  out["weights_on_gpu_fraction"] = share ? nlohmann::json(*share) : nlohmann::json();
  const auto& cause = finding.verdict.cause;
  out["cause"] = cause ? nlohmann::json(cause->id) : nlohmann::json();
  out["why"] = cause ? nlohmann::json(cause->why) : nlohmann::json();
  out["fix"] = cause && !cause->fix.empty() ? nlohmann::json(cause->fix) : nlohmann::json();
  out["causes"] = nlohmann::json(report::causes_json(finding.verdict));
  out["rests_on"] = finding.source == GuardSource::log_and_process ? "log and process"
                    : finding.source == GuardSource::log_alone     ? "log"
                                                                   : "process";
  return out;
}

}  // namespace

bool is_bad(const GuardFinding& finding) {
  const State state = finding.verdict.state;
  return state == State::silent_cpu_fallback || state == State::partial_offload ||
         state == State::conflicting_evidence;
}

std::string finding_line(const GuardFinding& finding, bool colour) {
  const Verdict& verdict = finding.verdict;
  std::string state(name_of(verdict.state));
  const std::string_view on = colour ? colour_of(verdict.state) : "";
  if (!on.empty()) state = fmt::format("{}{}\x1b[0m", on, state);
  std::string out = fmt::format("picchio: {}: ", state);
  if (!finding.model.empty()) out += fmt::format("{}: ", fit(plain(base_name(finding.model)), 60));
  out += plain(in_the_present(verdict.sentence));
  if (verdict.state == State::healthy || verdict.state == State::partial_offload) {
    const std::string place = where(finding.placement);
    if (!place.empty()) out += fmt::format(" {}.", place);
  }
  if (verdict.cause && verdict.state != State::healthy) {
    out += fmt::format(" WHY: {}", with_stop(plain(verdict.cause->why)));
    if (!verdict.cause->fix.empty()) {
      out += fmt::format(" FIX: {}", with_stop(plain(verdict.cause->fix)));
    }
  } else if (is_bad(finding) && verdict.state != State::conflicting_evidence) {
    out += fmt::format(" WHY: {}", with_stop(report::why_of(verdict)));
  }
  out += basis(finding.source);
  return out + "\n";
}

std::vector<std::pair<std::string, std::string>> finding_environment(const GuardFinding& finding,
                                                                     int pid) {
  const auto& cause = finding.verdict.cause;
  return {{"PICCHIO_STATE", std::string(name_of(finding.verdict.state))},
          {"PICCHIO_SENTENCE", plain(in_the_present(finding.verdict.sentence))},
          {"PICCHIO_WHY", cause ? plain(cause->why) : ""},
          {"PICCHIO_FIX", cause ? plain(cause->fix) : ""},
          {"PICCHIO_MODEL", plain(finding.model)},
          {"PICCHIO_PID", fmt::format("{}", pid)}};
}

std::string summary_lines(const GuardJudge& judge, const GuardEnding& ending) {
  std::string out = fmt::format(
      "picchio: {} ended with code {} after {:.1f} s: ", fit(plain(base_name(ending.command)), 40),
      ending.exit_code, seconds(ending.wall));
  if (judge.findings().empty()) {
    out += nothing_seen(judge, ending);
  } else {
    const GuardFinding& last = judge.findings().back();
    out += name_of(last.verdict.state);
    const auto worse = std::ranges::count_if(judge.findings(), is_bad);
    if (worse > 0 && !is_bad(last)) out += fmt::format(" at last, {} earlier not", worse);
  }
  out += rates_of(judge.log());
  if (judge.incomplete()) out += "; some of its log came too fast to be read along";
  if (ending.left_behind) out += "; a process that it started writes on";
  out += '\n';
  if (!ending.meters.empty()) out += fmt::format("picchio: meters: {}\n", plain(ending.meters));
  return out;
}

Result<Expectation> parse_expectation(const std::string& text) {
  if (text == "gpu") return Expectation{Expectation::Kind::gpu, 0};
  if (text == "partial") return Expectation{Expectation::Kind::partial, 0};
  std::string_view rest = text;
  if (take_prefix(rest, "bytes>=")) {
    const auto least = parse_double(rest);
    if (least && *least > 0 && *least <= 1) return Expectation{Expectation::Kind::bytes, *least};
  }
  return with_hint(fail(ErrorKind::malformed, "--expect does not know '{}'", text),
                   "gpu, partial, or bytes>=0.9 for a share of the weights up to 1");
}

ExitCode check_expectation(const Expectation& expectation,
                           const std::vector<GuardFinding>& findings) {
  if (findings.empty()) return ExitCode::silent_cpu_fallback;
  ExitCode worst = ExitCode::ok;
  for (const GuardFinding& finding : findings) {
    if (holds(expectation, finding)) continue;
    if (!on_gpu_in_part(finding)) return ExitCode::silent_cpu_fallback;
    worst = ExitCode::partial_offload;
  }
  return worst;
}

Gate check_gate(const Expectation& expectation, const std::vector<GuardFinding>& findings,
                bool log_incomplete) {
  if (log_incomplete) {
    return {ExitCode::silent_cpu_fallback,
            "some of its log was not read, so a load may have gone unseen"};
  }
  const ExitCode code = check_expectation(expectation, findings);
  return {code, findings.empty() ? "nothing tells where the model lay" : ""};
}

std::string guard_json(const GuardJudge& judge, const GuardEnding& ending,
                       const std::vector<std::string>& command) {
  nlohmann::json out;
  out["schema"] = "picchio.guard.v1";
  out["version"] = kVersion;
  out["command"] = without_keys(command);
  out["exit_code"] = ending.exit_code;
  out["length_s"] = seconds(ending.wall);
  const std::string& engine = judge.log().engine;
  out["engine"] = engine.empty() ? nlohmann::json() : nlohmann::json(engine);
  out["log_incomplete"] = judge.incomplete();
  out["meters"] = ending.meters.empty() ? nlohmann::json() : nlohmann::json(ending.meters);
  out["findings"] = nlohmann::json::array();
  for (const GuardFinding& finding : judge.findings()) out["findings"].push_back(json_of(finding));
  nlohmann::json rates = {{"prefill", nullptr}, {"decode", nullptr}};
  if (!judge.log().timings.empty()) {
    const EngineTimings& last = judge.log().timings.back();
    if (last.prefill_tokens_per_second) rates["prefill"] = *last.prefill_tokens_per_second;
    if (last.decode_tokens_per_second) rates["decode"] = *last.decode_tokens_per_second;
  }
  out["last_tokens_per_second"] = rates;
  return out.dump(1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace picchio
