#include "report/plan.h"

#include "base/text.h"
#include "commands/command.h"
#include "commands/header_source.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/plan/own_runs.h"
#include "commands/plan/plan_model.h"
#include "commands/plan/room.h"
#include "commands/progress.h"
#include "commands/ram_speed.h"
#include "commands/terminal.h"
#include "machine/inventory.h"
#include "models/find_models.h"
#include "os/file.h"
#include "verdict/arguments.h"
#include "verdict/bandwidth.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace picchio {
namespace {

constexpr const char* kText =
    "Says whether a model fits, where its layers go and how fast it could be, from its header\n"
    "alone: before the download, and for GPUs that are not here. Without MODEL every model found\n"
    "on this machine. All figures are forecasts.";

constexpr const char* kDetails =
    "Options that llama.cpp's programs have mean the same here, with their short spellings too.\n\n"
    "Exit codes: 0 what was asked for fits, or nobody tells what is free; 1 it does not fit;\n"
    "2 could not plan; 130 interrupted.\n\n";

struct PlanOptions {
  std::vector<std::string> models;
  std::int64_t context = 0;
  std::int64_t batch = 2048;
  std::int64_t ubatch = 512;
  std::int64_t parallel = 0;
  std::string cache_type_k;
  std::string cache_type_v;
  std::string flash_attention = "auto";
  std::int64_t gpu_layers = -1;
  std::int64_t cpu_moe = 0;
  std::int64_t margin_mib = gguf::kUsualMargin >> 20;
  std::string mmproj;
  std::string draft;
  RoomWish room;
  bool one_shot = false;
  bool no_op_offload = false;
  bool no_history = false;
  bool json = false;
};

// CLI11 takes no short option of more than one letter.
std::vector<std::string> spelled_out(std::vector<std::string> words) {
  for (std::string& word : words) {
    const std::size_t end = std::min(word.find('='), word.size());
    if (word.starts_with('-')) word = long_flag(word.substr(0, end)) + word.substr(end);
  }
  return words;
}

CLI::Validator whole_between(std::int64_t least, std::int64_t most) {
  return number_between(static_cast<double>(least), static_cast<double>(most));
}

void add_options(CLI::App& app, PlanOptions& options) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  app.add_option("MODEL", options.models,
                 "GGUF file or any shard of it, ollama tag, hf:OWNER/REPO/FILE.gguf, "
                 "http(s) URL, or '-' for a header on standard input");
  app.add_option("-c,--ctx-size", options.context, "tokens of context; 0: the model's own")
      ->check(whole_between(0, kMost));
  app.add_option("-b,--batch-size", options.batch, "tokens of a batch")
      ->check(whole_between(1, kMost))
      ->capture_default_str();
  app.add_option("--ubatch-size", options.ubatch, "tokens of a micro-batch (-ub)")
      ->check(whole_between(1, kMost))
      ->capture_default_str();
  app.add_option("--parallel", options.parallel, "sequences at once (-np)")
      ->check(whole_between(1, 1024));
  app.add_option("--cache-type-k", options.cache_type_k, "type of the cache's keys (-ctk)");
  app.add_option("--cache-type-v", options.cache_type_v, "type of the cache's values (-ctv)");
  app.add_option("--flash-attn", options.flash_attention, "on, off or auto (-fa)")
      ->check(CLI::IsMember({"on", "off", "auto"}))
      ->capture_default_str();
  app.add_option("--n-gpu-layers,--ngl", options.gpu_layers,
                 "layers on the GPU, the output counted as one (-ngl); not given: as many as fit")
      ->check(whole_between(-1, kMost));
  app.add_option("--n-cpu-moe", options.cpu_moe,
                 "keep the experts of so many layers on the host (-ncmoe)")
      ->check(whole_between(0, kMost));
  app.add_option("--vram", options.room.vram, "free memory of the GPU, of each of several, in GiB")
      ->type_name("GiB[,GiB...]");
  app.add_option("--gpu", options.room.gpu, "plan for this GPU: its bandwidth and memory")
      ->type_name("NAME");
  app.add_option("--ram", options.room.ram_gib, "free memory of the host in GiB")
      ->type_name("GiB")
      ->check(number_between(0, 1 << 20));
  app.add_option("--mmproj", options.mmproj, "a projector that is loaded beside it")
      ->type_name("FILE");
  app.add_option("--model-draft", options.draft, "a draft model that is loaded beside it (-md)")
      ->type_name("FILE");
  app.add_option("--margin", options.margin_mib, "MiB to leave free on each GPU, as --fit-target")
      ->check(whole_between(0, 1 << 30))
      ->capture_default_str();
  app.add_flag("--cpu", options.room.cpu_only, "plan for the CPU alone");
  app.add_flag("--no-op-offload", options.no_op_offload,
               "large batches of the host's layers are computed there");
  app.add_flag("--one-shot", options.one_shot,
               "for llama-completion or llama-bench and not for a server");
  app.add_flag("--no-history", options.no_history,
               "do not look how fast this machine's own runs were");
  app.add_flag("--json", options.json, "JSON on stdout, the text on stderr");
}

