#include "report/monitored.h"

#include "base/text.h"
#include "report/layout.h"
#include "report/residency.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace picchio {
namespace {

/// "13:05:01Z": events and probes of one watch are read one below the other.
std::string clock_text(Moment at) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(at);
  const std::chrono::hh_mm_ss time(whole - std::chrono::floor<std::chrono::days>(whole));
  return fmt::format("{:02}:{:02}:{:02}Z", time.hours().count(), time.minutes().count(),
                     time.seconds().count());
}

class Parts {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    if (!text_.empty()) text_ += ", ";
    text_ += fmt::format(text, std::forward<Args>(args)...);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string gpu_text(const ProbedGpu& gpu) {
  std::string out = fmt::format("gpu{}", gpu.index);
  if (gpu.busy) out += fmt::format(" {:.0f}%", *gpu.busy);
  if (gpu.watts) out += fmt::format(" {:.0f} W", *gpu.watts);
  if (gpu.throttled) out += " throttled";
  return out;
}

std::string rates_text(const Probe& probe) {
  Parts parts;
  if (probe.prefill) parts.add("prefill {:.1f}", *probe.prefill);
  if (probe.decode) parts.add("decode {:.1f} tok/s", *probe.decode);
  if (probe.prefill && probe.decode && *probe.decode > 0) {
    parts.add("ratio {:.1f}", *probe.prefill / *probe.decode);
  }
  const bool answered = probe.end == ProbeEnd::answered;
  if (answered && !probe.prefill_abstain.empty())
    parts.add("prefill abstains: {}", plain(probe.prefill_abstain));
  if (answered && !probe.decode_abstain.empty())
    parts.add("decode abstains: {}", plain(probe.decode_abstain));
  if (probe.first_token_seconds) parts.add("TTFT {:.2f} s", *probe.first_token_seconds);
  if (const auto& share = probe.placement.weights_on_gpu_fraction) {
    parts.add("{:.0f}% of weights on GPU", 100 * *share);
  }
  if (probe.cpu_cores) parts.add("{:.1f} cores", *probe.cpu_cores);
  for (const ProbedGpu& gpu : probe.gpus) parts.add("{}", gpu_text(gpu));
  if (probe.residency) parts.add("{} resident", format_bytes(probe.residency->resident));
  if (!probe.contended.empty()) parts.add("beside others: {}", plain(probe.contended));
  return parts.text();
}

bool is_bad(Standing standing) { return is_fall(standing) || standing == Standing::lost; }

std::string length_text(Micros length) {
  const double s = seconds(length);
  if (s < 120) return fmt::format("{:.0f} s", s);
  if (s < 2 * 3600) return fmt::format("{:.0f} min", s / 60);
  if (s < 48.0 * 3600) return fmt::format("{:.1f} h", s / 3600);
  return fmt::format("{:.1f} days", s / 86400);
}

std::string baseline_text(const MonitorStatus& status) {
  if (!status.prefill && !status.decode) return "none: its probes did not agree with each other";
  Parts parts;
  const auto add = [&](std::string_view lane, const std::optional<Baseline>& baseline) {
    if (!baseline) return;
    parts.add("{} {:.1f} tok/s (+-{:.0f}%)", lane, baseline->median, 100 * baseline->spread);
  };
  add("prefill", status.prefill);
  add("decode", status.decode);
  return parts.text();
}

std::string probes_text(const MonitorStatus& status) {
  Parts parts;
  parts.add("{} answered", status.answered);
  const std::pair<std::int64_t, std::string_view> others[] = {
      {status.idle, "without a request of anybody's"},
      {status.busy, "skipped, it was busy"},
      {status.loading, "while it loaded"},
      {status.unreachable, "without an answer"},
      {status.failed, "failed"}};
  for (const auto& [count, words] : others) {
    if (count > 0) parts.add("{} {}", count, words);
  }
  return parts.text();
}

constexpr ColumnType kText = ColumnType::text;
constexpr ColumnType kReal = ColumnType::real;
constexpr ColumnType kWhole = ColumnType::whole;

constexpr std::array kColumns = {
    RowColumn{"probe", kWhole, true},
    RowColumn{"at", kText, true},
    RowColumn{"end", kText, true},
    RowColumn{"standing", kText, true},
    RowColumn{"state", kText, true},
    RowColumn{"prefill", kReal, true},
    RowColumn{"decode", kReal, true},
    RowColumn{"wallclock", kReal},
    RowColumn{"ttft_s", kReal},
    RowColumn{"weights_on_gpu_fraction", kReal, true},
    RowColumn{"prompt_tokens", kWhole},
    RowColumn{"cached_tokens", kWhole},
    RowColumn{"generated_tokens", kWhole},
    RowColumn{"length_s", kReal},
    RowColumn{"cpu_cores", kReal},
    RowColumn{"gpu_busy_percent", kReal, true},
    RowColumn{"gpu_watts", kReal},
    RowColumn{"gpu_memory_bytes", kWhole},
    RowColumn{"pid", kWhole},
    RowColumn{"resident_bytes", kWhole},
    RowColumn{"model", kText},
    RowColumn{"contended", kText},
    RowColumn{"why", kText},
};

template <class T>
RowCell cell(const std::optional<T>& value) {
  return value ? RowCell(*value) : RowCell();
}

RowCell cell(const std::string& text) { return text.empty() ? RowCell() : RowCell(text); }

/// Of several GPUs the one that the server had most of.
const ProbedGpu* leading(const Probe& probe) {
  const auto key = [](const ProbedGpu& gpu) {
    return std::pair(gpu.server_memory.value_or(0), gpu.busy.value_or(-1));
  };
  const auto most = std::ranges::max_element(probe.gpus, {}, key);
  return most == probe.gpus.end() ? nullptr : &*most;
}

}  // namespace

