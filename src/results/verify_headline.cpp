#include "base/text.h"
#include "results/verify_parts.h"
#include "verdict/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace picchio::results {
namespace {

/// The number between `before` and `unit` in `text`: one without its unit may have been cut.
std::optional<double> number_after(std::string_view text, std::string_view before,
                                   std::string_view unit) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + before.size());
  const auto value = take_double(rest);
  return rest.starts_with(unit) ? value : std::nullopt;
}

void check_state(const RunFigures& run, Findings& out) {
  if (!run.state || !run.placement.engagement) return;
  const Engagement engagement = *run.placement.engagement;
  const std::string words = fmt::format("VERDICT {} over a gpu line that says {}",
                                        name_of(*run.state), name_of(engagement));
  const bool engaged = engagement == Engagement::engaged;
  switch (*run.state) {
    case State::healthy:
      out.judge("headline", engaged || engagement == Engagement::no_evidence, words);
      break;
    case State::partial_offload:
      out.judge("headline", engagement != Engagement::not_engaged, words);
      break;
    case State::silent_cpu_fallback:
    case State::cpu_only_machine:
      out.judge("headline", !engaged && engagement != Engagement::partial, words);
      break;
    case State::conflicting_evidence:
    case State::no_placement_evidence:
    case State::no_timing_evidence:
      break;
  }
  const bool owes =
      *run.state == State::partial_offload || *run.state == State::silent_cpu_fallback;
  out.judge("headline", owes || run.why.empty(),
            fmt::format("WHY under {}, which owes none", name_of(*run.state)));
}

/// Figures that the sentence repeats.
void check_sentence(const RunFigures& run, Findings& out) {
  const std::string& text = run.sentence;
  const LaneFigures& decode = run.lane(Lane::decode);
  const LaneFigures& prefill = run.lane(Lane::prefill);
  if (const auto quoted = number_after(text, "warm median decode: ", " tok/s");
      quoted && decode.warm.value) {
    out.judge("headline", std::abs(*quoted - *decode.warm.value) < 0.051,
              fmt::format("the verdict quotes {:.1f} tok/s, the table has {:.1f}", *quoted,
                          *decode.warm.value));
  }
  const auto rate = prefill.warm.value ? prefill.warm.value : prefill.cold.value;
  const auto wait = number_after(text, "Prefill: ", " s per ");
  const auto tokens = number_after(text, " s per ", " tokens");
  if (wait && tokens && rate && *rate > 0) {
    const double seconds = *tokens / *rate;
    out.judge("headline", std::abs(seconds - *wait) <= 1 + 0.03 * seconds,
              fmt::format("{:.0f} tokens at {:.1f} tok/s take {:.0f} s, not {:.0f}", *tokens, *rate,
                          seconds, *wait));
  }
  const auto ratio = number_after(text, "prefill ran ", "x");
  const auto slow = decode.warm.value ? decode.warm.value : decode.cold.value;
  if (ratio && rate && slow && *slow > 0) {
    out.judge("headline", std::abs(*rate / *slow - *ratio) <= 0.6 + 0.05 * *ratio,
              fmt::format("prefill {:.1f} over decode {:.1f} is {:.0f}x, not {:.0f}x", *rate, *slow,
                          *rate / *slow, *ratio));
  }
  const auto work = number_after(text, "gpu work at ", "%");
  if (work && run.meter.work_percent) {
    out.judge("headline", std::abs(*work - *run.meter.work_percent) <= 1,
              fmt::format("the verdict says {:.0f}% work, the os line {:.0f}%", *work,
                          *run.meter.work_percent));
  }
  const auto share = number_after(text, "Ollama reports ", "%");
  if (share && run.placement.claimed_share) {
    out.judge("headline", std::abs(*share - 100 * *run.placement.claimed_share) <= 1,
              fmt::format("the verdict says {:.0f}% in GPU memory, the gpu line {:.0f}%", *share,
                          100 * *run.placement.claimed_share));
  }
}

/// The first word behind a flag: what comes then may be the rest of a sentence.
std::string_view value_of(const ShownArgument& argument) {
  return std::string_view(argument.words).substr(0, argument.words.find(' '));
}

/// A flag that forced the placement is among those that the gpu line shows.
void check_reason(const RunFigures& run, Findings& out) {
  const std::string& arguments = run.placement.arguments;
  std::string_view reason = run.why;
  const bool forced =
      take_prefix(reason, "forced by flag: ") || take_prefix(reason, "forced by the flag ");
  // Either may be cut, and what follows the flag is a sentence.
  if (!forced || arguments.empty() || arguments.contains("..") || reason.contains("..")) return;
  const std::vector<ShownArgument> given = shown_arguments(arguments);
  for (const ShownArgument& blamed : shown_arguments(reason)) {
    if (blamed.flag.empty()) continue;
    const std::string_view value = value_of(blamed);
    // Other values are quoted in one place and not in the other.
    const bool exact = parse_int(value) || value == "none";
    const bool there = std::ranges::any_of(given, [&](const ShownArgument& each) {
      return each.flag == blamed.flag && (!exact || value_of(each) == value);
    });
    out.judge("headline", there,
              fmt::format("WHY blames {}{}{}, the arguments are {}", blamed.flag,
                          value.empty() ? "" : " ", value, arguments));
  }
}

}  // namespace

void check_headline(const RunFigures& run, Findings& out) {
  check_state(run, out);
  check_sentence(run, out);
  check_reason(run, out);
}

}  // namespace picchio::results
