#include "commands/plan/plan_model.h"

#include "base/text.h"
#include "gguf/memory/token_reads.h"
#include "report/plan.h"
#include "verdict/decode_estimate.h"
#include "verdict/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace picchio {
namespace {

// A row of the embedding and a norm: no time is spent on them.
constexpr std::int64_t kOneInSoMany = 1000;

PlannedMemory memory_of(const gguf::MemoryUse& use, std::string name,
                        std::optional<std::int64_t> free, std::int64_t margin) {
  PlannedMemory out = planned_memory(use, std::move(name));
  out.free = free;
  if (free) out.fit = use.total() == 0 ? Fit::fits : gguf::fit_of(use, *free, margin);
  return out;
}

class Planner {
 public:
  Planner(const ModelHeaders& model, const PlanWish& wish, const PlanRoom& room,
          const gguf::Advice& advice)
      : model_(model), wish_(wish), room_(room), advice_(advice) {}

  [[nodiscard]] PlannedSetting setting(const gguf::Choice& choice) const {
    PlannedSetting out;
    out.n_ctx = choice.need.context.n_ctx;
    out.n_ctx_sequence = choice.need.context.cells;
    out.sequences = choice.need.context.sequences;
    out.n_ubatch = choice.need.context.tokens;
    const std::int64_t layers = choice.placement.n_gpu_layers;
    out.n_gpu_layers = layers < 0 ? advice_.layers : std::min(layers, advice_.layers);
    out.n_cpu_moe = choice.placement.n_cpu_moe;
    out.op_offload = choice.placement.offload_operations;
    out.cache_type_k = choice.context.cache_type_k;
    out.cache_type_v = choice.context.cache_type_v;
    out.flash_attention = choice.need.context.flash_attention;
    for (std::size_t i = 0; i < choice.need.devices.size(); ++i) {
      out.devices.push_back(memory_of(choice.need.devices[i], room_.devices[i].name,
                                      room_.devices[i].free_bytes, wish_.margin));
    }
    out.host = memory_of(choice.need.host, "host", room_.host_free, 0);
    out.fit = choice.fit;
    return out;
  }

  /// Of a choice, at the beginning and with its context full.
  void estimate(const gguf::Choice& choice, Plan& out) const {
    const auto empty = memories(choice, 0, out.no_decode);
    const auto full = memories(choice, choice.need.context.cells, out.no_decode);
    if (!empty || !full) return;
    const auto first = decode_rate(*empty, 0);
    const auto last = decode_rate(*full, choice.need.context.cells);
    if (first && last) out.decode = DecodeEstimate{*first, *last, speeds(*empty), own(*empty)};
  }

  /// Of a choice whose weights are all in one memory of which runs tell.
  void estimate_prefill(const gguf::Choice& choice, Plan& out) const {
    const auto reads = gguf::token_reads(model_.headers, choice.context, choice.placement, 0);
    if (!reads) return;
    const gguf::MemoryReads* only = reads->devices.empty() ? &reads->host : nullptr;
    std::string memory;
    for (std::size_t i = 0; i < reads->devices.size(); ++i) {
      if (reads->devices[i].bytes == 0) continue;
      if (only != nullptr) return;
      only = &reads->devices[i];
      memory = room_.devices[i].name;
    }
    // Without a weight on a GPU that is there it still computes large batches, which no run tells.
    if (only == nullptr) return;
    if (!memory.empty() && reads->host.bytes > only->bytes / kOneInSoMany) return;
    const auto fitted = fit_prefill(runs_of(memory), reads->main_type);
    if (!fitted) return;
    const double seconds = fitted->seconds(0, only->weights - only->head_weights);
    if (seconds <= 0) return;
    out.prefill = PrefillEstimate{.least = 1 / (seconds * (1 + fitted->error)),
                                  .most = (1 + fitted->error) / seconds,
                                  .own = own_speed(memory, *fitted)};
  }

 private:
  [[nodiscard]] std::optional<std::vector<ReadMemory>> memories(const gguf::Choice& choice,
                                                                std::int64_t depth,
                                                                std::string& why_not) const {
    const auto reads = gguf::token_reads(model_.headers, choice.context, choice.placement, depth);
    if (!reads) {
      why_not = reads.error().message;
      return std::nullopt;
    }
    std::vector<ReadMemory> out;
    std::int64_t on_devices = 0;
    for (std::size_t i = 0; i < reads->devices.size(); ++i) {
      if (reads->devices[i].bytes == 0) continue;
      const RoomDevice& device = room_.devices[i];
      ReadMemory memory = read_memory(reads->devices[i], device.name);
      memory.peak_bytes_per_second = device.peak_bytes_per_second;
      if (!memory.own && !memory.peak_bytes_per_second) {
        why_not =
            fmt::format("nobody tells how fast the memory of {} is; --gpu NAME does", device.name);
        return std::nullopt;
      }
      on_devices += memory.bytes_per_token;
      out.push_back(std::move(memory));
    }
    if (reads->host.bytes <= on_devices / kOneInSoMany) return out;
    return with_host(std::move(out), reads->host, why_not);
  }

