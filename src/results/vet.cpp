#include "results/vet.h"

#include "base/text.h"
#include "results/block_reader.h"
#include "results/post_words.h"
#include "results/vet_cues.h"
#include "results/vet_patterns.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace picchio::results {
namespace {

using enum Condition;

constexpr std::array<ConditionText, kConditions> kTexts = {{
    {model, "model", "model", "bytes read for each token set the decode rate",
     "name and size, best the file's own name"},
    {quant, "quant", "quant", "half the bits are nearly twice the decode rate",
     "Q4_K_M, or bits per weight"},
    {engine, "engine", "engine", "engines differ by a tenth and more on one machine",
     "llama.cpp, ollama, ..."},
    {build, "build", "engine build", "kernels change from build to build",
     "b9430, version 0.12.3, commit"},
    {hardware, "hardware", "hardware", "memory bandwidth sets decode, compute sets prefill",
     "GPU and its memory, or CPU and RAM"},
    {placement, "placement", "placement", "a few layers on the CPU halve the rate, or worse",
     "-ngl, layers on the GPU, CPU only"},
    {context, "context", "context / depth", "decode slows as the context fills",
     "-c, and how much of it was full"},
    {prompt, "prompt", "prompt length", "short prompts hide the prefill rate",
     "tokens of the prompt"},
    {batch, "batch", "batch / ubatch", "sets the prefill rate", "-b, -ub, or default"},
    {kv_type, "kv_type", "KV cache type", "a quantised cache can send attention to the CPU",
     "-ctk, -ctv: f16/f16"},
    {flash_attention, "flash_attention", "flash attention", "moves both lanes at depth",
     "on or off"},
    {threads, "threads", "threads", "too many are slower than too few, on a CPU", "-t"},
    {lane, "lane", "lane", "prefill is often ten times decode", "prefill (pp) or decode (tg)"},
    {warmth, "warmth", "cold or warm", "a first pass loads weights and compiles kernels",
     "first run, or after a warm-up"},
    {spread, "spread", "runs / spread", "one run can be a fifth off the next",
     "how many runs, lowest and highest"},
    {power_limit, "power_limit", "power limit", "a capped or hot card runs at lower clocks",
     "watts, or stock"},
    {system, "system", "OS / driver", "drivers and systems schedule and spill differently",
     "Ubuntu 24.04, driver 570.86"},
    {draft, "draft", "draft model", "speculation multiplies decode on easy text", "none, or which"},
    {sampling, "sampling", "sampling", "long sampler chains cost time, and drafts hit less",
     "temp, top-k, top-p, min-p, seed"},
}};

void state(Vetting& out, Condition condition, std::string words, std::size_t line) {
  auto& slot = out.stated[static_cast<std::size_t>(condition)];
  if (!slot) slot = Statement{std::move(words), line};
}

void add_figure(Vetting& out, std::string words, std::size_t line) {
  ++out.figure_count;
  if (out.figures.size() < kMostFigures) out.figures.push_back({std::move(words), line});
}

/// A table of patterns, compiled.
struct PatternTable {
  std::vector<CompiledPattern> rows;
  FirstWords first;

  explicit PatternTable(std::span<const Pattern> patterns) {
    for (const Pattern& pattern : patterns) {
      rows.push_back(compiled(pattern));
      first.add(rows.back().elements, rows.size() - 1);
    }
  }