std::string probe_line(const Probe& probe, Standing standing) {
  std::string out =
      fmt::format("{} #{} {}: ", clock_text(probe.at), probe.number, name_of(standing));
  if (probe.end != ProbeEnd::answered) {
    out +=
        fmt::format("{}{}{}", name_of(probe.end), probe.why.empty() ? "" : ": ", plain(probe.why));
    const std::string rates = rates_text(probe);
    return rates.empty() ? out : out + ", " + rates;
  }
  const std::string rates = rates_text(probe);
  return out + (rates.empty() ? "answered without figures" : rates);
}

std::string event_line(const MonitorEvent& event, bool colour) {
  std::string out = fmt::format("{} #{} ", clock_text(event.at), event.probe);
  if (event.kind == MonitorEvent::Kind::standing) {
    std::string word = upper(name_of(event.to));
    if (colour && is_bad(event.to)) word = fmt::format("\x1b[1;31m{}\x1b[0m", word);
    if (colour && event.to == Standing::steady) word = fmt::format("\x1b[1;32m{}\x1b[0m", word);
    out += word;
    if (event.from != Standing::unknown) out += fmt::format(" (was {})", name_of(event.from));
    out += ": ";
  }
  out += plain(event.sentence);
  if (!event.why.empty()) out += fmt::format(" WHY: {}", with_stop(plain(event.why)));
  if (!event.fix.empty()) out += fmt::format(" FIX: {}", with_stop(plain(event.fix)));
  return out;
}

std::string monitor_summary(const MonitorStatus& status, const MonitorVerdict& verdict,
                            const std::optional<ResidencyReport>& residency) {
  std::string out = fmt::format(
      "target   {}, {} {}\n", plain(status.target), name_of(status.kind),
      status.server_version.empty() ? "(version unknown)" : plain(status.server_version));
  out += fmt::format("probes   {} in {}\n", probes_text(status), length_text(status.running));
  if (status.prompt_tokens + status.generated_tokens > 0) {
    const double share =
        status.running > Micros{} ? 100 * seconds(status.asked) / seconds(status.running) : 0;
    out += fmt::format("cost     {} prompt and {} generated tokens, {:.1f}% of the time\n",
                       status.prompt_tokens, status.generated_tokens, share);
  }
  if (status.answered > 0) out += fmt::format("baseline {}\n", baseline_text(status));
  out += fmt::format("changes  {} {}, {} {}\n", status.falls, status.falls == 1 ? "fall" : "falls",
                     status.reloads, status.reloads == 1 ? "reload" : "reloads");
  if (residency) out += residency_text(*residency);
  return out + fmt::format("VERDICT: {}. {}\n", verdict.word,
                           report::as_sentence(plain(verdict.sentence)));
}

std::span<const RowColumn> probe_columns() { return kColumns; }

std::vector<RowCell> probe_cells(const Probe& probe, Standing standing) {
  const ProbedGpu* gpu = leading(probe);
  const auto of_gpu = [&](auto member) { return gpu == nullptr ? RowCell() : cell(gpu->*member); };
  const auto whole = [](const std::optional<int>& value) {
    return value ? RowCell(std::int64_t{*value}) : RowCell();
  };
  return {probe.number,
          to_rfc3339(probe.at),
          std::string(name_of(probe.end)),
          std::string(name_of(standing)),
          probe.state ? RowCell(std::string(name_of(*probe.state))) : RowCell(),
          cell(probe.prefill),
          cell(probe.decode),
          cell(probe.wallclock),
          cell(probe.first_token_seconds),
          cell(probe.placement.weights_on_gpu_fraction),
          cell(probe.prompt_tokens),
          cell(probe.cached_tokens),
          cell(probe.generated_tokens),
          seconds(probe.length),
          cell(probe.cpu_cores),
          of_gpu(&ProbedGpu::busy),
          of_gpu(&ProbedGpu::watts),
          of_gpu(&ProbedGpu::memory_used),
          whole(probe.pid),
          probe.residency ? RowCell(probe.residency->resident) : RowCell(),
          cell(probe.model),
          cell(probe.contended),
          cell(probe.why)};
}

}  // namespace picchio
