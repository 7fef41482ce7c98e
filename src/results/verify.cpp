#include "results/verify.h"

#include "base/text.h"
#include "results/quantities.h"
#include "results/verify_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace picchio::results {
namespace {

constexpr double kHalfRate = 0.05;   // rates and seconds are printed with one digit
constexpr double kTwoClocks = 0.03;  // the engine's and ours
constexpr double kMostTokens = 129;  // mp1 generates 128; an engine may count the one that ends it
constexpr double kFewestTokens = 126;  // of those that do not stop early: the first is not timed

using Finding = std::optional<std::string>;

std::string seconds_text(double value) { return fmt::format("{:.1f} s", value); }

bool follows_protocol(const RunFigures& run) { return run.protocol == "mp1"; }

bool drafts(const RunFigures& run) {
  const std::string words = lower(run.placement.arguments + " " + run.sentence);
  return words.contains("draft") || words.contains("spec") || words.contains("-md ");
}

/// Wall-clock holds prefill and decode, so its rate is the lowest; a prompt is read in batches. The
/// first one may wait for a GPU's programs to be compiled, so only warm prefill is held against it.
void check_lane_order(const RunFigures& run, Findings& out) {
  const auto check = [&](const char* row, const Rate& prefill, const Rate& decode,
                         const Rate& wallclock) {
    if (decode.value && wallclock.value) {
      const double most = *decode.value * (1 + kTwoClocks) + 2 * kHalfRate;
      out.judge("lane order", *wallclock.value <= most,
                fmt::format("{}: {:.1f} tok/s by the wall clock are more than decode's {:.1f}, "
                            "which is a part of it",
                            row, *wallclock.value, *decode.value));
    }
    const bool batched = prefill.value && decode.value && follows_protocol(run) && !drafts(run);
    if (batched && std::string_view(row) == "warm") {
      constexpr double kBatched = 0.7;  // a prompt that is read no faster than it would be written
      out.judge("lane order", *prefill.value >= kBatched * *decode.value,
                fmt::format("{}: prefill {:.1f} tok/s is below decode {:.1f}, though a prompt is "
                            "read in batches",
                            row, *prefill.value, *decode.value));
    }
  };
  check("cold", run.lane(Lane::prefill).cold, run.lane(Lane::decode).cold,
        run.lane(Lane::wallclock).cold);
  check("warm", run.lane(Lane::prefill).warm, run.lane(Lane::decode).warm,
        run.lane(Lane::wallclock).warm);
}

void check_spans(const RunFigures& run, Findings& out) {
  for (const Lane lane : kLanes) {
    const LaneFigures& figures = run.lane(lane);
    if (!figures.low || !figures.high) continue;
    const double half = lane == Lane::prefill ? 0.5 : kHalfRate;
    out.judge("span", *figures.low <= *figures.high,
              fmt::format("{}: the span {:g}~{:g} ends before it begins", name_of(lane),
                          *figures.low, *figures.high));
    if (!figures.warm.value) continue;
    const double middle = *figures.warm.value;
    const bool inside =
        middle >= *figures.low - half - kHalfRate && middle <= *figures.high + half + kHalfRate;
    out.judge("span", inside,
              fmt::format("{}: the warm median {:.1f} is outside its own span {:g}~{:g}",
                          name_of(lane), middle, *figures.low, *figures.high));
  }
}

/// Decoded tokens by decode's own time and by the whole pass's are the same tokens.
void check_cold_tokens(const RunFigures& run, const ColdPassFigures& cold, Findings& out) {
  const auto& wall_rate = run.lane(Lane::wallclock).cold.value;
  const auto& decode_rate = run.lane(Lane::decode).cold.value;
  if (!cold.seconds || !wall_rate || *cold.seconds <= 0) return;
  const double tokens = *wall_rate * *cold.seconds;
  const double slack = kHalfRate * (*wall_rate + *cold.seconds) + 1;
  if (follows_protocol(run)) {
    out.judge(
        "cold pass", tokens - slack <= kMostTokens,
        fmt::format("{:.1f} tok/s over the cold pass's {} are {:.0f} tokens; mp1 generates 128",
                    *wall_rate, seconds_text(*cold.seconds), tokens));
    if (run.engine == "llama.cpp") {
      out.judge("cold pass", tokens + slack >= kFewestTokens,
                fmt::format("{:.1f} tok/s over the cold pass's {} are {:.0f} tokens; mp1 generates "
                            "128",
                            *wall_rate, seconds_text(*cold.seconds), tokens));
    }
  }
  if (!decode_rate || !cold.decode.seconds) return;
  const double decoded = *decode_rate * *cold.decode.seconds;
  const double apart = kHalfRate * (*decode_rate + *cold.decode.seconds) + 2 +
                       kTwoClocks * std::max(tokens, decoded) + slack;
  out.judge("cold pass", std::abs(decoded - tokens) <= apart,
            fmt::format("decode's {:.1f} tok/s over {} are {:.0f} tokens, the wall clock's {:.1f} "
                        "over {} are {:.0f}",
                        *decode_rate, seconds_text(*cold.decode.seconds), decoded, *wall_rate,
                        seconds_text(*cold.seconds), tokens));
}

void check_prompt(const RunFigures& run, const ColdPassFigures& cold, Findings& out) {
  const auto& rate = run.lane(Lane::prefill).cold.value;
  if (!rate || !cold.prefill.seconds || !run.context || *run.context <= 0) return;
  const double fewest = *rate * std::max(0.0, *cold.prefill.seconds - kHalfRate);
  out.judge(
      "prompt", fewest <= static_cast<double>(*run.context),
      fmt::format("prefill's {:.1f} tok/s over {} are {:.0f} tokens, more than the context of "
                  "{}",
                  *rate, seconds_text(*cold.prefill.seconds), *rate * *cold.prefill.seconds,
                  *run.context));
}

/// A warm pass reads the same prompt and writes as many tokens as the cold one: at the warm rates
/// that takes its time. Of engines that are asked for the whole prompt each time.
void check_warm_wallclock(const RunFigures& run, const ColdPassFigures& cold, Findings& out) {
  const LaneFigures& prefill = run.lane(Lane::prefill);
  const LaneFigures& decode = run.lane(Lane::decode);
  const auto& wall = run.lane(Lane::wallclock).warm.value;
  const bool whole = run.engine == "llama.cpp" || run.engine == "ollama";
  if (!follows_protocol(run) || !whole || !wall || !cold.prefill.seconds) return;
  if (!prefill.cold.value || !prefill.warm.value || !decode.warm.value) return;
  const double prompt = *prefill.cold.value * std::max(0.0, *cold.prefill.seconds - kHalfRate);
  // Medians of three lanes may come from three passes: the fastest of each bounds them all.
  const double reading = std::max(*prefill.warm.value, prefill.high.value_or(0)) + kHalfRate;
  const double writing = std::max(*decode.warm.value, decode.high.value_or(0)) + kHalfRate;
  const double seconds = prompt / reading + (kFewestTokens - 1) / writing;
  const double most = kMostTokens / seconds;
  out.judge("lane order", *wall <= most * (1 + kTwoClocks) + kHalfRate,
            fmt::format("warm: {:.0f} tokens read at {:.1f} tok/s and 128 written at {:.1f} take "
                        "{:.1f} s, which is {:.1f} tok/s by the wall clock, not {:.1f}",
                        prompt, reading, writing, seconds, most, *wall));
}

/// The bar of '#' is the percentage drawn.
void check_bar_length(const char* name, const PhaseFigures& phase, Findings& out) {
  if (!phase.marks || !phase.percent) return;
  constexpr double kWidth = 28;
  constexpr double kApart = 1.15;  // one mark, and half a percent
  const double marks = kWidth * *phase.percent / 100;
  out.judge("breakdown", std::abs(marks - *phase.marks) <= kApart,
            fmt::format("{}: {} of 28 marks are {:.0f}%, not {:.0f}%", name, *phase.marks,
                        100 * *phase.marks / kWidth, *phase.percent));
}

void check_bars(const ColdPassFigures& cold, Findings& out) {
  if (!cold.seconds || *cold.seconds <= 0) return;
  const struct {
    const char* name;
    const PhaseFigures& phase;
  } phases[] = {{"load weights", cold.load},
                {"prefill", cold.prefill},
                {"decode", cold.decode},
                {"engine misc", cold.misc}};
  double sum = 0;
  bool all = true;
  for (const auto& each : phases) {
    all = all && each.phase.seconds;
    sum += each.phase.seconds.value_or(0);
    check_bar_length(each.name, each.phase, out);
    if (!each.phase.seconds || !each.phase.percent) continue;
    const double percent = 100 * *each.phase.seconds / *cold.seconds;
    const double slack = 1 + 100 * kHalfRate / *cold.seconds * (1 + percent / 100);
    out.judge("breakdown", std::abs(percent - *each.phase.percent) <= slack,
              fmt::format("{}: {} of {} are {:.0f}%, not {:.0f}%", each.name,
                          seconds_text(*each.phase.seconds), seconds_text(*cold.seconds), percent,
                          *each.phase.percent));
  }
  const double slack = 5 * kHalfRate + kTwoClocks * *cold.seconds;
  out.judge("breakdown", sum <= *cold.seconds + slack,
            fmt::format("the phases sum to {}, more than the pass's {}", seconds_text(sum),
                        seconds_text(*cold.seconds)));
  if (all) {
    out.judge("breakdown", sum >= *cold.seconds - slack,
              fmt::format("the phases sum to {}, less than the pass's {}", seconds_text(sum),
                          seconds_text(*cold.seconds)));
  }
}

void check_energy(const RunFigures& run, Findings& out) {
  const auto& watts = run.meter.watts;
  const auto& joules = run.meter.joules_per_token;
  const LaneFigures& decode = run.lane(Lane::decode);
  const auto middle = decode.warm.value ? decode.warm.value : decode.cold.value;
  if (!watts || !joules || !middle || *middle <= 0) return;
  // Watts are a median, joules may come from a counter over another window.
  constexpr double kWindows = 0.30;
  const double half_watts = *watts < 100 ? 0.05 : 0.5;
  const double slowest =
      std::min({*middle, decode.low.value_or(*middle), decode.cold.value.value_or(*middle)});
  const double fastest =
      std::max({*middle, decode.high.value_or(*middle), decode.cold.value.value_or(*middle)});
  const double least = (*watts - half_watts) / fastest * (1 - kWindows) - 0.005;
  const double most = (*watts + half_watts) / std::max(slowest, kHalfRate) * (1 + kWindows) + 0.005;
  out.judge("energy", *joules >= least && *joules <= most,
            fmt::format("{:.1f} W at {:.1f} tok/s are {:.2f} J/tok, not {:.2f}", *watts, *middle,
                        *watts / *middle, *joules));
}

void check_meters(const RunFigures& run, Findings& out) {
  for (const auto& [name, value] :
       {std::pair{"idle", run.meter.idle_percent}, std::pair{"work", run.meter.work_percent}}) {
    if (!value) continue;
    out.judge("meters", *value <= 100,
              fmt::format("a GPU cannot be {:.0f}% busy ({})", *value, name));
  }
  if (run.cpu.busy_cores && run.cpu.cores) {
    constexpr double kTicks = 1.05;  // CPU time is counted in steps
    out.judge("cpu", *run.cpu.busy_cores <= *run.cpu.cores * kTicks,
              fmt::format("{:.1f} cores busy of {}", *run.cpu.busy_cores, *run.cpu.cores));
  }
  if (run.cpu.threads && run.cold_pass && run.cold_pass->threads) {
    out.judge("cpu", *run.cpu.threads == *run.cold_pass->threads,
              fmt::format("{} threads in the cpu line, {} in the cold pass", *run.cpu.threads,
                          *run.cold_pass->threads));
  }
  const PlacementFigures& place = run.placement;
  const bool whole = place.engagement == Engagement::engaged && place.gpu_share.value_or(1) == 1;
  const bool loaded = run.cold_pass && !run.server_was_warm;
  if (whole && loaded && run.meter.memory_bytes && run.weight_bytes) {
    // The embedding stays on the host, and others may let go of some memory meanwhile.
    constexpr double kLeast = 0.5;
    out.judge("memory", *run.meter.memory_bytes + 0.05 * kGiB >= kLeast * *run.weight_bytes,
              fmt::format("{:.2f} GiB of weights went to the GPU, whose memory grew by {:.1f} GiB",
                          *run.weight_bytes / kGiB, *run.meter.memory_bytes / kGiB));
  }
}

}  // namespace

