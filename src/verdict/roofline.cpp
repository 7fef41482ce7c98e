#include "verdict/roofline.h"

#include "base/text.h"
#include "verdict/arguments.h"
#include "verdict/bandwidth.h"
#include "verdict/witnesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

namespace picchio {
namespace {

// Two sources of one peak: the clocks of a driver that misreads a bus, or a row of the table that
// is another model's.
constexpr double kPeaksApart = 0.05;

constexpr std::size_t kLabelColumns = 32;

// Of the bytes of a token; the shares of several devices are rounded.
constexpr double kAllBytes = 0.999;

const EngineLog& first_log(const Run& run) { return run.passes.front().log; }

// What makes the bytes of one token uncertain: words why, or nothing.

constexpr std::string_view kSpeculationFlags[] = {
    "--spec-", "--draft", "--model-draft", "--hf-repo-draft",
    "-md",     "-hfd",    "--mtp",         "--lookup-cache"};
constexpr std::string_view kSpeculationVariables[] = {"LLAMA_ARG_SPEC_", "LLAMA_ARG_DRAFT",
                                                      "LLAMA_ARG_MODEL_DRAFT", "LLAMA_ARG_HFD"};

bool starts_with_any(std::string_view text, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return text.starts_with(prefix); });
}

bool speculates(const Run& run) {
  const bool loaded = std::ranges::any_of(run.passes, [](const Pass& pass) {
    return std::ranges::find(pass.log.loads, LoadRole::draft, &Load::role) != pass.log.loads.end();
  });
  const bool asked = std::ranges::any_of(
      engine_arguments(run.raw),
      [](const std::string& argument) { return starts_with_any(argument, kSpeculationFlags); });
  const bool drafted = std::ranges::any_of(run.passes, [](const Pass& pass) {
    return pass.answer && pass.answer->drafted.value_or(0) > 0;
  });
  return loaded || drafted || asked ||
         std::ranges::any_of(run.raw.environment, [](const auto& variable) {
           return starts_with_any(variable.first, kSpeculationVariables);
         });
}

/// "--override-kv qwen3moe.expert_used_count=int:4": the header's count is then not the engine's.
bool overrides_experts(const Run& run) {
  const auto names_them = [](std::string_view text) { return text.contains("expert_used_count"); };
  return std::ranges::any_of(engine_arguments(run.raw), names_them) ||
         std::ranges::any_of(run.raw.environment,
                             [&](const auto& variable) { return names_them(variable.second); });
}

/// The header's bytes of a token rest on how experts are named and counted. Files of before 2024
/// have a tensor for each expert, others count only some.
bool experts_unclear(const ModelFile& model) {
  bool any = false;
  for (const TensorInfo& tensor : model.tensors) {
    if (!tensor.name.contains("exps")) continue;
    any = true;
    if (!tensor.name.contains("_exps")) return true;
  }
  const std::int64_t count = model.expert_count.value_or(0);
  const std::int64_t used = model.expert_used_count.value_or(0);
  if (count <= 0) return any;
  return !any || used <= 0 || used > count;
}

std::string why_uncertain(const Run& run) {
  if (speculates(run)) {
    return "speculative decoding makes several tokens of one pass over the weights";
  }
  if (overrides_experts(run)) return "the number of experts was overridden";
  if (experts_unclear(*run.raw.model)) return "how much of its experts a token reads is not clear";
  if (!run.disagreement.empty()) return "the passes ran in different places";
  return {};
}

// The cache.

std::optional<std::int64_t> mean_depth(const Run& run, const Load& load) {
  const Pass& pass = run.passes.back();
  if (!pass.timings.prompt_tokens || !pass.timings.eval_runs) return std::nullopt;
  const std::int64_t depth = *pass.timings.prompt_tokens +
                             pass.log.prompt_tokens_cached.value_or(0) +
                             *pass.timings.eval_runs / 2;
  return std::min(depth, load.n_ctx.value_or(depth));
}

/// Bytes of the cache that one token reads. Absent where that is not certain: two attention caches
/// on one device are a model with sliding windows (or an old log that says everything twice), of
/// which the second is read in part. A bound that is too low convicts nobody. Recurrent state is
/// read whole.
std::optional<std::int64_t> cache_bytes(const Load& load, std::optional<std::int64_t> depth) {
  if (!depth || !load.n_ctx || *load.n_ctx <= 0) return std::nullopt;
  std::vector<std::string_view> seen;
  double out = 0;
  for (const BufferLine& line : load.buffers) {
    if (line.use == BufferUse::recurrent) out += static_cast<double>(line.bytes);
    if (line.use != BufferUse::kv) continue;
    if (std::ranges::find(seen, line.buffer) != seen.end()) return std::nullopt;
    seen.push_back(line.buffer);
    out += static_cast<double>(line.bytes) * static_cast<double>(*depth) /
           static_cast<double>(*load.n_ctx);
  }
  if (out <= 0) return std::nullopt;
  return std::llround(out);
}

