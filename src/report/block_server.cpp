// What a block says of a server: its claim, whose figures the rates are, the time to first token.
#include "base/text.h"
#include "report/block.h"
#include "report/block_parts.h"
#include "report/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace picchio::report {
namespace {

std::string percent_text(double share) {
  const double percent = 100 * share;
  if (share > 0 && share < 1) return fmt::format("{:.0f}%", std::clamp(percent, 1.0, 99.0));
  return fmt::format("{:.0f}%", percent);
}

std::optional<double> first_token_seconds(const Pass& pass) {
  if (!pass.answer || !pass.answer->first_token) return std::nullopt;
  return seconds(*pass.answer->first_token);
}

/// Of the passes after the first.
std::optional<double> warm_first_token(const Run& run) {
  std::vector<double> values;
  for (std::size_t i = 1; i < run.passes.size(); ++i) {
    if (const auto value = first_token_seconds(run.passes[i])) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string seconds_text(double value) { return fmt::format("{:.2f} s", value); }

std::string first_token_text(const Run& run) {
  const auto first = run.passes.empty() ? std::nullopt : first_token_seconds(run.passes.front());
  const auto warm = warm_first_token(run);
  const bool cold = run.raw.server && run.raw.server->loads_on_request;
  if (first && warm && cold) {
    return fmt::format("TTFT {} cold, {} warm", seconds_text(*first), seconds_text(*warm));
  }
  if (warm) return fmt::format("TTFT {}", seconds_text(*warm));
  if (first) return fmt::format("TTFT {}", seconds_text(*first));
  return {};
}

}  // namespace

Engagement claimed_engagement(State state, double share) {
  if (state == State::conflicting_evidence) return Engagement::no_evidence;
  const bool refuted = state == State::silent_cpu_fallback || state == State::cpu_only_machine;
  if (refuted || share <= 0) return Engagement::not_engaged;
  return share >= 1 ? Engagement::engaged : Engagement::partial;
}

std::string server_gpu_line(const Run& run, const Verdict& verdict) {
  const ServerClaim* claim = least_claim(run);
  const auto claimed = claim == nullptr ? std::nullopt : claim->gpu_share();
  if (!claimed) {
    return "gpu      NO EVIDENCE (the server api exposes no placement)";
  }
  const double share = std::clamp(*claimed, 0.0, 1.0);
  const Engagement engagement = claimed_engagement(verdict.state, share);
  if (engagement == Engagement::no_evidence) {
    return fmt::format("gpu      NO EVIDENCE (ollama ps claims {} in GPU memory)",
                       percent_text(share));
  }
  if (engagement == Engagement::not_engaged && share > 0) {
    return fmt::format("gpu      NOT ENGAGED: ollama ps claims {} in GPU memory, wrongly",
                       percent_text(share));
  }
  return fmt::format("gpu      {}: {} of weights in GPU memory (ollama ps)", name_of(engagement),
                     percent_text(share));
}

std::string rates_line(const Run& run) {
  if (!run.raw.server || run.passes.empty()) return {};
  const auto& answer = run.passes.back().answer;
  if (!answer) return {};
  std::vector<std::string> parts;
  if (answer->prefill_source == answer->decode_source) {
    if (answer->decode_source != RateSource::none) {
      parts.push_back(fmt::format("by {}", name_of(answer->decode_source)));
    }
  } else {
    if (answer->prefill_source != RateSource::none) {
      parts.push_back(fmt::format("prefill {}", name_of(answer->prefill_source)));
    }
    if (answer->decode_source != RateSource::none) {
      parts.push_back(fmt::format("decode {}", name_of(answer->decode_source)));
    }
  }
  if (const std::string first = first_token_text(run); !first.empty()) parts.push_back(first);
  if (parts.empty()) return {};
  return fit(fmt::format("rates    {}", fmt::join(parts, ", ")), kBlockColumns);
}

}  // namespace picchio::report
