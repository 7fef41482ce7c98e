#include "report/plan.h"

#include "base/text.h"
#include "report/layout.h"
#include "report/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace picchio {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kColumns = 79;
constexpr std::size_t kLabel = 11;
constexpr std::size_t kDeviceName = 14;
constexpr std::size_t kModelName = 36;

void add(Lines& lines, std::string_view label, std::string_view value) {
  std::string_view head = label;
  for (const std::string& line : report::wrap(value, kColumns - kLabel, 0)) {
    lines.push_back(fmt::format("{:<{}}{}", head, kLabel, line));
    head = "";
  }
}

/// "RTX 4090"
std::string short_name(const std::string& name) {
  std::string out = report::without_vendor(name);
  for (const std::string_view family : {"GeForce ", "Radeon "}) {
    if (out.starts_with(family)) out.erase(0, family.size());
  }
  return out;
}

std::string bytes_or_dash(std::int64_t bytes) { return bytes == 0 ? "-" : format_bytes(bytes); }

void add_memory(Lines& lines, const PlannedMemory& row) {
  lines.push_back(fmt::format(
      "{:<{}} {:>10} {:>10} {:>10} {:>10} {:>10}  {}", fit(short_name(row.name), kDeviceName),
      kDeviceName, bytes_or_dash(row.weights), bytes_or_dash(row.kv_cache + row.recurrent_state),
      bytes_or_dash(row.compute_buffer + row.output_buffer), format_bytes(row.total()),
      row.free ? format_bytes(*row.free) : "?", name_of(row.fit)));
}

void add_memories(Lines& lines, const PlannedSetting& setting) {
  lines.push_back(fmt::format("{:<{}} {:>10} {:>10} {:>10} {:>10} {:>10}", "", kDeviceName,
                              "weights", "cache", "buffers", "total", "free"));
  for (const PlannedMemory& device : setting.devices) add_memory(lines, device);
  add_memory(lines, setting.host);
}

std::string cache_types(const PlannedSetting& setting) {
  if (setting.cache_type_k == setting.cache_type_v) return setting.cache_type_k;
  return setting.cache_type_k + "/" + setting.cache_type_v;
}

std::string settings_text(const Plan& plan, const PlannedSetting& setting) {
  std::string out;
  if (!setting.devices.empty()) {
    out = fmt::format("{} of {} layers on the GPU{}, ", setting.n_gpu_layers, plan.layers,
                      setting.devices.size() > 1 ? "s" : "");
  }
  if (setting.n_cpu_moe > 0) {
    out += fmt::format("the experts of {} on the host, ", setting.n_cpu_moe);
  }
  out += fmt::format("ctx {}, kv {}, ubatch {}", setting.n_ctx, cache_types(setting),
                     setting.n_ubatch);
  if (setting.sequences > 1) out += fmt::format(", {} sequences", setting.sequences);
  return out;
}