Result<> check_type(const std::string& name) {
  constexpr std::array<std::string_view, 9> kTypes = {"f32",  "f16",    "bf16", "q8_0", "q4_0",
                                                      "q4_1", "iq4_nl", "q5_0", "q5_1"};
  if (name.empty() || std::ranges::find(kTypes, name) != kTypes.end()) return {};
  return with_hint(fail(ErrorKind::unsupported, "no cache has the type '{}'", plain(name)),
                   fmt::format("it takes {}", fmt::join(kTypes, ", ")));
}

Result<PlanWish> wish_of(const PlanOptions& options, const CLI::App& app) {
  PlanWish out;
  for (const std::string& type : {options.cache_type_k, options.cache_type_v}) {
    if (const Result<> ok = check_type(type); !ok) return std::unexpected(ok.error());
  }
  gguf::Wish& wish = out.wish;
  gguf::ContextSettings& context = wish.context;
  context.program = options.one_shot ? gguf::Program::one_shot : gguf::Program::server;
  context.n_ctx = options.context;
  context.n_batch = options.batch;
  context.n_ubatch = options.ubatch;
  if (options.parallel > 0) context.n_parallel = options.parallel;
  if (!options.cache_type_k.empty()) context.cache_type_k = options.cache_type_k;
  if (!options.cache_type_v.empty()) context.cache_type_v = options.cache_type_v;
  if (options.flash_attention == "on") context.flash_attention = gguf::FlashAttention::on;
  if (options.flash_attention == "off") context.flash_attention = gguf::FlashAttention::off;
  wish.placement.n_gpu_layers = options.gpu_layers;
  wish.placement.n_cpu_moe = options.cpu_moe;
  wish.placement.offload_operations = !options.no_op_offload;
  wish.context_fixed = options.context > 0;
  wish.types_fixed = !options.cache_type_k.empty() || !options.cache_type_v.empty();
  wish.layers_fixed = app.count("--n-gpu-layers") > 0 && options.gpu_layers >= 0;
  wish.experts_fixed = app.count("--n-cpu-moe") > 0;
  out.margin = options.margin_mib << 20;
  return out;
}

std::vector<OwnRun> runs_of(const RunsByMemory& runs, const std::string& memory) {
  for (const auto& [name, out] : runs) {
    if (name == memory || (!memory.empty() && same_device_name(name, memory))) return out;
  }
  return {};
}

std::string name_of_model(const std::string& what, const ModelHeaders& model) {
  if (!model.label.empty()) return model.label;
  return what == "-" ? "standard input" : std::string(file_name(what));
}

ExitCode code_of(const std::vector<Plan>& plans) {
  const bool fit = std::ranges::none_of(
      plans, [](const Plan& plan) { return plan.asked.fit == Fit::not_fitting; });
  return fit ? ExitCode::ok : ExitCode::not_fitting;
}