// The devices.

std::string label_of(const DeviceAccount& account) {
  const std::string text = plain(account.description.empty() ? account.name : account.description);
  std::string_view rest = text;
  for (const std::string_view vendor : {"NVIDIA ", "GeForce ", "AMD ", "Intel(R) "}) {
    take_prefix(rest, vendor);
  }
  return fit(rest.empty() ? std::string_view(text) : rest, kLabelColumns);
}

/// What the log, the meters and the table say of one device's memory; one that says "shared" is
/// believed.
std::optional<bool> own_memory(const Run& run, std::string_view name, const Device* device) {
  std::optional<bool> out;
  const auto hear = [&](bool own) { out = own && out.value_or(true); };
  if (device != nullptr && device->integrated) hear(!*device->integrated);
  for (const MeteredGpu& gpu : run.raw.telemetry.gpus) {
    if (gpu.unified_memory && same_device_name(gpu.name, name)) hear(false);
    if (!gpu.unified_memory && gpu.memory_bytes && same_device_name(gpu.name, name)) hear(true);
  }
  if (const auto peak = find_peak(name)) hear(peak->own_memory);
  return out;
}

std::optional<double> peak_by_clocks(const Run& run, std::string_view name) {
  std::optional<double> out;
  for (const MeteredGpu& gpu : run.raw.telemetry.gpus) {
    if (!gpu.peak_bytes_per_second || !same_device_name(gpu.name, name)) continue;
    out = std::max(out.value_or(0), *gpu.peak_bytes_per_second);
  }
  return out;
}

std::optional<std::int64_t> memory_of(const Run& run, const DeviceAccount& account) {
  if (account.total_bytes) return account.total_bytes;
  for (const MeteredGpu& gpu : run.raw.telemetry.gpus) {
    if (same_device_name(gpu.name, account.description)) return gpu.memory_bytes;
  }
  return std::nullopt;
}

/// What tells an M4 Max of 32 cores from one of 40.
std::optional<int> cores_of(const Run& run, std::string_view name) {
  for (const MeteredGpu& gpu : run.raw.telemetry.gpus) {
    if (gpu.cores && same_device_name(gpu.name, name)) return gpu.cores;
  }
  return std::nullopt;
}

void find_peak_of(RooflineDevice& device, const Run& run, const DeviceAccount& account) {
  const std::optional<double> clocks = peak_by_clocks(run, account.description);
  const std::optional<MemoryPeak> table =
      find_peak(account.description, memory_of(run, account), cores_of(run, account.description));
  if (clocks) {
    device.peak_bytes_per_second = clocks;
    device.peak_from = "its memory clock and bus width";
    const bool apart =
        table && table->sure &&
        std::fabs(table->bytes_per_second - *clocks) > kPeaksApart * table->bytes_per_second;
    if (!apart) return;
    device.peak_is_upper_bound = true;
    if (table->bytes_per_second < *clocks) return;
  }
  if (!table) return;
  device.peak_bytes_per_second = table->bytes_per_second;
  device.peak_from = "the table's " + table->row;
  device.peak_is_upper_bound = device.peak_is_upper_bound || !table->sure;
}

RooflineDevice roofline_device(const Run& run, const DeviceAccount& account) {
  RooflineDevice out;
  out.device = account.name;
  out.label = label_of(account);
  out.own_memory = own_memory(run, account.description, find_device(first_log(run), account.name));
  find_peak_of(out, run, account);
  return out;
}

bool holds_weights(const DeviceAccount& account) {
  return account.kind == DeviceKind::hardware_gpu && account.weights_bytes.value_or(0) > 0;
}

/// Tensors cut across the devices, which then read at the same time. The log prints the whole of
/// such a buffer under one device's name.
bool reads_in_parallel(const Run& run, const Load& load) {
  const bool cut = std::ranges::any_of(load.buffers, [](const BufferLine& line) {
    return line.use == BufferUse::weights && line.buffer.ends_with("_Split");
  });
  const auto mode = placement_settings(engine_arguments(run.raw), run.raw.environment).split_mode;
  return cut || (mode && (mode->value == "row" || mode->value == "tensor"));
}

