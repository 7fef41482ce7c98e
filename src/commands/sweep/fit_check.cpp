#include "commands/sweep/fit_check.h"

#include "base/text.h"
#include "commands/plan/plan_model.h"
#include "report/plan.h"
#include "verdict/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

namespace picchio {
namespace {

// What moves memory in ways that are not forecast here.
constexpr std::array<std::string_view, 10> kBeyond = {
    "--tensor-split", "--main-gpu", "--mmproj",     "--model-draft", "--lora",
    "--lora-scaled",  "--fit",      "--fit-target", "--n-cpu-ffn",   "--swa-full"};

/// Of flags that take a number.
std::optional<std::int64_t> number_of(const std::vector<ShownArgument>& arguments,
                                      std::string_view flag) {
  std::optional<std::int64_t> out;
  for (const ShownArgument& argument : arguments) {
    if (argument.flag == flag) out = parse_int(argument.words);
  }
  return out;
}

bool foreseeable(const PlacementSettings& settings, const std::vector<ShownArgument>& arguments) {
  if (!settings.override_tensor.empty() || settings.split_mode || settings.rpc) return false;
  if (settings.device && settings.device->value != "none") return false;
  return std::ranges::none_of(arguments, [](const ShownArgument& argument) {
    return std::ranges::find(kBeyond, argument.flag) != kBeyond.end();
  });
}

void take_placement(const PlacementSettings& settings, gguf::Wish& wish) {
  gguf::Placement& placement = wish.placement;
  if (settings.gpu_layers) {
    const auto layers = parse_int(settings.gpu_layers->value);
    placement.n_gpu_layers = layers.value_or(-1);
    wish.layers_fixed = (layers && *layers >= 0) || settings.gpu_layers->value == "all";
  }
  if (settings.cpu_moe) placement.n_cpu_moe = std::numeric_limits<int>::max();
  if (settings.n_cpu_moe) placement.n_cpu_moe = parse_int(settings.n_cpu_moe->value).value_or(0);
  wish.experts_fixed = settings.cpu_moe || settings.n_cpu_moe;
  placement.offload_kv = !settings.kv_offload_off;
}

void take_context(const PlacementSettings& settings, const std::vector<ShownArgument>& arguments,
                  gguf::ContextSettings& context) {
  if (settings.cache_type_k) context.cache_type_k = settings.cache_type_k->value;
  if (settings.cache_type_v) context.cache_type_v = settings.cache_type_v->value;
  if (settings.flash_attention) {
    const std::string& value = settings.flash_attention->value;
    if (value == "on" || value == "1") context.flash_attention = gguf::FlashAttention::on;
    if (value == "off" || value == "0") context.flash_attention = gguf::FlashAttention::off;
  }
  context.n_batch = number_of(arguments, "--batch-size").value_or(context.n_batch);
  context.n_ubatch = number_of(arguments, "--ubatch-size").value_or(context.n_ubatch);
  context.n_parallel = number_of(arguments, "--parallel");
}

}  // namespace

FitCheck::FitCheck(std::string model, std::vector<std::string> arguments,
                   std::map<std::string, std::string> environment, gguf::Program program,
                   os::Interrupts& interrupts)
    : model_(std::move(model)),
      arguments_(std::move(arguments)),
      environment_(std::move(environment)),
      program_(program),
      interrupts_(interrupts) {}

bool FitCheck::load() {
  if (std::exchange(loaded_, true)) return headers_ && room_;
  Result<ModelHeaders> headers = read_headers(model_, gguf::Accept::loadable, interrupts_);
  if (!headers) return false;
  const PlacementSettings settings = placement_settings(arguments_, environment_);
  RoomWish wish;
  wish.cpu_only = settings.device && settings.device->value == "none";
  Result<PlanRoom> room = find_room(wish, interrupts_);
  if (!room) return false;
  headers_ = *std::move(headers);
  room_ = *std::move(room);
  return true;
}

TierOutlook FitCheck::outlook(std::int64_t context) {
  const PlacementSettings settings = placement_settings(arguments_, environment_);
  const std::vector<ShownArgument> arguments =
      shown_arguments(fmt::format("{}", fmt::join(arguments_, " ")));
  if (!foreseeable(settings, arguments) || !load()) return {};
  const std::optional<ModelHeaders>& headers = headers_;
  const std::optional<PlanRoom>& room = room_;
  if (!headers || !room) return {};
  PlanWish wish;
  take_placement(settings, wish.wish);
  take_context(settings, arguments, wish.wish.context);
  wish.wish.context.program = program_;
  wish.wish.context.n_ctx = context;
  wish.wish.context_fixed = true;
  wish.wish.types_fixed = true;
  // A margin is a wish; what counts here is what goes in.
  wish.margin = 0;
  const Result<Plan> plan = plan_model(model_, *headers, wish, *room);
  if (!plan || plan->asked.fit != Fit::not_fitting) return {};
  TierOutlook out;
  const std::optional<PlannedSetting>& best = plan->best;
  if (!best) {
    out.why_not = "picchio plan: " + shortfall(*plan);
  } else if (best->n_gpu_layers < plan->asked.n_gpu_layers ||
             best->n_cpu_moe > plan->asked.n_cpu_moe) {
    out.note =
        fmt::format("picchio plan: {}; {} would go in", shortfall(*plan), llama_cpp_flags(*best));
  }
  return out;
}

}  // namespace picchio