ExitCode print_plans(const std::vector<Plan>& plans, const std::vector<UnplannedModel>& others,
                     bool table, bool json, ExitCode code) {
  std::string human;
  if (table) {
    human = plan_table(plans, others);
  } else {
    for (const Plan& plan : plans) human += (human.empty() ? "" : "\n") + plan_text(plan);
  }
  if (!json) return print_product(human, code);
  print_stderr(human);
  return print_product(plan_json(plans, others, static_cast<int>(code)) + "\n", code);
}

/// Every model of this machine; one that cannot be planned does not hide the others.
ExitCode plan_all(const PlanWish& wish, const PlanRoom& room, bool json,
                  os::Interrupts& interrupts) {
  const models::FoundModels found =
      models::find_models(models::search_places(models::surroundings()));
  if (found.models.empty()) {
    return fail_with({ErrorKind::not_found, "no model is found on this machine",
                      "picchio plan MODEL.gguf, a tag, or hf:OWNER/REPO/FILE.gguf"});
  }
  std::vector<Plan> plans;
  std::vector<UnplannedModel> others;
  for (const models::FoundModel& one : found.models) {
    if (interrupts.caught()) return ExitCode::interrupted;
    const Result<ModelHeaders> model =
        read_headers(one.argument, gguf::Accept::loadable, interrupts);
    Result<Plan> plan = model ? plan_model(one.name, *model, wish, room)
                              : Result<Plan>(std::unexpected(model.error()));
    if (plan) {
      plans.push_back(*std::move(plan));
    } else {
      others.push_back({one.name, plan.error().message});
    }
  }
  return print_plans(plans, others, true, json, ExitCode::ok);
}

}  // namespace

ExitCode plan(const Arguments& arguments) {
  PlanOptions options;
  CLI::App app(kText, "picchio plan");
  add_options(app, options);
  app.footer(
      std::string(kDetails) +
      examples({"picchio plan model.gguf", "picchio plan qwen3:8b -c 32768",
                "picchio plan hf:OWNER/REPO/model-Q4_K_M.gguf --vram 24",
                "picchio plan model.gguf --gpu \"GeForce RTX 4090\" --vram 24", "picchio plan"}));
  if (const auto code = parse_options(app, spelled_out(arguments.words))) return *code;
  options.models.insert(options.models.end(), arguments.rest.begin(), arguments.rest.end());
  Result<PlanWish> wish = wish_of(options, app);
  if (!wish) return fail_with(wish.error());
  Result<os::Interrupts> interrupts = os::Interrupts::install();
  if (!interrupts) return fail_with(interrupts.error());
  Result<std::vector<ExtraModel>> extras = read_extras(options.mmproj, options.draft, *interrupts);
  if (!extras) return fail_with(extras.error());
  wish->extras = *std::move(extras);
  const Result<PlanRoom> room = find_room(options.room, *interrupts);
  if (!room) return fail_with(room.error());

  Progress progress;
  Machine machine = read_machine();
  wish->cache_bytes = machine.last_level_cache_bytes;
  bool asked = false;
  wish->ram_speed = [&]() -> std::optional<double> {
    // Once: measuring takes a second.
    if (!std::exchange(asked, true)) (void)learn_ram_speed(machine, *interrupts, progress);
    return machine.ram_bytes_per_second;
  };
  std::optional<RunsByMemory> runs;
  if (!options.no_history && os::env("PICCHIO_NO_HISTORY").value_or("").empty()) {
    wish->own_runs = [&](const std::string& memory) {
      if (!runs) runs = own_runs(machine);
      return runs_of(*runs, memory);
    };
  }
  if (options.models.empty()) return plan_all(*wish, *room, options.json, *interrupts);
  std::vector<Plan> plans;
  for (const std::string& what : options.models) {
    const Result<ModelHeaders> model = read_headers(what, gguf::Accept::loadable, *interrupts);
    if (!model) return fail_with(model.error());
    Result<Plan> one = plan_model(name_of_model(what, *model), *model, *wish, *room);
    if (!one) return fail_with(one.error());
    plans.push_back(*std::move(one));
  }
  if (interrupts->caught()) return ExitCode::interrupted;
  return print_plans(plans, {}, false, options.json, code_of(plans));
}

}  // namespace picchio
