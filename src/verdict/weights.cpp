#include "verdict/weights.h"

#include "base/text.h"

#include <algorithm>
#include <map>
#include <string>

namespace picchio {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1024} * 1024;
// Buffer lines have two digits after the point of a MiB.
constexpr std::int64_t kLineRounding = kMiB / 100;

bool names_software(std::string_view text) {
  const std::string name = lower(text);
  for (std::string_view word :
       {"llvmpipe", "lavapipe", "swiftshader", "softpipe", "pocl", "fpga emulat"}) {
    if (name.contains(word)) return true;
  }
  return false;
}

bool names_host(std::string_view name) {
  for (std::string_view word : {"CPU", "Host", "BLAS", "AMX"}) {
    if (name.starts_with(word)) return true;
  }
  return name.ends_with("_Host");
}

const MemoryRow* row_of(const Load& load, std::string_view device) {
  for (const MemoryRow& row : load.breakdown) {
    if (row.name == device) return &row;
  }
  return nullptr;
}

void add(Weights& weights, DeviceKind kind, std::int64_t bytes) {
  switch (kind) {
    case DeviceKind::hardware_gpu:
      weights.hardware += bytes;
      break;
    case DeviceKind::software:
      weights.software += bytes;
      break;
    case DeviceKind::remote:
      weights.remote += bytes;
      break;
    case DeviceKind::host:
      weights.host += bytes;
      break;
  }
}

std::optional<Weights> from_buffer_lines(const EngineLog& log, const Load& load) {
  Weights out;
  std::int64_t copies = 0;
  bool mapped_host = false;
  bool any = false;
  for (const BufferLine& line : load.buffers) {
    if (line.use != BufferUse::weights) continue;
    any = true;
    const DeviceKind kind = kind_of_device(log, line.device, line.kind);
    if (kind == DeviceKind::host && line.copy) {
      copies += line.bytes;
      continue;
    }
    if (kind == DeviceKind::host) {
      mapped_host = mapped_host || line.mapped;
    } else {
      out.spans = out.spans || line.mapped;
      out.rounding += kLineRounding;
    }
    add(out, kind, line.bytes);
  }
  if (!any) return std::nullopt;
  // With a mapping the repacked buffer repeats tensors that the spans hold already; engines that
  // print one span per run of tensors leave the repacked ones out. Either way the larger of the two
  // is a floor, the sum a ceiling that trimming takes down where the total is known.
  if (!mapped_host || !load.mmap) {
    out.host += copies;
  } else {
    out.host = std::max(out.host, copies);
  }
  out.host_printed = out.host;
  return out;
}

/// The planning pass weighed the same layout only if nothing changed between it and the load.
bool planned_this_layout(const EngineLog& log, const Load& load, const Load& probe) {
  if (!load.claim || !probe.claim) return false;
  if (load.claim->on_gpu != probe.claim->on_gpu || load.claim->total != probe.claim->total) {
    return false;
  }
  if (load.overrides.size() != probe.overrides.size()) return false;
  if (!log.fit) return true;
  return std::ranges::all_of(log.fit->rows, [](const FitRow& row) { return row.overflowing == 0; });
}

std::optional<Weights> from_table(const EngineLog& log, const Load& load, WeightSource source) {
  if (load.breakdown.empty()) return std::nullopt;
  Weights out;
  out.source = source;
  for (const MemoryRow& row : load.breakdown) {
    const DeviceKind kind =
        names_software(row.description) ? DeviceKind::software : kind_of_device(log, row.name);
    add(out, kind, row.model_mib * kMiB);
    if (kind != DeviceKind::host) out.rounding += kMiB;
  }
  if (out.all() == 0) return std::nullopt;
  out.host_printed = out.host;
  return out;
}

bool host_override(const Load& load, std::string_view tensor) {
  return std::ranges::any_of(load.overrides, [&](const TensorOverride& moved) {
    return moved.tensor == tensor && names_host(moved.buffer);
  });
}

/// The device of layer `index`; the output layer has the number after the last block.
DeviceKind layer_kind(const EngineLog& log, const Load& load, int index) {
  for (const LayerDevice& layer : load.layers) {
    if (layer.layer == index) return kind_of_device(log, layer.device);
  }
  return DeviceKind::host;
}