/// What is missing where it does not fit, and where it is tight.
std::string where_it_ends(const Plan& plan, const PlannedSetting& setting, Fit fit) {
  Lines parts;
  const auto look = [&](const PlannedMemory& memory) {
    if (memory.fit != fit || !memory.free) return;
    const std::int64_t left = *memory.free - memory.total();
    parts.push_back(left < 0
                        ? fmt::format("{} lacks {}", short_name(memory.name), format_bytes(-left))
                        : fmt::format("{} has {} left, less than {}", short_name(memory.name),
                                      format_bytes(left), format_bytes(plan.margin)));
  };
  for (const PlannedMemory& device : setting.devices) look(device);
  look(setting.host);
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// "draft Qwen3-0.6B.gguf: 1.20 GiB on RTX 4090, 150.0 MiB on host; free is what that leaves"
std::string extra_text(const PlannedExtra& extra) {
  Lines parts;
  const auto look = [&](const PlannedMemory& memory) {
    if (memory.total() == 0) return;
    parts.push_back(fmt::format("{} on {}", format_bytes(memory.total()), short_name(memory.name)));
  };
  for (const PlannedMemory& device : extra.devices) look(device);
  look(extra.host);
  return fmt::format("{} {}: {}{}; 'free' is what that leaves", name_of(extra.role),
                     fit(plain(extra.model), 48), fmt::join(parts, ", "),
                     extra.role == ExtraRole::mmproj ? ", its weights alone" : "");
}

std::string verdict_text(const Plan& plan) {
  const std::string word = upper(name_of(plan.asked.fit));
  switch (plan.asked.fit) {
    case Fit::fits:
      return fmt::format("{}. {}", word,
                         plan.asked.devices.empty() ? "It runs on the CPU, from this machine's RAM."
                                                    : "Everything asked for has its room.");
    case Fit::tight:
    case Fit::not_fitting:
      return fmt::format("{}. {}.", word, where_it_ends(plan, plan.asked, plan.asked.fit));
    case Fit::not_judged:
      break;
  }
  return fmt::format("{}. Nobody tells how much memory is free; --vram and --ram do.", word);
}

void add_flags(Lines& lines, const PlannedSetting& setting) {
  add(lines, "llama.cpp", llama_cpp_flags(setting));
  add(lines, "ollama", ollama_parameters(setting));
}

/// "16 to 22"
std::string range_text(double least, double most) {
  const int digits = most < 10 ? 1 : 0;
  return fmt::format("{:.{}f} to {:.{}f}", least, digits, most, digits);
}

std::string rate_text(const DecodeRate& rate) {
  return range_text(rate.least, rate.most) + " tok/s";
}

std::string decode_text(const Plan& plan) {
  if (!plan.decode) return "no estimate: " + plain(plan.no_decode);
  const DecodeEstimate& decode = *plan.decode;
  return fmt::format(
      "{} at the start, {} with {} tokens in the cache. An estimate: {} read for a "
      "token, over {}",
      rate_text(decode.empty), rate_text(decode.full), decode.full.depth,
      format_bytes(decode.empty.bytes_per_token), plain(decode.from));
}

std::string prefill_text(const PrefillEstimate& prefill) {
  return fmt::format("{} tok/s. An estimate, over {}", range_text(prefill.least, prefill.most),
                     plain(own_speed_text(prefill.own)));
}

void add_best(Lines& lines, const Plan& plan) {
  if (plan.asked.fit != Fit::not_fitting) {
    add_flags(lines, plan.asked);
    if (plan.asked.fit == Fit::tight && plan.best) {
      add(lines, "with room",
          fmt::format("{}: {}", settings_text(plan, *plan.best), llama_cpp_flags(*plan.best)));
    }
    return;
  }
  if (!plan.best) {
    add(lines, "best", "nothing fits, not even all layers on the host with a short context");
    return;
  }
  lines.emplace_back();
  add(lines, "best", settings_text(plan, *plan.best));
  add_memories(lines, *plan.best);
  add_flags(lines, *plan.best);
  if (!plan.small_cache) return;
  add(lines, "or",
      fmt::format("as asked with a {} cache: {}", plan.small_cache->cache_type_k,
                  llama_cpp_flags(*plan.small_cache)));
}

std::string table_settings(const Plan& plan) {
  if (plan.asked.fit != Fit::not_fitting) return llama_cpp_flags(plan.asked);
  return plan.best ? llama_cpp_flags(*plan.best) : "";
}

/// Estimated, at the start: "16 to 22".
std::string table_rate(const Plan& plan) {
  if (!plan.decode) return "?";
  return range_text(plan.decode->empty.least, plan.decode->empty.most);
}

/// Whole, with other settings, not at all.
int rank_of(const Plan& plan) {
  if (plan.asked.fit == Fit::fits) return 0;
  if (plan.asked.fit == Fit::tight) return 1;
  return plan.best ? 2 : 3;
}

}  // namespace

std::string shortfall(const Plan& plan) {
  return where_it_ends(plan, plan.asked, Fit::not_fitting);
}

std::string llama_cpp_flags(const PlannedSetting& setting) {
  Lines out;
  if (!setting.devices.empty()) out.push_back(fmt::format("-ngl {}", setting.n_gpu_layers));
  out.push_back(fmt::format("-c {}", setting.n_ctx));
  if (setting.n_cpu_moe > 0) out.push_back(fmt::format("--n-cpu-moe {}", setting.n_cpu_moe));
  if (!setting.op_offload) out.emplace_back("--no-op-offload");
  if (setting.cache_type_k != "f16") out.push_back("-ctk " + setting.cache_type_k);
  if (setting.cache_type_v != "f16") out.push_back("-ctv " + setting.cache_type_v);
  return fmt::format("{}", fmt::join(out, " "));
}