/// In a parallel split every device in use has a part, whatever its line says.
std::vector<DeviceAccount> devices_at_work(const Run& run, const Load& load, bool parallel) {
  std::vector<DeviceAccount> out;
  std::ranges::copy_if(run.placement.devices, std::back_inserter(out), holds_weights);
  if (!parallel) return out;
  for (const std::string& name : load.devices) {
    if (std::ranges::find(out, name, &DeviceAccount::name) != out.end()) continue;
    const Device* device = find_device(first_log(run), name);
    if (device == nullptr || device->kind != DeviceKind::hardware_gpu) continue;
    DeviceAccount account;
    account.name = name;
    account.description = device->description;
    account.kind = device->kind;
    account.total_bytes = device->total_bytes;
    out.push_back(std::move(account));
  }
  return out;
}

// The limits.

double as_double(std::int64_t value) { return static_cast<double>(value); }

/// Of the bytes of one token those that lie on GPUs. What each expert weighs where is not known, so
/// of a model of experts that is split nothing is certain: nullopt.
std::optional<double> bytes_on_gpus(const Run& run, const Roofline& roof) {
  if (run.placement.shape == Shape::gpu) return as_double(roof.bytes_per_token());
  const ModelFile& model = *run.raw.model;
  if (model.expert_count.value_or(0) > 0 || !run.placement.weights_on_gpu_fraction) {
    return std::nullopt;
  }
  const double held =
      *run.placement.weights_on_gpu_fraction * as_double(model.tensor_bytes - model.skipped_bytes);
  return std::min(held, as_double(roof.weight_bytes));
}

/// The time that the host needs at least for its part of a token; 0 where nothing is certain.
double host_seconds(const Machine& machine, double bytes) {
  if (!machine.ram_bytes_per_second || !machine.last_level_cache_bytes) return 0;
  if (bytes < as_double(kTimesTheCaches * *machine.last_level_cache_bytes)) return 0;
  return bytes / (kHostMargin * *machine.ram_bytes_per_second);
}

void share_out(std::vector<RooflineDevice>& devices, const std::vector<DeviceAccount>& accounts,
               double bytes, bool parallel) {
  double all = 0;
  for (const DeviceAccount& account : accounts) all += as_double(account.weights_bytes.value_or(0));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const double share = parallel || all <= 0
                             ? 1.0 / as_double(static_cast<std::int64_t>(devices.size()))
                             : as_double(accounts[i].weights_bytes.value_or(0)) / all;
    devices[i].bytes_per_token = std::llround(share * bytes);
  }
}

/// Layer by layer the times add up; in a parallel split the bandwidths do, at the best.
double device_seconds(const std::vector<RooflineDevice>& devices, double bytes, bool parallel) {
  double sum = 0;
  for (const RooflineDevice& device : devices) {
    const double peak = *device.peak_bytes_per_second;
    sum += parallel ? peak : as_double(device.bytes_per_token.value_or(0)) / peak;
  }
  return parallel ? bytes / sum : sum;
}

std::string untestable_place(const Placement& placement) {
  switch (placement.shape) {
    case Shape::gpu:
    case Shape::partial:
      break;
    case Shape::cpu:
    case Shape::software_device:
      return "no hardware GPU holds weights";
    case Shape::remote:
      return "the weights are on a remote device";
    case Shape::unknown:
      return "where the weights are is not known";
  }
  const bool remote = std::ranges::any_of(placement.devices, [](const DeviceAccount& account) {
    return account.kind == DeviceKind::remote && account.weights_bytes.value_or(0) > 0;
  });
  return remote ? "some weights are on a remote device" : "";
}

void limit_by_devices(Roofline& roof, const Run& run, const Load& load) {
  roof.device_untested = untestable_place(run.placement);
  if (!roof.device_untested.empty()) return;
  const bool parallel = reads_in_parallel(run, load);
  const std::vector<DeviceAccount> accounts = devices_at_work(run, load, parallel);
  for (const DeviceAccount& account : accounts) {
    roof.devices.push_back(roofline_device(run, account));
  }
  const std::optional<double> bytes = bytes_on_gpus(run, roof);
  if (bytes) share_out(roof.devices, accounts, *bytes, parallel);
  if (roof.devices.empty()) roof.device_untested = "no device is named";
  double fastest = 0;
  bool one_speed = true;
  for (const RooflineDevice& device : roof.devices) {
    if (!device.peak_bytes_per_second) {
      roof.device_untested = fmt::format("the bandwidth of {} is not known", device.label);
      return;
    }
    one_speed = one_speed && (fastest == 0 || fastest == *device.peak_bytes_per_second);
    fastest = std::max(fastest, *device.peak_bytes_per_second);
    roof.limit_is_upper_bound = roof.limit_is_upper_bound || device.peak_is_upper_bound;
  }
  if (!roof.device_untested.empty()) return;
  const bool experts = run.raw.model->expert_count.value_or(0) > 0;
  double seconds = 0;
  if (!bytes || (experts && !parallel && !one_speed)) {
    // Whatever lies where: nothing here is read faster than the fastest memory reads.
    roof.limit_is_upper_bound = true;
    seconds = as_double(roof.weight_bytes) / fastest;
  } else {
    roof.limit_is_upper_bound = roof.limit_is_upper_bound || parallel;
    seconds = device_seconds(roof.devices, *bytes, parallel);
    if (run.placement.shape == Shape::partial) {
      roof.limit_is_upper_bound = true;
      seconds += host_seconds(run.raw.machine, as_double(roof.weight_bytes) - *bytes);
    }
  }
  if (seconds > 0) roof.device_limit = 1 / seconds;
  if (!roof.device_limit) roof.device_untested = "the GPUs hold next to nothing";
}