  /// For each row, the words that it can begin at.
  [[nodiscard]] std::vector<std::vector<std::size_t>> places(const Post& post) const {
    std::vector<std::vector<std::size_t>> out(rows.size());
    for (std::size_t at = 0; at < post.words.size(); ++at) {
      first.each(post.words[at], [&](std::size_t row) { out[row].push_back(at); });
    }
    return out;
  }
};

const PatternTable& decoy_table() {
  static const PatternTable table(decoys());
  return table;
}

const PatternTable& pattern_table() {
  static const PatternTable table(patterns());
  return table;
}

void forbid(Post& post, std::size_t at, std::size_t length, std::uint32_t conditions) {
  for (std::size_t i = at; i < at + length; ++i) post.words[i].not_for |= conditions;
}

/// In the order of the table.
void hold_patterns(Post& post, Vetting& out) {
  const PatternTable& decoy = decoy_table();
  for (std::size_t at = 0; at < post.words.size(); ++at) {
    decoy.first.each(post.words[at], [&](std::size_t row) {
      const CompiledPattern& pattern = decoy.rows[row];
      forbid(post, at, match_length(post, at, pattern), condition_bit(pattern.row->condition));
    });
  }
  const PatternTable& table = pattern_table();
  const auto places = table.places(post);
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const CompiledPattern& pattern = table.rows[row];
    const Condition condition = pattern.row->condition;
    for (const std::size_t at : places[row]) {
      // What takes its words takes them everywhere.
      if (out.of(condition) && !pattern.row->takes) break;
      const std::size_t length = match_length(post, at, pattern);
      if (length == 0) continue;
      if (pattern.row->takes) forbid(post, at, length, ~std::uint32_t{0});
      if (out.of(condition) || !is_stated(post, at, at + length, condition)) continue;
      state(out, condition, post.quote(at, at + length), post.words[at].line);
    }
  }
}

bool any_lane(const RunFigures& run, auto has) {
  return std::ranges::any_of(kLanes, [&](Lane each) { return has(run.lane(each)); });
}

/// What a block states by its fields.
void read_block(const PastedBlock& block, Vetting& out) {
  const RunFigures& run = block.figures;
  const auto add = [&](Condition condition, bool stated, const std::string& words) {
    if (stated) state(out, condition, "block: " + plain(words), block.first_line);
  };
  for (const Lane each : kLanes) {
    const LaneFigures& figures = run.lane(each);
    const Rate& rate = figures.warm.value ? figures.warm : figures.cold;
    if (!rate.value) continue;
    add_figure(out, fmt::format("{} {:.1f} tok/s", name_of(each), *rate.value), block.first_line);
  }
  const std::string label = run.quant_label();
  const std::optional<int> with_threads = run.threads();
  const bool placed =
      (run.placement.engagement && *run.placement.engagement != Engagement::no_evidence) ||
      run.placement.gpu_share;
  const std::string chip =
      run.machine.chip + (run.machine.gpu.empty() ? "" : " + " + run.machine.gpu);
  add(model, !run.model.empty(), run.model);
  add(quant, !label.empty(), label);
  add(engine, !run.engine.empty(), run.engine);
  add(build, !run.build.empty(), run.build);
  add(hardware, !chip.empty(), chip);
  add(placement, placed,
      run.placement.engagement ? std::string(name_of(*run.placement.engagement)) : "bytes");
  add(context, run.context.has_value(), fmt::format("ctx {}", run.context.value_or(0)));
  add(prompt, run.protocol == "mp1", "mp1");  // the protocol fixes it
  add(threads, with_threads.has_value(), fmt::format("{} threads", with_threads.value_or(0)));
  add(lane,
      any_lane(run, [](const LaneFigures& each) { return each.cold.value || each.warm.value; }),
      "a column for each");
  add(warmth,
      any_lane(run, [](const LaneFigures& each) { return each.cold.value || each.warm.value; }),
      "a row for each");
  add(spread, any_lane(run, [](const LaneFigures& each) { return each.low && each.high; }),
      "warm span");
  add(system, !run.machine.os.empty(), run.machine.os);
  add(sampling, run.sampling.has_value(), "settings");
}

std::vector<std::pair<ConditionText, const Statement*>> all_of(const Vetting& vetting) {
  std::vector<std::pair<ConditionText, const Statement*>> out;
  for (const ConditionText& text : kTexts) {
    const auto& stated = vetting.of(text.condition);
    out.emplace_back(text, stated ? &*stated : nullptr);
  }
  return out;
}

std::string fill_in_of(const Vetting& vetting) {
  std::string out;
  for (const auto& [text, stated] : all_of(vetting)) {
    if (stated == nullptr) out += fmt::format("{}: ____ ({})\n", text.name, text.fill_in);
  }
  return out;
}

}  // namespace