void Findings::judge(std::string_view check, bool holds, std::string text) {
  const bool failed = std::ranges::find(found_.contradictions, check, &Contradiction::check) !=
                      found_.contradictions.end();
  if (!holds) {
    std::erase(found_.held, check);
    found_.contradictions.push_back({std::string(check), std::move(text)});
  } else if (!failed && std::ranges::find(found_.held, check) == found_.held.end()) {
    found_.held.emplace_back(check);
  }
}

Verification Findings::take() { return std::move(found_); }

Verification verify(const RunFigures& run) {
  Findings out;
  check_lane_order(run, out);
  check_spans(run, out);
  if (run.cold_pass) {
    check_bars(*run.cold_pass, out);
    check_cold_tokens(run, *run.cold_pass, out);
    check_prompt(run, *run.cold_pass, out);
    check_warm_wallclock(run, *run.cold_pass, out);
  }
  check_energy(run, out);
  check_meters(run, out);
  check_placement(run, out);
  check_headline(run, out);
  check_physics(run, drafts(run), out);
  return out.take();
}

Verification verify(const PastedBlock& block) {
  Verification out = verify(block.figures);
  if (block.other_state && block.figures.state) {
    out.contradictions.push_back(
        {"headline", fmt::format("two VERDICT lines: {}, and {}", name_of(*block.figures.state),
                                 name_of(*block.other_state))});
  }
  return out;
}

}  // namespace picchio::results