void limit_by_host(Roofline& roof, const Machine& machine) {
  if (!machine.ram_bytes_per_second) {
    roof.host_untested = "the speed of this machine's RAM was not measured";
  } else if (!machine.last_level_cache_bytes) {
    roof.host_untested = "the size of the CPU's caches is not known";
  } else if (roof.weight_bytes < kTimesTheCaches * *machine.last_level_cache_bytes) {
    roof.host_untested = "the CPU's caches could hold a good part of the model";
  } else {
    roof.host_limit =
        kHostMargin * *machine.ram_bytes_per_second / as_double(roof.bytes_per_token());
  }
}

}  // namespace

std::optional<Roofline> roofline_of(const Run& run) {
  const std::optional<double> rate = decode_rate(run);
  if (!rate || !run.raw.model || run.raw.model->bytes_per_token <= 0) return std::nullopt;
  Roofline out;
  out.tokens_per_second = *rate;
  out.weight_bytes = run.raw.model->bytes_per_token;
  out.bytes_uncertain = why_uncertain(run);
  if (!out.bytes_uncertain.empty()) {
    out.device_untested = out.host_untested = out.bytes_uncertain;
    return out;
  }
  const Load none;
  const Load* load = main_load(first_log(run));
  if (load == nullptr) load = &none;
  out.depth = mean_depth(run, *load);
  out.cache_bytes = cache_bytes(*load, out.depth);
  limit_by_devices(out, run, *load);
  limit_by_host(out, run.raw.machine);
  return out;
}

bool beyond_devices(const Roofline& roofline) {
  return roofline.weight_bytes >= kBeyondCaches && roofline.share() > kImpossibleShare;
}

bool below_usual(const Roofline& roofline) {
  const std::optional<double> share = roofline.share();
  return share && *share < kSuspiciousShare && !roofline.limit_is_upper_bound &&
         roofline.weight_bytes >= kBigEnoughToSuspect &&
         1 / *roofline.device_limit >= kLongEnoughToSuspect;
}

bool all_own_memory(const Roofline& roofline) {
  return !roofline.devices.empty() &&
         std::ranges::all_of(roofline.devices, [](const RooflineDevice& device) {
           return device.own_memory.value_or(false);
         });
}

bool has_discrete_gpu(const Run& run) {
  if (!run.passes.empty()) {
    for (const Device& device : first_log(run).devices) {
      if (device.kind != DeviceKind::hardware_gpu) continue;
      if (own_memory(run, device.description, &device).value_or(false)) return true;
    }
  }
  for (const MeteredGpu& gpu : run.raw.telemetry.gpus) {
    if (own_memory(run, gpu.name, nullptr).value_or(false)) return true;
  }
  // The inventory knows ids, no names. NVIDIA's GPUs on PCI have their own memory; the exception,
  // GB10, has one that the CPU cannot outrun either.
  return std::ranges::any_of(run.raw.machine.gpus, [](const MachineGpu& gpu) {
    return gpu.can_compute && gpu.vendor == "NVIDIA" && !gpu.address.empty();
  });
}

std::string owners_of(const Roofline& roofline) {
  std::string out = roofline.devices.size() == 1 ? roofline.devices.front().label
                                                 : fmt::format("{} GPUs", roofline.devices.size());
  double bytes = 0;
  for (const RooflineDevice& device : roofline.devices) {
    bytes += as_double(device.bytes_per_token.value_or(0));
  }
  const bool all = bytes >= kAllBytes * as_double(roofline.weight_bytes);
  return all ? out : out + " and the host";
}

}  // namespace picchio