const std::array<ConditionText, kConditions>& condition_texts() { return kTexts; }

std::size_t Vetting::stated_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(stated, [](const auto& each) { return each.has_value(); }));
}

Result<Vetting> vet(std::string_view text) {
  Vetting out;
  std::vector<std::string> lines = post_lines(text);
  std::vector<bool> skip(lines.size(), false);
  // Each block has a line that begins so, and most posts have none.
  const bool may_hold_block = text.contains("model");
  for (const PastedBlock& block : may_hold_block ? find_blocks(text) : std::vector<PastedBlock>()) {
    ++out.blocks;
    read_block(block, out);
    for (std::size_t i = 0; i < block.lines.size(); ++i) {
      const std::size_t at = block.first_line - 1 + i;
      if (at < skip.size()) skip[at] = true;
    }
  }
  spell_out_tables(lines);
  Post post = read_post(std::move(lines), skip);
  for (const FigureWords& figure : mark_figures(post)) {
    add_figure(out, post.quote(figure.begin, figure.end), post.words[figure.begin].line);
    if (figure.is_range && !out.of(spread)) {
      state(out, spread, post.quote(figure.begin, figure.end), post.words[figure.begin].line);
    }
  }
  if (out.figures.empty()) {
    return with_hint(fail(ErrorKind::not_found, "the text quotes no tok/s figure"),
                     "such as '45 tok/s', '45 t/s', '45 tokens per second', or a block");
  }
  decoy_table();
  pattern_table();
  prepare_cues();
  know_words(post);
  mark_cues(post);
  hold_patterns(post, out);
  return out;
}

std::string vetting_text(const Vetting& vetting) {
  const std::size_t count = vetting.stated_count();
  std::string out =
      fmt::format("picchio vet: {} tok/s figure{}, {} of {} conditions stated\n",
                  vetting.figure_count, vetting.figure_count == 1 ? "" : "s", count, kConditions);
  constexpr std::size_t kShown = 6;
  for (std::size_t i = 0; i < std::min(kShown, vetting.figures.size()); ++i) {
    out += fmt::format("  figure     {} (line {})\n", vetting.figures[i].words,
                       vetting.figures[i].line);
  }
  if (vetting.figure_count > kShown) {
    out += fmt::format("  figure     and {} more\n", vetting.figure_count - kShown);
  }
  for (const bool wanted : {true, false}) {
    for (const auto& [text, stated] : all_of(vetting)) {
      if ((stated != nullptr) != wanted) continue;
      const std::string behind = stated != nullptr
                                     ? fmt::format("{} (line {})", stated->words, stated->line)
                                     : std::string(text.why);
      out += fmt::format("  {:<10} {:<16} {}\n", wanted ? "stated" : "left out", text.name, behind);
    }
  }
  if (count < kConditions) out += "\nTo fill in:\n\n" + fill_in_of(vetting);
  return out;
}

std::string vetting_json(const Vetting& vetting) {
  using Json = nlohmann::ordered_json;
  Json out;
  out["schema"] = "picchio.vet.v1";
  out["version"] = PICCHIO_VERSION;
  out["figures"] = Json::array();
  for (const Statement& figure : vetting.figures) {
    out["figures"].push_back({{"words", figure.words}, {"line", figure.line}});
  }
  out["figure_count"] = vetting.figure_count;
  out["blocks"] = vetting.blocks;
  out["stated"] = vetting.stated_count();
  out["conditions"] = Json::array();
  for (const auto& [text, stated] : all_of(vetting)) {
    out["conditions"].push_back({{"key", text.key},
                                 {"name", text.name},
                                 {"stated", stated != nullptr},
                                 {"words", stated ? Json(stated->words) : Json(nullptr)},
                                 {"line", stated ? Json(stated->line) : Json(nullptr)},
                                 {"why", text.why}});
  }
  out["fill_in"] = fill_in_of(vetting);
  constexpr int kIndent = 2;
  return out.dump(kIndent, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace picchio::results