std::optional<Weights> from_layer_lines(const EngineLog& log, const Load& load,
                                        const ModelFile& model) {
  if (load.layers.empty() || !model.block_count) return std::nullopt;
  const int blocks = static_cast<int>(*model.block_count);
  // An excerpt ("layer 0", "layer 27") prices nothing.
  if (static_cast<int>(load.layers.size()) < blocks) return std::nullopt;
  Weights out;
  out.source = WeightSource::layer_lines;
  std::map<int, DeviceKind> kinds;
  for (int i = 0; i <= blocks; ++i) kinds[i] = layer_kind(log, load, i);
  for (const TensorInfo& tensor : model.tensors) {
    DeviceKind kind = DeviceKind::host;
    if (tensor.block >= 0) {
      const auto found = kinds.find(tensor.block);
      if (found != kinds.end()) kind = found->second;
    } else if (tensor.name.starts_with("output")) {
      kind = kinds[blocks];
    }
    if (host_override(load, tensor.name)) kind = DeviceKind::host;
    add(out, kind, tensor.bytes);
  }
  out.host_printed = out.host;
  return out;
}

void trim(Weights& weights, const Load& load, const ModelFile* model, std::int64_t copies) {
  if (model != nullptr && model->tensor_bytes > 0) {
    weights.total = model->tensor_bytes - model->skipped_bytes;
  } else if (load.weight_bytes && *load.weight_bytes > 0) {
    weights.total = load.weight_bytes;
    // Two digits after the point: of a GiB from 1 GiB up, of a MiB below.
    weights.total_error = *load.weight_bytes >= 1024 * kMiB ? 1024 * kMiB / 200 : kMiB / 200;
  }
  if (!weights.total) return;
  const std::int64_t on_devices = weights.hardware + weights.software + weights.remote;
  const std::int64_t left = std::max<std::int64_t>(0, *weights.total - on_devices);
  // Spans and copies together are a ceiling, never a floor.
  const std::int64_t ceiling =
      weights.source == WeightSource::buffer_lines ? weights.host_printed + copies : weights.host;
  if (left < ceiling) {
    weights.host = left;
    weights.trimmed = true;
  } else {
    weights.host = ceiling;
  }
}

/// Repacked copies that were not added yet.
std::int64_t copies_left_out(const EngineLog& log, const Load& load) {
  std::int64_t copies = 0;
  std::int64_t plain = 0;
  bool mapped = false;
  for (const BufferLine& line : load.buffers) {
    if (line.use != BufferUse::weights) continue;
    if (kind_of_device(log, line.device, line.kind) != DeviceKind::host) continue;
    mapped = mapped || line.mapped;
    (line.copy ? copies : plain) += line.bytes;
  }
  if (!mapped || !load.mmap) return 0;
  return std::min(copies, plain);
}

void fill_from_row(DeviceAccount& account, const MemoryRow& row) {
  if (account.description.empty()) account.description = row.description;
  if (!account.total_bytes && row.total_mib) account.total_bytes = *row.total_mib * kMiB;
}

DeviceAccount& account_for(std::vector<DeviceAccount>& accounts, const EngineLog& log,
                           const Load& load, std::string_view name, DeviceKind kind) {
  const std::string key = kind == DeviceKind::host ? "CPU" : std::string(name);
  for (DeviceAccount& account : accounts) {
    if (account.name == key) return account;
  }
  DeviceAccount fresh;
  fresh.name = key;
  fresh.kind = kind;
  if (kind != DeviceKind::host) {
    if (const Device* device = find_device(log, name)) {
      fresh.description = device->description;
      fresh.total_bytes = device->total_bytes;
      fresh.free_bytes = device->free_bytes;
    }
    if (const MemoryRow* row = row_of(load, name)) fill_from_row(fresh, *row);
  }
  return accounts.emplace_back(std::move(fresh));
}

std::optional<std::int64_t>* slot_of(DeviceAccount& account, BufferUse use) {
  switch (use) {
    case BufferUse::weights:
      return &account.weights_bytes;
    case BufferUse::kv:
    case BufferUse::recurrent:
      return &account.kv_bytes;
    case BufferUse::compute:
      return &account.compute_bytes;
    case BufferUse::output:
      return &account.output_bytes;
  }
  return nullptr;
}

void fill_weights_from_table(std::vector<DeviceAccount>& accounts, const EngineLog& log,
                             const Load& shown, const Load& table) {
  for (const MemoryRow& row : table.breakdown) {
    const DeviceKind kind =
        names_software(row.description) ? DeviceKind::software : kind_of_device(log, row.name);
    if (kind == DeviceKind::host) continue;
    account_for(accounts, log, shown, row.name, kind).weights_bytes = row.model_mib * kMiB;
  }
}

}  // namespace

