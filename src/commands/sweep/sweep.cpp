#include "commands/sweep/sweep.h"

#include "base/text.h"
#include "commands/keep_folder.h"
#include "commands/read_run.h"
#include "commands/remember_run.h"
#include "commands/sweep/earlier_tier.h"
#include "commands/sweep/tiers.h"
#include "commands/terminal.h"
#include "kept/folder.h"
#include "report/explain.h"
#include "report/history.h"
#include "report/run_rows.h"
#include "report/sweep.h"
#include "verdict/depth_slope.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace picchio {
namespace {

constexpr Micros kTimeoutOfUsual = std::chrono::seconds(1800);
// Both short prompts go in with every vocabulary.
constexpr std::int64_t kCountingContext = 4096;
// A mistake in the count of a page, at the end of a long prompt.
constexpr int kMostTries = 3;
constexpr double kShorter = 0.98;

/// A prompt twice as long takes twice as long, and somewhat more.
Micros timeout_for(const SweepWish& wish, std::int64_t context) {
  if (wish.timeout) return *wish.timeout;
  const double times = std::max(1.0, 2 * static_cast<double>(context) / llama_cpp::kContext);
  return Micros(std::llround(times * static_cast<double>(kTimeoutOfUsual.count())));
}

std::string machine_text(const MachineFigures& machine) {
  std::string out = machine.chip.empty() ? "unknown chip" : machine.chip;
  if (!machine.gpu.empty()) {
    out += " + " + machine.gpu;
    if (machine.gpu_count > 1) out += fmt::format(" x{}", machine.gpu_count);
  }
  const std::string ram =
      machine.ram_gib ? fmt::format("{:.0f}", std::round(*machine.ram_gib)) : "?";
  return fmt::format("{}, {} GB, {}", out, ram, machine.os.empty() ? "unknown OS" : machine.os);
}

/// What of the passes counts: no rate that abstains. A pass before had read the file, so the first
/// one is as good as the others.
void take_rates(const Run& run, SweepTier& tier) {
  const auto add = [&](Lane lane, const std::optional<double>& rate, const std::string& abstains) {
    if (rate && abstains.empty()) tier.rates[static_cast<std::size_t>(lane)].push_back(*rate);
  };
  for (const Pass& pass : run.passes) {
    add(Lane::prefill, pass.lanes.prefill, pass.lanes.prefill_abstain);
    add(Lane::decode, pass.lanes.decode, pass.lanes.decode_abstain);
    add(Lane::wallclock, pass.lanes.wallclock, pass.lanes.wallclock_abstain);
  }
}

/// The same of what the history kept: the cold pass, and the range of the warm ones.
void take_stored_rates(const RunFigures& figures, SweepTier& tier) {
  for (const Lane lane : kLanes) {
    std::vector<double>& rates = tier.rates[static_cast<std::size_t>(lane)];
    const LaneFigures& from = figures.lane(lane);
    if (from.cold.value) rates.push_back(*from.cold.value);
    if (from.low) rates.push_back(*from.low);
    if (from.high && from.high != from.low) rates.push_back(*from.high);
  }
}

class ContextSweep {
 public:
  ContextSweep(SweepSubject& subject, const SweepWish& wish, Progress& progress)
      : subject_(subject), wish_(wish), progress_(progress) {}

  /// Errors: nothing could be measured at all, and Ctrl-C.
  Result<> run() {
    if (const Result<> ok = choose_tiers(); !ok) return ok;
    if (const Result<> ok = count_tokens(); !ok) return ok;
    bool failed = false;
    for (SweepTier& tier : sweep_.tiers) {
      ++number_;
      if (foreseen(tier)) continue;
      if (failed) {
        tier.why = "a smaller context failed";
        continue;
      }
      if (take_earlier(tier)) continue;
      const Result<> done = measure(tier);
      if (done) continue;
      if (done.error().kind == ErrorKind::interrupted) return interrupted();
      tier.end = TierEnd::failed;
      tier.why = done.error().message;
      progress_.note(fmt::format("ctx {}: {}", tier.context, tier.why));
      failed = true;
    }
    add_slopes(sweep_);
    return {};
  }

