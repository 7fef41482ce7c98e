#include "report/names.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace picchio::report {
namespace {

struct BackendName {
  std::string_view prefix;  // of the engine's device id, lower case
  std::string_view name;
};

// Longest prefix first where one begins another.
constexpr std::array kBackends = {
    BackendName{"cuda", "CUDA"},         BackendName{"rocm", "ROCm"},
    BackendName{"hip", "ROCm"},          BackendName{"mtl", "Metal"},
    BackendName{"metal", "Metal"},       BackendName{"vulkan", "Vulkan"},
    BackendName{"vk", "Vulkan"},         BackendName{"sycl", "SYCL"},
    BackendName{"musa", "MUSA"},         BackendName{"cann", "CANN"},
    BackendName{"gpuopencl", "OpenCL"},  BackendName{"opencl", "OpenCL"},
    BackendName{"htp", "Hexagon"},       BackendName{"webgpu", "WebGPU"},
    BackendName{"openvino", "OpenVINO"}, BackendName{"rpc", "RPC"},
    BackendName{"blas", "BLAS"},         BackendName{"cpu", "CPU"},
};

constexpr std::array<std::string_view, 7> kVendors = {
    "NVIDIA ",      "AMD ",          "Intel(R) ", "Intel ", "Advanced Micro Devices, Inc. ",
    "Qualcomm(R) ", "Moore Threads "};

int rank_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::hardware_gpu:
      return 3;
    case DeviceKind::software:
      return 2;
    case DeviceKind::remote:
      return 1;
    case DeviceKind::host:
      return 0;
  }
  return 0;
}

class Remarks {
 public:
  explicit Remarks(std::string_view already_said) : said_(already_said) {}

  void add(std::string_view text, std::string_view label = "") {
    const std::string line = plain(text);
    const std::string_view body =
        line.ends_with('.') ? std::string_view(line).substr(0, line.size() - 1) : line;
    if (body.empty() || said_.find(body) != std::string::npos) return;
    said_ += '\n';
    said_ += body;
    lines_.push_back(std::string(label) + line);
  }

  [[nodiscard]] std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::string said_;
  std::vector<std::string> lines_;
};

void add_abstentions(Remarks& out, const Run& run) {
  struct Lane {
    std::string_view name;
    const LaneSummary& warm;
    std::string Lanes::* cold;
  };
  const std::array lanes = {Lane{"prefill", run.warm_prefill, &Lanes::prefill_abstain},
                            Lane{"decode", run.warm_decode, &Lanes::decode_abstain},
                            Lane{"wallclock", run.warm_wallclock, &Lanes::wallclock_abstain}};
  for (const Lane& lane : lanes) {
    const std::string label = fmt::format("{} abstains: ", lane.name);
    bool said = false;
    const auto add = [&](const std::string& reason) {
      said = said || !reason.empty();
      out.add(reason, label);
    };
    add(lane.warm.abstain);
    if (!run.passes.empty()) add(run.passes.front().lanes.*lane.cold);
    // Single warm passes matter only where neither row of the table told.
    for (std::size_t i = 1; i < run.passes.size() && !said; ++i)
      add(run.passes[i].lanes.*lane.cold);
  }
}

void add_pass_remarks(Remarks& out, const Run& run) {
  for (std::size_t i = 0; i < run.passes.size(); ++i) {
    for (const std::string& remark : run.passes[i].remarks) {
      const bool in_all = std::ranges::all_of(run.passes, [&](const Pass& pass) {
        return std::ranges::find(pass.remarks, remark) != pass.remarks.end();
      });
      out.add(remark, in_all ? "" : fmt::format("pass {}: ", i + 1));
    }
  }
}

}  // namespace

std::string kind_of_device(std::string_view name) {
  const std::string key = lower(name);
  for (const BackendName& backend : kBackends) {
    if (key.starts_with(backend.prefix)) return std::string(backend.name);
  }
  const std::size_t end = name.find_first_of("0123456789[");
  return plain(end == 0 ? name : name.substr(0, end));
}