DeviceKind kind_of_device(const EngineLog& log, std::string_view device,
                          std::optional<DeviceKind> printed) {
  if (printed && *printed != DeviceKind::hardware_gpu) return *printed;
  if (const Device* known = find_device(log, device)) {
    if (known->kind != DeviceKind::hardware_gpu) return known->kind;
    if (names_software(known->description)) return DeviceKind::software;
    return DeviceKind::hardware_gpu;
  }
  if (printed) return *printed;
  if (names_host(device)) return DeviceKind::host;
  if (device.starts_with("RPC")) return DeviceKind::remote;
  for (const Load& load : log.loads) {
    for (const BufferLine& line : load.buffers) {
      if (line.device == device) return line.kind;
    }
  }
  return names_software(device) ? DeviceKind::software : DeviceKind::hardware_gpu;
}

RemoteTruth remote_truth(const EngineLog& log, const Load& load) {
  std::vector<std::string> workers;
  for (const BufferLine& line : load.buffers) {
    if (line.kind != DeviceKind::remote) continue;
    if (std::ranges::find(workers, line.device) == workers.end()) workers.push_back(line.device);
  }
  std::size_t cpu = 0;
  std::size_t gpu = 0;
  for (const LogEvent& event : log.events) {
    cpu += event.kind == LogEventKind::remote_is_cpu ? 1 : 0;
    gpu += event.kind == LogEventKind::remote_is_gpu ? 1 : 0;
  }
  // With one worker silent nobody knows which half of the remote bytes the other's word covers.
  if (cpu > 0 && gpu == 0 && cpu >= workers.size()) return RemoteTruth::cpu;
  if (gpu > 0 && cpu == 0 && gpu >= workers.size()) return RemoteTruth::gpu;
  return RemoteTruth::unknown;
}

std::int64_t needed_on_device(const ModelFile& model, bool tied_head) {
  const std::int64_t loaded = model.tensor_bytes - model.skipped_bytes;
  const std::int64_t without = loaded - model.always_host_bytes;
  return model.tied_output && tied_head ? without + model.token_embd_bytes : without;
}

std::optional<Weights> weigh(const EngineLog& log, const Load& load, const ModelFile* model) {
  std::optional<Weights> out = from_buffer_lines(log, load);
  std::int64_t copies = copies_left_out(log, load);
  if (out && out->spans) {
    const Load* probe = probe_load(log);
    std::optional<Weights> better;
    if (probe != nullptr && planned_this_layout(log, load, *probe)) {
      better = from_table(log, *probe, WeightSource::planning_table);
    }
    if (!better && model != nullptr) better = from_layer_lines(log, load, *model);
    if (better) {
      better->host_printed = better->host;
      out = better;
      copies = 0;
    }
  }
  if (!out) {
    out = from_table(log, load, WeightSource::exit_table);
    copies = 0;
  }
  if (out) trim(*out, load, model, copies);
  return out;
}

std::vector<DeviceAccount> device_accounts(const EngineLog& log, const Load& load,
                                           const std::optional<Weights>& weights) {
  std::vector<DeviceAccount> accounts;
  for (const BufferLine& line : load.buffers) {
    const DeviceKind kind = kind_of_device(log, line.device, line.kind);
    DeviceAccount& account = account_for(accounts, log, load, line.device, kind);
    std::optional<std::int64_t>* slot = slot_of(account, line.use);
    if (slot != nullptr) *slot = slot->value_or(0) + line.bytes;
  }
  if (weights && weights->source == WeightSource::planning_table) {
    if (const Load* probe = probe_load(log)) fill_weights_from_table(accounts, log, load, *probe);
  } else if (weights && weights->source == WeightSource::exit_table) {
    fill_weights_from_table(accounts, log, load, load);
  }
  if (weights && (weights->host > 0 || weights->host_printed > 0)) {
    account_for(accounts, log, load, "CPU", DeviceKind::host).weights_bytes = weights->host;
  }
  std::ranges::stable_sort(accounts, [](const DeviceAccount& a, const DeviceAccount& b) {
    return (a.kind == DeviceKind::host) < (b.kind == DeviceKind::host);
  });
  return accounts;
}

}  // namespace picchio