  [[nodiscard]] const Sweep& sweep() const { return sweep_; }
  [[nodiscard]] const std::vector<RecordedRun>& records() const { return records_; }
  [[nodiscard]] const std::vector<std::int64_t>& ids() const { return ids_; }
  [[nodiscard]] const std::string& explained() const { return explained_; }

 private:
  Result<> choose_tiers() {
    limit_ = subject_.limit();
    std::vector<std::int64_t> tiers = wish_.tiers;
    if (tiers.empty()) {
      Result<std::vector<std::int64_t>> usual =
          usual_tiers(limit_ ? std::optional(limit_->tokens) : std::nullopt);
      if (!usual) return std::unexpected(usual.error());
      tiers = *std::move(usual);
    }
    for (const std::int64_t context : tiers) {
      SweepTier tier;
      tier.context = context;
      sweep_.tiers.push_back(std::move(tier));
    }
    sweep_.passes = wish_.passes;
    sweep_.context_is_fixed = subject_.context_is_fixed();
    if (!limit_ || !limit_->hard || tiers.front() <= limit_->tokens) return {};
    return fail(ErrorKind::unsupported, "none of these contexts goes in: {}", limit_->because);
  }

  /// How many tokens the engine makes of two short prompts. What they tell of engine and machine is
  /// what earlier sizes are compared with.
  Result<> count_tokens() {
    progress_.note("counting tokens with two short prompts");
    std::int64_t context = std::max(kCountingContext, sweep_.tiers.front().context);
    if (limit_) context = std::min(context, std::max(limit_->tokens, kLeastTier));
    std::vector<std::int64_t> counts;
    for (const int pages : {PromptLength::kShort, PromptLength::kLong}) {
      // The second is a whole small run: its verdict and machine are held against earlier ones.
      const bool whole = pages == PromptLength::kLong;
      TierPasses passes{.prompting = prompting(context, {pages, 0}),
                        .metered = whole,
                        .timeout = timeout_for(wish_, context)};
      // One that stops at once may say nothing of itself.
      if (!whole) passes.prompting.generate = 2;
      Result<RawRun> raw =
          subject_.measure(passes, [](const RawRun&, std::size_t) -> Result<> { return {}; });
      if (!raw) {
        return raw.error().kind == ErrorKind::interrupted ? interrupted()
                                                          : std::unexpected(raw.error());
      }
      probe_ = recorded_run(judge_recorded(*std::move(raw)));
      const auto count = probe_.figures.more.filled_tokens;
      if (!count) {
        return fail(ErrorKind::unsupported,
                    "the engine does not tell how many tokens a prompt has: its context cannot be "
                    "filled by measure");
      }
      counts.push_back(*count);
    }
    const std::optional<PromptLength> length = PromptLength::of(counts.front(), counts.back());
    if (!length) {
      return fail(ErrorKind::malformed,
                  "the engine counts {} tokens in a short prompt and {} in one three times as "
                  "long: a prompt of a known length cannot be made of that",
                  counts.front(), counts.back());
    }
    length_ = *length;
    sweep_.model = probe_.figures.model;
    sweep_.engine =
        probe_.figures.engine + (probe_.figures.build.empty() ? "" : " " + probe_.figures.build);
    sweep_.arguments = probe_.figures.placement.arguments;
    sweep_.machine = machine_text(probe_.figures.machine);
    sweep_.version = probe_.figures.version;
    return {};
  }

  [[nodiscard]] static llama_cpp::Prompting prompting(std::int64_t context,
                                                      const PromptLength::Filling& filling) {
    llama_cpp::Prompting out;
    out.protocol = tier_protocol(context);
    out.context = context;
    out.paragraphs = filling.pages;
    out.words = filling.words;
    out.even_pages = true;
    return out;
  }