  [[nodiscard]] std::optional<std::vector<ReadMemory>> with_host(std::vector<ReadMemory> out,
                                                                 const gguf::MemoryReads& reads,
                                                                 std::string& why_not) const {
    ReadMemory memory = read_memory(reads, "");
    memory.host = true;
    if (!memory.own) {
      if (wish_.cache_bytes && reads.bytes < kTimesTheCaches * *wish_.cache_bytes) {
        why_not = fmt::format(
            "a token reads {} from the host, which may lie in the CPU's {} of "
            "caches, and nobody tells how fast those are",
            format_bytes(reads.bytes), format_bytes(*wish_.cache_bytes));
        return std::nullopt;
      }
      memory.peak_bytes_per_second = wish_.ram_speed ? wish_.ram_speed() : std::nullopt;
      if (!memory.peak_bytes_per_second) {
        why_not = "the speed of this machine's RAM is not known";
        return std::nullopt;
      }
    }
    out.push_back(std::move(memory));
    return out;
  }

  [[nodiscard]] std::vector<OwnRun> runs_of(const std::string& memory) const {
    return wish_.own_runs ? wish_.own_runs(memory) : std::vector<OwnRun>{};
  }

  /// Of a GPU by its name; of the host with an empty one.
  [[nodiscard]] ReadMemory read_memory(const gguf::MemoryReads& reads, std::string name) const {
    ReadMemory out;
    out.bytes_per_token = reads.bytes;
    out.weights_per_token = reads.weights;
    out.products_per_token = reads.products;
    out.own = fit_decode(runs_of(name), name.empty() ? MemoryKind::cpu : MemoryKind::gpu);
    out.name = std::move(name);
    return out;
  }

  static OwnSpeed own_speed(const std::string& memory, const FittedSpeed& fitted) {
    const auto rate = [](double seconds) {
      return seconds > 0 ? std::optional(1 / seconds) : std::nullopt;
    };
    return {.memory = memory,
            .runs = fitted.runs,
            .models = fitted.models,
            .bytes_per_second = rate(fitted.seconds_per_byte),
            .weights_per_second = rate(fitted.seconds_per_weight),
            .seconds_besides = fitted.seconds_besides,
            .error = fitted.error};
  }

  static std::vector<OwnSpeed> own(const std::vector<ReadMemory>& memories) {
    std::vector<OwnSpeed> out;
    for (const ReadMemory& memory : memories) {
      if (memory.own) out.push_back(own_speed(memory.name, *memory.own));
    }
    return out;
  }

  static std::string speeds(const std::vector<ReadMemory>& memories) {
    std::vector<std::string> parts;
    parts.reserve(memories.size());
    for (const ReadMemory& memory : memories) {
      parts.push_back(memory.own ? own_speed_text(own_speed(memory.name, *memory.own))
                                 : by_peak(memory));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
  }

  static std::string by_peak(const ReadMemory& memory) {
    return fmt::format("{:.0f} to {:.0f} % of the {:.0f} GB/s of {}",
                       100 * (memory.host ? kLeastOfSum : kLeastOfPeak),
                       100 * (memory.host ? kMostOfSum : kMostOfPeak),
                       memory.peak_bytes_per_second.value_or(0) / 1e9,
                       memory.host ? "this machine's RAM" : memory.name);
  }

  const ModelHeaders& model_;
  const PlanWish& wish_;
  const PlanRoom& room_;
  const gguf::Advice& advice_;
};

}  // namespace

Result<Plan> plan_model(const std::string& name, const ModelHeaders& model, const PlanWish& wish,
                        const PlanRoom& whole_room) {
  gguf::Wish asked = wish.wish;
  PlanRoom room = whole_room;
  const std::int64_t trained = model.headers.front().context_length.value_or(0);
  const std::int64_t context = asked.context.n_ctx > 0 ? asked.context.n_ctx : trained;
  Result<std::vector<PlannedExtra>> extras = place_extras(wish.extras, asked, context, room);
  if (!extras) return std::unexpected(extras.error());
  gguf::Room space{
      .devices = {}, .host = room.host_free, .margin = wish.margin, .shared = room.shared};
  for (const RoomDevice& device : room.devices) {
    asked.placement.devices.push_back({.name = device.name, .free_bytes = device.free_bytes});
    space.devices.push_back(device.free_bytes);
  }
  const Result<gguf::Advice> advice = gguf::advise(model.headers, asked, space);
  if (!advice) {
    Error error = advice.error();
    error.message = fmt::format("cannot plan '{}': {}", plain(name), error.message);
    return std::unexpected(std::move(error));
  }
  const Planner planner(model, wish, room, *advice);
  Plan out;
  out.model = name;
  out.architecture = model.headers.front().architecture.value_or("");
  out.tensor_bytes = tensor_bytes(model);
  out.trained_context = model.headers.front().context_length;
  out.layers = advice->layers;
  out.has_experts = advice->has_experts;
  out.margin = wish.margin;
  out.room_from = room.from;
  out.asked = planner.setting(advice->asked);
  const std::optional<gguf::Choice>& best = advice->best;
  if (best) out.best = planner.setting(*best);
  if (const auto& small = advice->small_cache) out.small_cache = planner.setting(*small);
  out.longest_context = advice->longest_context;
  const gguf::Choice& likely =
      best && advice->asked.fit == Fit::not_fitting ? *best : advice->asked;
  planner.estimate(likely, out);
  planner.estimate_prefill(likely, out);
  out.extras = *std::move(extras);
  out.notes = advice->asked.need.guesses;
  out.notes.insert(out.notes.end(), room.notes.begin(), room.notes.end());
  return out;
}

}  // namespace picchio
