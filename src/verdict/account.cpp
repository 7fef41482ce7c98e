#include "verdict/account.h"

#include "base/text.h"
#include "verdict/shape_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace picchio {
namespace {

Kv cache_of(const EngineLog& log, const Load& load, RemoteTruth remote) {
  Kv kv;
  for (const BufferLine& line : load.buffers) {
    if (line.use != BufferUse::kv && line.use != BufferUse::recurrent) continue;
    switch (kind_of_device(log, line.device, line.kind)) {
      case DeviceKind::hardware_gpu:
        kv.hardware += line.bytes;
        break;
      case DeviceKind::software:
      case DeviceKind::host:
        kv.other += line.bytes;
        break;
      case DeviceKind::remote:
        if (remote == RemoteTruth::unknown) {
          kv.remote += line.bytes;
        } else {
          (remote == RemoteTruth::cpu ? kv.other : kv.hardware) += line.bytes;
        }
        break;
    }
  }
  return kv;
}

bool all_layers_on_hardware(const EngineLog& log, const Load& load, std::optional<int> total) {
  if (load.layers.empty()) return false;
  // An excerpt ("layer 0", "layer 27") speaks for the layers that it shows.
  if (total && static_cast<int>(load.layers.size()) < *total) return false;
  return std::ranges::all_of(load.layers, [&](const LayerDevice& layer) {
    return kind_of_device(log, layer.device) == DeviceKind::hardware_gpu;
  });
}

std::optional<KvPlace> kv_place(const Kv& kv, Shape shape) {
  if (kv.remote > 0) return std::nullopt;
  if (kv.hardware > 0 && kv.other > 0) return KvPlace::mixed;
  if (kv.hardware > 0) return KvPlace::gpu;
  if (kv.other > 0) return KvPlace::cpu;
  // The cache follows its layer: with every weight on the CPU there is no other place for it.
  if (shape == Shape::cpu || shape == Shape::software_device) return KvPlace::cpu;
  return std::nullopt;
}

std::optional<int> hardware_layers(const Account& a, Shape shape) {
  if (shape == Shape::cpu || shape == Shape::software_device) return 0;
  if (shape == Shape::unknown || a.weights.remote > 0) return std::nullopt;
  if (a.weights.software == 0 && a.load.claim) return a.load.claim->on_gpu;
  if (a.load.layers.empty()) return std::nullopt;
  return static_cast<int>(std::ranges::count_if(a.load.layers, [&](const LayerDevice& layer) {
    return kind_of_device(a.log, layer.device) == DeviceKind::hardware_gpu;
  }));
}

std::optional<double> fraction_of(const Account& a, Shape shape) {
  if (shape == Shape::remote || shape == Shape::unknown) return std::nullopt;
  if (shape == Shape::cpu || shape == Shape::software_device) return 0.0;
  if (a.weights.remote > 0 && a.remote == RemoteTruth::unknown) return std::nullopt;
  // A short offload leaves something on the host; a log that shows nothing there lost the line.
  const bool host_lost = a.weights.host == 0 && a.weights.host_printed == 0 && !a.weights.total;
  if (a.partial_claim && host_lost) return std::nullopt;
  std::int64_t hardware = a.weights.hardware;
  if (a.remote == RemoteTruth::gpu) hardware += a.weights.remote;
  return static_cast<double>(hardware) / static_cast<double>(a.weights.all());
}

int count_gpus(const std::vector<DeviceAccount>& devices) {
  int gpus = 0;
  for (const DeviceAccount& device : devices) {
    if (device.kind == DeviceKind::host) continue;
    if (device.weights_bytes.value_or(0) > 0 || device.kv_bytes.value_or(0) > 0) ++gpus;
  }
  return gpus;
}

void fill_claim(Placement& out, const EngineLog& log, const Load* load) {
  if (load != nullptr && load->claim) {
    out.layers_claimed = load->claim->on_gpu;
    out.layers_total = load->claim->total;
  } else if (log.plan) {
    out.layers_total = log.plan->model_layers;
  }
}

Account account_of(const EngineLog& log, const Load& load, const ModelFile* model,
                   const Weights& weights, const Placement& base) {
  Account a{.log = log, .load = load, .model = model, .weights = weights};
  a.remote = remote_truth(log, load);
  a.kv = cache_of(log, load, a.remote);
  a.gpus = count_gpus(base.devices);
  a.full_claim = load.claim && load.claim->total > 0 && load.claim->on_gpu >= load.claim->total;
  a.partial_claim = load.claim && load.claim->on_gpu < load.claim->total;
  a.layers_all = all_layers_on_hardware(log, load, base.layers_total);
  if (load.splits) {
    a.schedule = shape_of(*load.splits, a.gpus, base.layers_total);
  }
  return a;
}

Placement base_of(const EngineLog& log, const Load& load, const Weights& weights) {
  Placement base;
  fill_claim(base, log, &load);
  base.devices = device_accounts(log, load, weights);
  return base;
}

Placement with_weights(const EngineLog& log, const Load& load, const ModelFile* model,
                       const Weights& weights) {
  Placement out = base_of(log, load, weights);
  const Account a = account_of(log, load, model, weights, out);
  for (const ShapeRule& rule : shape_rules()) {
    if (const std::optional<Decision> decision = rule.decide(a)) {
      out.shape = decision->shape;
      out.reason = decision->reason;
      break;
    }
  }
  out.weights_on_gpu_fraction = fraction_of(a, out.shape);
  out.layers_on_gpu = hardware_layers(a, out.shape);
  out.kv_on = kv_place(a.kv, out.shape);
  if (model != nullptr) {
    const std::int64_t held =
        weights.hardware + (a.remote == RemoteTruth::gpu ? weights.remote : 0);
    out.host_by_design_bytes = model->always_host_bytes;
    out.missing_bytes = out.shape == Shape::gpu ? 0 : std::max<std::int64_t>(0, needed(a) - held);
  }
  return out;
}

// Logs without one line about weights: events, a claim, a plan. None of them can say gpu.

const LogEvent* last_cpu_event(const EngineLog& log) {
  const LogEvent* found = nullptr;
  for (const LogEvent& event : log.events) {
    switch (event.kind) {
      case LogEventKind::no_usable_gpu:
      case LogEventKind::not_compiled_for_gpu:
      case LogEventKind::no_gpu_discovered:
      case LogEventKind::cpu_runner:
        found = &event;
        break;
      default:
        break;
    }
  }
  return found;
}

/// A discovery that found nothing is void once a later one found something.
bool device_after(const EngineLog& log, int line) {
  return std::ranges::any_of(log.devices, [&](const Device& device) {
    return device.line > line && device.kind == DeviceKind::hardware_gpu;
  });
}

Placement cpu_placement(Placement base, std::string reason) {
  base.shape = Shape::cpu;
  base.reason = std::move(reason);
  if (base.layers_total) base.layers_on_gpu = 0;
  return base;
}

std::optional<Placement> by_cache(const EngineLog& log, const Load& load, const Placement& base) {
  const Kv kv = cache_of(log, load, remote_truth(log, load));
  if (kv.other == 0 || kv.hardware > 0 || kv.remote > 0 || !load.splits) return std::nullopt;
  if (shape_of(*load.splits, 1, base.layers_total) != SplitShape::one_backend) return std::nullopt;
  Placement out = cpu_placement(base,
                                "one graph split and the KV cache in host memory: one backend, "
                                "the CPU, did everything");
  out.kv_on = KvPlace::cpu;
  return out;
}

Placement by_claim_or_plan(const EngineLog& log, const Load* load, Placement base) {
  if (load != nullptr && load->claim) {
    const LayerClaim& claim = *load->claim;
    if (claim.on_gpu == 0) {
      base.weights_on_gpu_fraction = 0.0;
      base.kv_on = KvPlace::cpu;  // the cache follows its layer
      return cpu_placement(std::move(base),
                           fmt::format("the engine put 0 of {} layers on a GPU", claim.total));
    }
    if (claim.on_gpu < claim.total) {
      base.shape = Shape::partial;
      base.layers_on_gpu = claim.on_gpu;
      base.reason = fmt::format("the engine put {} of {} layers on a GPU; no line tells the bytes",
                                claim.on_gpu, claim.total);
      return base;
    }
    base.reason = fmt::format("only the claim {}/{}: no buffer line says where the weights are",
                              claim.on_gpu, claim.total);
    return base;
  }
  if (log.plan &&
      (log.plan->offload == 0 || log.plan->requested == 0 || log.plan->library == "cpu")) {
    return cpu_placement(std::move(base), "the front end planned no layer for a GPU");
  }
  base.reason = log.plan ? "only a plan: no line says where the weights went"
                         : "the log holds no line that tells where the weights are";
  return base;
}

Placement without_weights(const EngineLog& log, const Load* load) {
  Placement base;
  fill_claim(base, log, load);
  if (load != nullptr) base.devices = device_accounts(log, *load, std::nullopt);
  const LogEvent* event = last_cpu_event(log);
  if (event != nullptr && event->kind == LogEventKind::no_gpu_discovered &&
      device_after(log, event->line)) {
    event = nullptr;
  }
  if (load != nullptr && load->failure) {
    if (event == nullptr || event->line <= load->last_line) {
      base.reason = fmt::format("the load failed: {}", picchio::fit(plain(*load->failure), 80));
      return base;
    }
  }
  if (event != nullptr) {
    return cpu_placement(std::move(base), fmt::format("the engine said so: {}",
                                                      picchio::fit(plain(event->text), 80)));
  }
  if (load != nullptr) {
    if (std::optional<Placement> cached = by_cache(log, *load, base)) return *std::move(cached);
  }
  return by_claim_or_plan(log, load, std::move(base));
}

}  // namespace

int gpus_in_use(const Placement& placement) { return count_gpus(placement.devices); }

Placement placement_of(const EngineLog& log, const ModelFile* model) {
  const Load* load = main_load(log);
  if (load != nullptr && !load->failure) {
    if (const std::optional<Weights> weights = weigh(log, *load, model)) {
      return with_weights(log, *load, model, *weights);
    }
  }
  return without_weights(log, load);
}

std::string_view deciding_rule(const EngineLog& log, const ModelFile* model) {
  const Load* load = main_load(log);
  if (load == nullptr || load->failure) return {};
  const std::optional<Weights> weights = weigh(log, *load, model);
  if (!weights) return {};
  const Placement base = base_of(log, *load, *weights);
  const Account account = account_of(log, *load, model, *weights, base);
  for (const ShapeRule& rule : shape_rules()) {
    if (rule.decide(account)) return rule.name;
  }
  return {};
}

}  // namespace picchio