  /// True: it is not to be tried, and why stands in it.
  bool foreseen(SweepTier& tier) {
    if (limit_ && tier.context > limit_->tokens) {
      if (limit_->hard) {
        skip(tier, limit_->because);
        return true;
      }
      tier.note = limit_->because;
    }
    if (length_.filling_of(tier.context).pages < 1) {
      skip(tier, "with this vocabulary not even the shortest prompt goes in");
      return true;
    }
    const TierOutlook outlook = subject_.outlook(tier.context);
    if (!outlook.why_not.empty() && !wish_.try_all) {
      skip(tier, outlook.why_not + " (--try-all tries it all the same)");
      return true;
    }
    if (length_.filling_of(tier.context).pages == PromptLength::kMostPages) {
      skip(tier, "so long a prompt is not made");
      return true;
    }
    for (const std::string& note : {outlook.why_not, outlook.note}) {
      if (!note.empty()) tier.note += (tier.note.empty() ? "" : "; ") + note;
    }
    return false;
  }

  void skip(SweepTier& tier, std::string why) {
    tier.end = TierEnd::skipped;
    tier.why = std::move(why);
    progress_.note(fmt::format("ctx {}: skipped: {}", tier.context, plain(tier.why)));
  }

  bool take_earlier(SweepTier& tier) {
    if (!wish_.resume) return false;
    Result<std::optional<StoredRun>> found = earlier_tier(probe_, tier_protocol(tier.context));
    if (!found) {
      progress_.note("the history cannot be read, so this is measured: " + found.error().message);
      return false;
    }
    const std::optional<StoredRun>& earlier = *found;
    if (!earlier) return false;
    const StoredRun& run = *earlier;
    tier.end = TierEnd::earlier;
    tier.figures = run.run.figures;
    tier.id = run.id;
    tier.at = run.run.at;
    take_stored_rates(run.run.figures, tier);
    records_.push_back(run.run);
    ids_.push_back(run.id);
    learn(tier, length_.filling_of(tier.context));
    progress_.note(fmt::format("ctx {}: measured before, @{}", tier.context, run.id));
    return true;
  }

  Result<> measure(SweepTier& tier) {
    PromptLength::Filling filling = length_.filling_of(tier.context);
    progress_.note(fmt::format("ctx {} ({} of {}): a prompt of {} tokens{}", tier.context, number_,
                               sweep_.tiers.size(), length_.tokens_of(filling), time_for(filling)));
    const std::string folder =
        wish_.keep_logs.empty() ? "" : fmt::format("{}/ctx{}", wish_.keep_logs, tier.context);
    if (const Result<> ok = prepare_keep_folder(folder); !ok) return ok;
    const PassSink sink = [&](const RawRun& run, std::size_t pass) -> Result<> {
      if (folder.empty()) return {};
      if (const Result<> ok = kept::write_run(folder, run); !ok) return ok;
      return kept::write_pass(folder, run, pass);
    };
    Result<RawRun> raw = std::unexpected(Error{});
    for (int tries = 0; tries < kMostTries; ++tries) {
      raw = subject_.measure({.prompting = prompting(tier.context, filling),
                              .passes = wish_.passes,
                              .metered = true,
                              .timeout = timeout_for(wish_, tier.context)},
                             sink);
      const bool too_long = !raw && raw.error().message.contains("prompt is too long");
      if (!too_long) break;
      filling = {static_cast<int>(kShorter * filling.pages), 0};
    }
    if (!raw) return std::unexpected(raw.error());
    const Judged judged = judge_recorded(*std::move(raw));
    RecordedRun record = recorded_run(judged);
    // Its verdict would be taken for one of this size.
    const std::string why_not = why_not_of_size(tier.context, filling, record.figures.context,
                                                record.figures.more.filled_tokens);
    if (!why_not.empty()) return fail(ErrorKind::failed, "{}", why_not);
    take(judged, std::move(record), filling, tier);
    return {};
  }