std::string without_vendor(std::string_view description) {
  std::string text = plain(description);
  for (const std::string_view vendor : kVendors) {
    if (text.starts_with(vendor) && text.size() > vendor.size()) return text.substr(vendor.size());
  }
  return text;
}

std::string engine_label(const EngineProgram& program, const EngineLog* log) {
  std::string family = log == nullptr ? "" : plain(log->engine);
  if (family.empty()) family = plain(program.name);
  if (family.starts_with("llama-") || family == "llama") family = "llama.cpp";
  if (family.empty()) family = "engine";
  std::string version = plain(program.build);
  if (version.empty() && log != nullptr) version = plain(log->version);
  if (version.empty()) version = plain(program.version);
  return family + ' ' + (version.empty() ? "(version unknown)" : version);
}

std::string engine_label(const Run& run) {
  if (!run.raw.server) return engine_label(run.raw.engine, first_log(run));
  const std::string version = plain(run.raw.server->version);
  return fmt::format("{} {}", name_of(run.raw.server->kind),
                     version.empty() ? "(version unknown)" : version);
}

std::string model_label(const Run& run) {
  // A blob of ollama's has no name of its own.
  if (run.raw.server && !run.raw.model_label.empty()) return plain(run.raw.model_label);
  if (run.raw.model && !run.raw.model->path.empty()) {
    return plain(file_name(run.raw.model->path));
  }
  if (!run.raw.model_label.empty()) return plain(run.raw.model_label);
  const EngineLog* log = first_log(run);
  const Load* load = log == nullptr ? nullptr : main_load(*log);
  if (load != nullptr && !load->model_path.empty()) return plain(file_name(load->model_path));
  if (load != nullptr && !load->model_name.empty()) return plain(load->model_name);
  return "model name unknown";
}

const EngineLog* first_log(const Run& run) {
  return run.passes.empty() ? nullptr : &run.passes.front().log;
}

const DeviceAccount* leading_device(const Placement& placement) {
  const DeviceAccount* best = nullptr;
  for (const DeviceAccount& device : placement.devices) {
    if (device.kind == DeviceKind::host) continue;
    if (best == nullptr || rank_of(device.kind) > rank_of(best->kind) ||
        (device.kind == best->kind &&
         device.weights_bytes.value_or(0) > best->weights_bytes.value_or(0))) {
      best = &device;
    }
  }
  return best;
}

bool is_degraded(State state) {
  return state == State::partial_offload || state == State::silent_cpu_fallback;
}

std::string why_of(const Verdict& verdict) {
  if (!is_degraded(verdict.state)) return "";
  std::string why = verdict.cause ? plain(verdict.cause->why) : "";
  if (!why.empty()) return why;
  const std::string suspicion = plain(verdict.suspicion);
  return "unknown: " + (suspicion.empty() ? "the engine log does not say why" : suspicion);
}

std::string why_of(const Run& run, const Verdict& verdict) {
  const bool log_read =
      std::ranges::any_of(run.raw.passes, [](const RawPass& pass) { return !pass.log.empty(); });
  const bool known = verdict.cause && !verdict.cause->why.empty();
  if (run.raw.server && !log_read && !known && is_degraded(verdict.state)) {
    return "unknown: no log of the server was read";
  }
  return why_of(verdict);
}

std::string fix_of(const Verdict& verdict) {
  if (!is_degraded(verdict.state) || !verdict.cause) return "";
  return plain(verdict.cause->fix);
}

std::vector<std::string> remarks_of(const Run& run, std::string_view already_said) {
  Remarks out(plain(already_said));
  out.add(run.disagreement);
  out.add(run.raw.prompt_note);
  add_abstentions(out, run);
  add_pass_remarks(out, run);
  for (const std::string& note : run.notes) out.add(note);
  return out.take();
}

}  // namespace picchio::report