std::string ollama_parameters(const PlannedSetting& setting) {
  // There is no parameter for experts on the host: whole layers have to go.
  if (setting.n_cpu_moe > 0) return "has no parameter for experts on the host";
  std::string out;
  if (!setting.devices.empty()) out = fmt::format("num_gpu {}, ", setting.n_gpu_layers);
  out += fmt::format("num_ctx {}", setting.n_ctx_sequence);
  if (setting.cache_type_k == "f16" && setting.cache_type_v == "f16") return out;
  return out +
         fmt::format("; OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE={}", setting.cache_type_k);
}

std::string own_speed_text(const OwnSpeed& own) {
  Lines speeds;
  if (own.bytes_per_second) {
    speeds.push_back(fmt::format("{:.3g} GB/s", *own.bytes_per_second / 1e9));
  }
  if (own.weights_per_second) {
    speeds.push_back(fmt::format("{:.3g} billion weights a second", *own.weights_per_second / 1e9));
  }
  if (own.seconds_besides > 0) {
    speeds.push_back(fmt::format("{:.2g} ms a token besides", own.seconds_besides * 1e3));
  }
  std::string runs = fmt::format("{} run{}", own.runs, own.runs == 1 ? "" : "s");
  if (own.models != own.runs) {
    runs += fmt::format(" of {} model{}", own.models, own.models == 1 ? "" : "s");
  }
  return fmt::format("what {} on {} gave: {}, give or take {:.0f} %", runs,
                     own.memory.empty() ? "this machine's CPU" : own.memory,
                     fmt::join(speeds, " and "), 100 * own.error);
}

std::string plan_text(const Plan& plan) {
  Lines lines;
  std::string model =
      fmt::format("{}, {}, {} of weights", fit(plain(plan.model), 48),
                  fit(plain(plan.architecture), 20), format_bytes(plan.tensor_bytes));
  if (plan.trained_context) model += fmt::format(", made for {} tokens", *plan.trained_context);
  add(lines, "model", model);
  add(lines, "asked", settings_text(plan, plan.asked));
  add_memories(lines, plan.asked);
  if (!plan.room_from.empty()) add(lines, "", "(" + plain(plan.room_from) + ")");
  for (const PlannedExtra& extra : plan.extras) add(lines, "beside", extra_text(extra));
  for (const std::string& line : report::wrap("PLAN: " + verdict_text(plan), kColumns, 2)) {
    lines.push_back(line);
  }
  add_best(lines, plan);
  if (plan.longest_context) {
    add(lines, "context",
        fmt::format("{} tokens at most with these layers", *plan.longest_context));
  }
  add(lines, "decode", decode_text(plan));
  if (plan.prefill) add(lines, "prefill", prefill_text(*plan.prefill));
  for (const std::string& note : plan.notes) add(lines, "note", plain(note));
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

std::string plan_table(const std::vector<Plan>& plans, const std::vector<UnplannedModel>& others) {
  std::vector<const Plan*> sorted;
  sorted.reserve(plans.size());
  for (const Plan& plan : plans) sorted.push_back(&plan);
  std::ranges::stable_sort(sorted, {}, [](const Plan* plan) { return rank_of(*plan); });
  std::string out = fmt::format("{:<{}} {:>10} {:>10}  {:<12}  {:>10}  {}\n", "model", kModelName,
                                "weights", "in all", "", "est. tok/s", "settings that fit");
  for (const Plan* plan : sorted) {
    out += fmt::format("{:<{}} {:>10} {:>10}  {:<12}  {:>10}  {}\n",
                       fit(plain(plan->model), kModelName), kModelName,
                       format_bytes(plan->tensor_bytes), format_bytes(plan->asked.total()),
                       name_of(plan->asked.fit), table_rate(*plan), table_settings(*plan));
  }
  for (const UnplannedModel& other : others) {
    out += fmt::format("{:<{}} {}\n", fit(plain(other.model), kModelName), kModelName,
                       plain(other.reason));
  }
  return out;
}

}  // namespace picchio
