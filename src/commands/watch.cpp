#include "base/text.h"
#include "commands/command.h"
#include "commands/keep_folder.h"
#include "commands/live_view.h"
#include "commands/meter_place.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/terminal.h"
#include "commands/watch_recorder.h"
#include "commands/watch_target.h"
#include "kept/telemetry.h"
#include "machine/inventory.h"
#include "os/file.h"
#include "os/identity.h"
#include "os/signals.h"
#include "os/terminal_input.h"
#include "report/watched.h"
#include "verdict/watched.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace picchio {
namespace {

constexpr const char* kText =
    "Puts the GPU meters beside a process that runs already, and says whether it works on a GPU.\n"
    "Nothing is started or stopped. Without a target the whole machine is watched.";

constexpr const char* kDetails =
    "On a terminal a live view, until q or Ctrl-C; otherwise, or with --every, a line at a time.\n"
    "In the end a summary: GPU BUSY, GPU IDLE or NOT SURE, and why.\n\n"
    "Exit codes: 0 watched, whatever was seen; 2 could not watch.\n\n";

constexpr double kLongest = 366.0 * 24 * 3600;
constexpr Micros kTreeEvery{500'000};
constexpr Micros kFrameEvery{250'000};
// As far back as the longest sparkline.
constexpr Micros kFrameSpan{61'000'000};
constexpr int kStdin = 0;
constexpr int kStdout = 1;
constexpr int kStderr = 2;

struct WatchOptions {
  std::string target;
  double seconds = 0;  // 0: until it ends or somebody ends it
  double every = 1;
  bool every_given = false;
  double hz = 10;
  bool json = false;
  std::string keep_logs;
};

void add_options(CLI::App& app, WatchOptions& options) {
  app.add_option("TARGET", options.target,
                 "a pid, 'ollama', or an address of this machine: http://localhost:8080, :8080");
  app.add_option("--for", options.seconds, "seconds to watch (until it ends, or q or Ctrl-C)")
      ->check(number_between(0.1, kLongest));
  app.add_option("--every", options.every, "seconds from line to line (1)")
      ->check(number_between(0.1, 24.0 * 3600));
  app.add_option("--hz", options.hz, "looks at the GPUs in a second (10)")
      ->check(number_between(0.2, 50.0));
  app.add_option("--keep-logs", options.keep_logs,
                 "keep the recording here: telemetry.jsonl and watch.json");
  app.add_flag("--json", options.json, "JSON on stdout in the end, the summary on stderr");
}

bool speaks_utf8() {
  // As the C library picks the locale of characters.
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = lower(os::env(name).value_or(""));
    if (!value.empty()) return value.contains("utf-8") || value.contains("utf8");
  }
  return false;
}

/// A live view needs somebody who looks: lines that were asked for, and whoever wants no redrawing,
/// get lines.
bool wants_live_view(const WatchOptions& options) {
  const bool refused = !os::env("NO_COLOR").value_or("").empty();
  if (!stderr_is_terminal() || refused) return false;
  return options.json || (os::is_terminal(kStdout) && !options.every_given);
}

std::string_view colour_of(Activity activity) {
  switch (activity) {
    case Activity::busy:
      return "\x1b[1;32m";
    case Activity::idle:
      return "\x1b[1;33m";
    case Activity::not_sure:
      return "\x1b[1m";
  }
  return "";
}

// Only the verdict's word is coloured.
std::string with_colour(std::string text, Activity activity) {
  const std::string word = fmt::format("\n{}:", name_of(activity));
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return text;
  return fmt::format("{}\n{}{}\x1b[0m{}", text.substr(0, at), colour_of(activity),
                     name_of(activity), text.substr(at + word.size() - 1));
}

/// The time between the beginning and the end of a watch.
class WatchLoop {
 public:
  WatchLoop(const WatchOptions& options, WatchRecorder& recorder, const os::Interrupts& interrupts)
      : options_(options),
        recorder_(recorder),
        interrupts_(interrupts),
        live_(wants_live_view(options)),
        input_(live_ ? os::TerminalInput::open(kStdin) : std::nullopt),
        next_line_(micros(options.every)) {
    style_.utf8 = speaks_utf8();
    style_.colour = stderr_wants_colour();
  }

  /// Until something ends it. An error: the lines could not be written.
  [[nodiscard]] Result<> run() {
    for (;;) {
      const Micros now = recorder_.now();
      if (now >= next_tree_) {
        if (!recorder_.look()) return {};
        next_tree_ = now + kTreeEvery;
      }
      if (const Result<> shown = show(now); !shown) return shown;
      const bool over = options_.seconds > 0 && now >= micros(options_.seconds);
      if (over || ended_by_user(rest(now))) return {};
    }
  }

 private:
  [[nodiscard]] Result<> show(Micros now) {
    if (live_ && now >= next_shown_) {
      next_shown_ = now + kFrameEvery;
      if (input_) input_->refresh();
      style_.columns = os::terminal_width(kStderr).value_or(80);
      style_.rows = os::terminal_height(kStderr).value_or(24);
      view_.draw(watch_frame(recorder_.recent(kFrameSpan), style_), style_.columns);
      return {};
    }
    const bool lines = !live_ && !options_.json;
    if (!lines || now < next_line_) return {};
    const Micros from = std::exchange(last_line_, now);
    // On a grid, so that the last one is not missed by a millisecond.
    next_line_ += micros(options_.every) * ((now - next_line_) / micros(options_.every) + 1);
    const WatchRecord record = recorder_.recent(now - from + kTreeEvery);
    return print_stdout(watch_line(record, from, now) + "\n");
  }

  /// Time until there is something to do.
  [[nodiscard]] Micros rest(Micros now) const {
    Micros next = next_tree_;
    if (live_) next = std::min(next, next_shown_);
    if (!live_ && !options_.json) next = std::min(next, next_line_);
    if (options_.seconds > 0) next = std::min(next, micros(options_.seconds));
    return std::max(next - now, Micros{1000});
  }

  [[nodiscard]] bool ended_by_user(Micros longest) {
    const int input = input_ ? input_->fd() : -1;
    const os::Woken woken = os::wait_for_input(input, interrupts_.fd(), longest);
    if (interrupts_.caught()) return true;
    if (woken != os::Woken::input) return false;
    const auto keys = input_->keys();
    // Readable without a key: the terminal is gone. SIGHUP follows, where it does at all.
    if (!keys || keys->empty()) input_.reset();
    return keys && keys->find_first_of("qQ\x04") != std::string::npos;  // Ctrl-D: no more input
  }

  const WatchOptions& options_;
  WatchRecorder& recorder_;
  const os::Interrupts& interrupts_;
  bool live_;
  std::optional<os::TerminalInput> input_;
  FrameStyle style_;
  LiveView view_;
  Micros next_tree_{};
  Micros next_shown_{};
  Micros last_line_{};
  Micros next_line_{};
};

/// The target and its tree; both absent for the whole machine.
struct Aim {
  std::optional<WatchTarget> target;
  std::optional<WatchedTree> tree;
};

Result<Aim> aim_at(const std::string& word) {
  Aim aim;
  if (word.empty()) return aim;
  if (!os::exists("/proc/self")) {
    return with_hint(fail(ErrorKind::unsupported,
                          "a process is watched by /proc, which this system "
                          "does not have"),
                     "without a target the whole machine is watched");
  }
  Result<WatchTarget> target = resolve_watch_target(word);
  if (!target) return std::unexpected(target.error());
  Result<WatchedTree> tree = WatchedTree::of("/", target->pid, os::own_pid());
  if (!tree) return std::unexpected(tree.error());
  aim.target = *std::move(target);
  aim.tree = *std::move(tree);
  return aim;
}

Result<> keep(const std::string& folder, const WatchRecord& record, const std::string& json) {
  if (folder.empty()) return {};
  if (const Result<> ok = kept::write_telemetry(folder, record.telemetry); !ok) return ok;
  return os::write_file_atomic(folder + "/watch.json", json);
}

ExitCode finish(const WatchOptions& options, const WatchRecord& record) {
  const WatchVerdict verdict = judge_watch(record);
  std::string text = watch_summary(record, verdict);
  const bool coloured = options.json ? stderr_wants_colour() : stdout_wants_colour();
  if (coloured) text = with_colour(std::move(text), verdict.activity);
  const std::string json =
      watch_json(record, verdict, micros(options.every), static_cast<int>(ExitCode::ok)) + "\n";
  if (options.json) print_stderr(text);
  const ExitCode code = print_product(options.json ? json : text, ExitCode::ok);
  const Result<> kept = keep(options.keep_logs, record, json);
  if (kept) return code;
  print_error(kept.error());
  return ExitCode::could_not_run;
}

}  // namespace

ExitCode watch(const Arguments& arguments) {
  WatchOptions options;
  CLI::App app(kText, "picchio watch");
  add_options(app, options);
  app.footer(std::string(kDetails) +
             examples({"picchio watch", "picchio watch ollama", "picchio watch 4242 --for 30",
                       "picchio watch http://localhost:8080 --for 10 --json"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  options.every_given = app.count("--every") > 0;
  Result<Aim> aim = aim_at(options.target);
  if (!aim) return fail_with(aim.error());
  if (const Result<> ok = prepare_keep_folder(options.keep_logs); !ok) return fail_with(ok.error());
  Result<os::Interrupts> interrupts = os::Interrupts::install();
  if (!interrupts) return fail_with(interrupts.error());
  meters::MeterSet meters = meters::MeterSet::open_within(meter_place(&*interrupts));
  if (!aim->target && meters.gpus().empty()) {
    const std::string why = meters.news().empty() ? "" : ": " + meters.news().front();
    return fail_with({ErrorKind::not_found, "there is no GPU meter on this machine" + why,
                      "a process can be watched without one: picchio watch PID"});
  }
  const WatchPace pace{options.hz, micros(options.seconds)};
  WatchRecorder recorder(std::move(meters), pace, std::move(aim->target), std::move(aim->tree),
                         read_machine());
  if (!recorder.look()) {
    return fail_with({ErrorKind::not_found, "the process ended before it could be watched", ""});
  }
  Result<> shown;
  {
    WatchLoop loop(options, recorder, *interrupts);
    shown = loop.run();
  }
  if (!shown) {
    // Whoever reads with head has seen enough.
    if (shown.error().kind != ErrorKind::interrupted) print_error(shown.error());
    return ExitCode::could_not_run;
  }
  return finish(options, recorder.stop());
}

}  // namespace picchio