  void take(const Judged& judged, RecordedRun record, const PromptLength::Filling& filling,
            SweepTier& tier) {
    tier.end = TierEnd::measured;
    tier.figures = record.figures;
    tier.at = record.at;
    take_rates(judged.run, tier);
    learn(tier, filling);
    if (wish_.remember) {
      const std::optional<Drift> drift = remember_run(record, progress_);
      if (drift) tier.id = drift->id;
      if (drift && !drift->outside.empty()) progress_.note(drift_line(*drift));
    }
    if (wish_.output.explain) {
      explained_ += fmt::format("\nctx {}\n{}", tier.context, explain(judged.run, judged.verdict));
    }
    records_.push_back(std::move(record));
    ids_.push_back(tier.id);
  }

  void learn(const SweepTier& tier, const PromptLength::Filling& filling) {
    if (const auto filled = tier.figures.more.filled_tokens) length_.learn(filling, *filled);
  }

  /// ", about 3 min", from the size before; nothing before there is one, and of short ones.
  [[nodiscard]] std::string time_for(const PromptLength::Filling& filling) const {
    const auto last =
        std::ranges::find_if(sweep_.tiers.rbegin(), sweep_.tiers.rend(), &SweepTier::has_figures);
    if (last == sweep_.tiers.rend()) return "";
    const auto prefill = last->passes(Lane::prefill);
    const auto decode = last->passes(Lane::decode);
    if (prefill.empty() || decode.empty()) return "";
    const double seconds =
        wish_.passes * (static_cast<double>(length_.tokens_of(filling)) / prefill.back() +
                        static_cast<double>(llama_cpp::kGenerate) / decode.back());
    constexpr double kMinute = 60;
    if (seconds < kMinute) return "";
    return fmt::format(", {:.0f} minutes or more", std::ceil(seconds / kMinute));
  }

  [[nodiscard]] std::unexpected<Error> interrupted() const {
    const auto measured = std::ranges::count(sweep_.tiers, TierEnd::measured, &SweepTier::end);
    Error error{ErrorKind::interrupted, "interrupted; the engine was stopped", ""};
    if (measured > 0 && wish_.remember) {
      error.hint = fmt::format("{} of {} sizes are in the history: --resume goes on from there",
                               measured, sweep_.tiers.size());
    }
    return std::unexpected(std::move(error));
  }

  SweepSubject& subject_;
  const SweepWish& wish_;
  Progress& progress_;
  std::optional<ContextLimit> limit_;
  PromptLength length_;
  RecordedRun probe_;  // of the last short prompt
  Sweep sweep_;
  std::size_t number_ = 0;            // of the tier that is at hand, from 1 on
  std::vector<RecordedRun> records_;  // of the tiers with figures
  std::vector<std::int64_t> ids_;     // theirs in the history
  std::string explained_;
};

ExitCode code_of(const Sweep& sweep, bool strict) {
  const SweepTier* worst = worst_tier(sweep);
  if (worst == nullptr) return ExitCode::could_not_run;
  ExitCode code = ExitCode::ok;
  if (const auto state = worst->figures.state) code = exit_code_of(*state, strict);
  const bool failed = std::ranges::any_of(
      sweep.tiers, [](const SweepTier& tier) { return tier.end == TierEnd::failed; });
  return failed && code == ExitCode::ok ? ExitCode::could_not_run : code;
}

std::string rows_of(const ContextSweep& done, RowFormat format) {
  std::vector<StoredRow> rows;
  rows.reserve(done.records().size());
  for (std::size_t i = 0; i < done.records().size(); ++i) {
    rows.push_back(stored_row(done.ids()[i], "", done.records()[i]));
  }
  return run_rows(format, rows);
}

}  // namespace

ExitCode sweep_contexts(SweepSubject& subject, const SweepWish& wish, Progress& progress) {
  ContextSweep sweep(subject, wish, progress);
  if (const Result<> done = sweep.run(); !done) return fail_with(done.error());
  const ExitCode code = code_of(sweep.sweep(), wish.output.strict);
  const std::string text = sweep_text(sweep.sweep()) + sweep.explained();
  if (!wish.output.json && !wish.output.rows) return print_product(text, code);
  print_stderr(text);
  if (wish.output.rows) return print_product(rows_of(sweep, *wish.output.rows), code);
  return print_product(sweep_json(sweep.sweep(), static_cast<int>(code)) + "\n", code);
}

}  // namespace picchio
