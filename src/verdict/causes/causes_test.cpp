#include "verdict/causes/causes.h"

#include "verdict/account.h"
#include "verdict/causes/catalogue.h"
#include "verdict/lanes.h"
#include "verdict/test_values.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace picchio {
namespace {

using namespace test;
using MeasuredRun = picchio::Run;

struct Case {
  const char* name;
  const char* id;  // "none": no cause
  EngineLog log;
  bool measured = false;
  std::vector<std::string> args = {};
  std::map<std::string, std::string> environment = {};
  std::function<void(MeasuredRun&)> change = {};
};

EngineLog plus(EngineLog log, LogEventKind kind, const std::string& text,
               const std::string& subject = "") {
  log.events.push_back(event(kind, text, subject));
  log.events.back().line = 90;
  return log;
}

EngineLog change(EngineLog log, const std::function<void(EngineLog&)>& apply) {
  apply(log);
  return log;
}

EngineLog llvmpipe(const std::string& name) {
  EngineLog log = log_of({weights("CPU", 300), weights(name, 1900)}, 29, 29);
  log.devices.push_back(device(name, "llvmpipe (LLVM 22.1.8, 256 bits)", DeviceKind::software));
  return log;
}

EngineLog partial(int on_gpu = 22) {
  return log_of({weights("CPU", 1720), weights("CUDA0", 2965), kv("CUDA0", 100)}, on_gpu, 33);
}

EngineLog experts_on_host() {
  return log_of({weights("CPU_Mapped", 16500), weights("CUDA0", 1400), kv("CUDA0", 100)}, 49, 49);
}

EngineLog cache_on_host() {
  return log_of({weights("CPU", 107), weights("CUDA0", 8694), kv("CPU", 4900)}, 41, 41);
}

EngineLog tied_head_on_host() {
  EngineLog log = log_of({weights("CPU_Mapped", 50), weights("CUDA0", 800), kv("CUDA0", 9)}, 9, 9);
  log.loads.back().splits = GraphSplits{3, std::nullopt, std::nullopt, 1, false};
  return log;
}

EngineLog none_of_ollama() {
  EngineLog log = log_of({weights("CPU", 5600)}, 0, 31);
  log.engine = "ollama";
  log.devices.push_back(device("CUDA0", "RTX 3050"));
  return log;
}

EngineLog built(std::int64_t build, EngineLog log) {
  log.engine = "llama.cpp";
  log.build = build;
  return log;
}

/// 22 of 33 layers beside a cache of 4.9 GiB; 1.7 GiB of weights were left out.
EngineLog long_context(std::int64_t context) {
  EngineLog log = log_of({weights("CPU", 1720), weights("CUDA0", 2965), kv("CUDA0", 4900)}, 22, 33);
  log.engine = "ollama";
  log.loads.back().n_ctx = context;
  return log;
}

EngineLog crowded_card(double free) {
  EngineLog log = partial();
  log.engine = "ollama";
  log.devices.push_back(device("CUDA0", "a card"));
  log.devices.back().total_bytes = mib(8192);
  log.devices.back().free_bytes = mib(free);
  return log;
}

EngineLog second_try() {
  EngineLog log = partial();
  log.engine = "ollama";
  Load failed;
  failed.claim = LayerClaim{33, 33, 1};
  failed.failure = "cudaMalloc failed: out of memory";
  log.loads.insert(log.loads.begin(), failed);
  return log;
}

EngineLog on_integrated() {
  EngineLog log = full_cuda();
  log.devices[0].integrated = true;
  log.devices.push_back(device("CUDA1", "NVIDIA GeForce RTX 4070"));
  log.devices.back().integrated = false;
  return log;
}

EngineLog odd_kv() {
  EngineLog log = full_cuda();
  log.loads.back().splits = GraphSplits{84, std::nullopt, std::nullopt, 1, false};
  log.loads.back().kv_type_k = "q5_1";
  log.loads.back().kv_type_v = "q5_1";
  log.loads.back().flash_attention = true;
  return log;
}

EngineLog with_side_model(LoadRole role) {
  EngineLog log = full_cuda();
  Load side;
  side.role = role;
  side.buffers = {weights("CPU", 500)};
  log.loads.push_back(side);
  return log;
}

using Kind = LogEventKind;

/// In the table's order: each row with the log, the arguments or the machine that it needs.
std::vector<Case> settings_cases() {
  return {
      {"out of memory", "load_failed_oom",
       plus(change(log_of({}, 33, 33),
                   [](EngineLog& l) { l.loads.back().failure = "failed to load model"; }),
            Kind::allocation_failed, "cudaMalloc failed: out of memory")},
      {"rpc", "rpc_worker_cpu_backend",
       plus(log_of({weights("RPC0", 2700)}, 29, 29), Kind::remote_is_cpu, "using CPU backend")},
      {"sycl", "software_sycl_devices_in_split", llvmpipe("SYCL2")},
      {"vulkan", "software_vulkan_device", llvmpipe("Vulkan0")},
      {"device none", "device_none", cpu_log(), true, {"--device", "none"}},
      {"device none by variable",
       "device_none",
       cpu_log(),
       true,
       {},
       {{"LLAMA_ARG_DEVICE", "none"}}},
      {"ngl 0", "ngl_0", cpu_with_card(), true, {"-ngl", "0"}},
      {"ngl=0", "ngl_0", cpu_with_card(), true, {"-ngl=0"}},
      {"ngl 0 by variable", "ngl_0", cpu_with_card(), true, {}, {{"LLAMA_ARG_N_GPU_LAYERS", "0"}}},
      {"the last flag rules",
       "cpu_only_build",
       cpu_log(),
       true,
       {"-ngl", "0", "-ngl", "99"},
       {},
       [](MeasuredRun& r) { r.raw.passes[0].process = process_facts({"libggml-cpu.so"}); }},
      {"num_gpu 0", "num_gpu_0",
       change(none_of_ollama(), [](EngineLog& l) { l.plan = OffloadPlan{0, 33, 0, "cuda", 1}; })},
      {"a plan of no layers, of llama.cpp", "ngl_0",
       change(cpu_with_card(), [](EngineLog& l) { l.plan = OffloadPlan{0, {}, {}, "", 1}; })},
      {"koboldcpp's plan of no layers", "ngl_not_set",
       change(cpu_with_card(),
              [](EngineLog& l) {
                l.engine = "koboldcpp";
                l.plan = OffloadPlan{0, {}, {}, "", 1};
              })},
      {"a flag that was ignored", "engine_bug_ngl_ignored",
       plus(cpu_with_card(), Kind::gpu_layers_asked, "llava-cli -ngl 35", "35")},
      {"num_gpu 0 as a flag", "num_gpu_0",
       plus(none_of_ollama(), Kind::gpu_layers_asked, "starting llama-server ... -ngl 0", "0")},
      {"ngl 0 in the log", "ngl_0", plus(cpu_with_card(), Kind::gpu_layers_asked, "-ngl 0", "0")},
      {"ngl 0 in the plan", "ngl_0",
       change(cpu_with_card(),
              [](EngineLog& l) {
                Load probe;
                probe.role = LoadRole::probe;
                probe.claim = LayerClaim{0, 41, 1};
                l.loads.insert(l.loads.begin(), probe);
              })},
      {"cpu-moe", "moe_experts_on_cpu", experts_on_host(), true, {"--cpu-moe"}},
      {"n-cpu-moe", "moe_experts_on_cpu", experts_on_host(), true, {"-ncmoe", "12"}},
      {"override of experts", "moe_experts_on_cpu", experts_on_host(), true, {"-ot", "exps=CPU"}},
      {"override of others",
       "tensor_override_to_host",
       experts_on_host(),
       true,
       {"-ot", "ffn_.*=CPU"}},
      {"override to a card is none",
       "moe_experts_on_cpu",
       experts_on_host(),
       true,
       {"-ot", "a=CUDA0"}},
      {"nkvo", "kv_cache_on_host", cache_on_host(), true, {"-nkvo"}},
      {"ngl 22", "ngl_too_low", partial(), true, {"-ngl", "22"}},
      {"masked, says the log", "visible_devices_mask",
       plus(cpu_log(), Kind::device_masked, "user overrode visible devices",
            "CUDA_VISIBLE_DEVICES")},
      {"masked, says the environment",
       "visible_devices_mask",
       cpu_log(),
       true,
       {},
       {{"CUDA_VISIBLE_DEVICES", ""}}},
      {"masked by a wrong index",
       "visible_devices_mask",
       plus(cpu_log(), Kind::backend_init_failed,
            "failed to initialize CUDA: no CUDA-capable device", "CUDA"),
       true,
       {},
       {{"CUDA_VISIBLE_DEVICES", "7"}}},
      {"a mask beside a listed card masks nothing",
       "ngl_not_set",
       cpu_with_card(),
       true,
       {},
       {{"CUDA_VISIBLE_DEVICES", "0"}}},
      {"library override", "llm_library_override",
       plus(cpu_log(), Kind::library_override, "Invalid OLLAMA_LLM_LIBRARY cuda - not found")},
      {"a library for the CPU", "llm_library_override",
       plus(cpu_log(), Kind::library_override, "OLLAMA_LLM_LIBRARY=cpu_avx2")},
      {"a library for GPUs is no reason", "none",
       plus(cpu_log(), Kind::library_override, "OLLAMA_LLM_LIBRARY=cuda_v12")},
      {"index 0 hides nothing", "none",
       plus(cpu_log(), Kind::device_masked, "CUDA_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES")},
      {"guard", "front_end_memory_guard",
       plus(partial(), Kind::memory_guard, "Strict GPU VRAM cap is ON")},
  };
}

std::vector<Case> engine_cases() {
  return {
      {"load order", "engine_bug_backend_load_order",
       change(plus(cpu_log(), Kind::no_usable_gpu, "no usable GPU found"),
              [](EngineLog& l) { l.build = 9049; })},
      {"one build later", "cpu_only_build",
       change(plus(cpu_log(), Kind::no_usable_gpu, "no usable GPU found"),
              [](EngineLog& l) { l.build = 9050; })},
      {"suspend", "suspend_resume_lost_cuda",
       plus(cpu_log(), Kind::driver_failed, "cuInit err: 999")},
      {"container lost", "container_lost_gpu",
       plus(cpu_log(), Kind::driver_failed,
            "cuda driver library failed to get device context 800")},
      {"permission", "device_permission",
       plus(cpu_log(), Kind::device_permission, "open /dev/kfd: permission denied")},
      {"no kernels", "backend_library_not_loaded",
       plus(cpu_log(), Kind::gpu_unsupported, "amdgpu is not supported (supported types:[])")},
      {"gfx", "gfx_target_unsupported",
       plus(cpu_log(), Kind::gpu_unsupported, "amdgpu is not supported (supported types:[gfx1030])",
            "gfx1031")},
      {"avx", "cpu_without_avx",
       plus(cpu_log(), Kind::gpu_unsupported,
            "CPU does not have AVX or AVX2, disabling GPU support.")},
      {"driver", "driver_too_old", plus(cpu_log(), Kind::driver_failed, "NVIDIA driver too old")},
      {"old card", "gpu_too_old",
       plus(cpu_log(), Kind::gpu_unsupported, "CUDA GPU is too old. Falling back to CPU mode.")},
      {"libcuda", "driver_library_missing",
       plus(cpu_log(), Kind::driver_library_missing,
            "libcuda.so.1: cannot open shared object file")},
      {"libcuda behind a backend", "driver_library_missing",
       plus(cpu_log(), Kind::backend_load_failed,
            "failed to load /x/libggml-cuda.so: libcuda.so.1: no")},
      {"cudart", "backend_library_not_loaded",
       plus(cpu_log(), Kind::backend_load_failed,
            "failed to load /x/libggml-cuda.so: libcudart.so.12: no")},
      {"discovery", "discovery_timeout",
       plus(cpu_log(), Kind::driver_failed, "failed to finish discovery before timeout")},
      {"container", "container_without_gpu",
       plus(cpu_log(), Kind::no_gpu_discovered, "Discovered GPU libraries: []")},
      {"cuda init", "cuda_init_failed",
       plus(cpu_log(), Kind::backend_init_failed,
            "ggml_cuda_init: failed to initialize CUDA: CUDA driver version is insufficient",
            "CUDA")},
      {"rocm init", "rocm_init_failed",
       plus(cpu_log(), Kind::backend_init_failed,
            "failed to initialize ROCm: no ROCm-capable device", "ROCm")},
      {"integrated dropped", "wrong_device_igpu",
       plus(cpu_log(), Kind::gpu_dropped, "dropping integrated GPU")},
      {"integrated dropped beside a card at work", "none",
       plus(full_cuda(), Kind::gpu_dropped, "dropping integrated GPU; description=\"Intel UHD\"")},
      {"runner", "backend_library_not_loaded",
       plus(cpu_with_card(), Kind::cpu_runner, "runners/cpu_avx2/ollama_llama_server")},
      {"vulkan sees nothing, pasted", "no_device_found",
       plus(cpu_log(), Kind::no_devices_found, "ggml_vulkan: No devices found.")},
      {"vulkan sees nothing in a container", "container_without_gpu",
       plus(change(cpu_log(), [](EngineLog& l) { l.in_container = true; }), Kind::no_devices_found,
            "ggml_vulkan: No devices found.")},
      {"vulkan sees nothing, a card is there", "no_device_found",
       plus(cpu_log(), Kind::no_devices_found, "ggml_vulkan: No devices found."), true},
      {"the driver's own meter does not start",
       "driver_not_working",
       cpu_log(),
       true,
       {},
       {},
       [](MeasuredRun& r) {
         r.raw.telemetry.troubles = {{"the NVIDIA kernel driver is not loaded", "modprobe nvidia"}};
       }},
      {"a broken driver beside a card at work",
       "none",
       full_cuda(),
       true,
       {},
       {},
       [](MeasuredRun& r) {
         r.raw.telemetry.troubles = {{"the NVIDIA kernel driver is not loaded", "modprobe nvidia"}};
       }},
      {"cpu build", "cpu_only_build",
       plus(cpu_log(), Kind::not_compiled_for_gpu, "not compiled with GPU")},
      {"only CPU backends loaded", "cpu_only_build",
       plus(cpu_log(), Kind::backend_loaded, "/x/libggml-cpu-zen4.so", "CPU"), true},
      {"no GPU here",
       "no_gpu_in_machine",
       cpu_log(),
       true,
       {},
       {},
       [](MeasuredRun& r) { r.raw.machine.gpus.clear(); }},
      {"a backend that failed beside one that works", "ngl_too_low",
       plus(built(6000, partial()), Kind::backend_load_failed,
            "failed to load /x/libggml-hip.so: no")},
      {"unsigned", "secure_boot_unsigned_module",
       plus(cpu_log(), Kind::driver_failed,
            "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service")},
      {"mismatch", "driver_mismatch",
       plus(cpu_log(), Kind::driver_failed,
            "Failed to initialize NVML: Driver/library version mismatch")},
      {"wsl", "wsl_driver",
       plus(change(cpu_log(), [](EngineLog& l) { l.platform = "wsl"; }), Kind::driver_failed,
            "unable to load cuda driver library: undefined symbol: cuCtxCreate_v3")},
      {"the same outside of WSL is an old driver", "driver_too_old",
       plus(cpu_log(), Kind::driver_failed,
            "unable to load cuda driver library: undefined symbol: cuCtxCreate_v3")},
      {"a program without its runtime", "backend_library_not_loaded",
       plus(cpu_log(), Kind::engine_error,
            "error while loading shared libraries: libcudart.so.12: cannot open")},
      {"the load order, and a library that fails", "backend_library_not_loaded",
       change(plus(plus(cpu_log(), Kind::no_usable_gpu, "no usable GPU found"),
                   Kind::backend_load_failed,
                   "failed to load /x/libggml-cuda.so: libcudart.so.12: no"),
              [](EngineLog& l) { l.build = 9040; })},
      {"libcuda is missing on AMD's machine", "rocm_init_failed",
       plus(plus(cpu_log(), Kind::driver_library_missing, "libcuda.so.1: cannot open"),
            Kind::backend_init_failed, "failed to initialize ROCm: no ROCm-capable device",
            "ROCm")},
      {"CUDA's backend without libcuda on AMD's machine", "rocm_init_failed",
       plus(plus(cpu_log(), Kind::backend_load_failed,
                 "failed to load /x/libggml-cuda.so: libcuda.so.1: cannot open"),
            Kind::backend_init_failed, "failed to initialize ROCm: no ROCm-capable device",
            "ROCm")},
      {"died on the GPU for want of its kernels, AMD", "gfx_target_unsupported",
       plus(full_cuda(), Kind::gpu_unsupported, "ROCm error: invalid device function")},
      {"a probe that crashed ran into no limit", "none",
       plus(cpu_log(), Kind::driver_failed, "failure during GPU discovery: exit status 0xc0000005",
            "discovery")},
      {"a build with CUDA is none for the CPU", "none",
       change(plus(cpu_log(), Kind::no_usable_gpu, "no usable GPU found"),
              [](EngineLog& l) { l.backends = "CUDA, CPU"; })},
      {"no GPU discovered in a container", "container_without_gpu",
       change(plus(none_of_ollama(), Kind::no_gpu_discovered, "library=cpu"),
              [](EngineLog& l) {
                l.devices.clear();
                l.in_container = true;
              })},
      {"no GPU discovered is no matter of room", "none",
       change(plus(none_of_ollama(), Kind::no_gpu_discovered, "library=cpu"),
              [](EngineLog& l) { l.devices.clear(); })},
      {"a plan for the CPU starts a CPU runner", "vram_too_small",
       change(plus(cpu_log(), Kind::cpu_runner, "runners/cpu_avx2/x"),
              [](EngineLog& l) { l.plan = OffloadPlan{-1, 33, 0, "cuda", 1}; })},
      {"the node may not be opened, so a renderer was taken", "device_permission",
       plus(llvmpipe("Vulkan0"), Kind::device_permission, "/dev/dri/renderD128: Permission denied",
            "/dev/dri")},
      {"died on the GPU for want of kernels", "gpu_too_old",
       plus(full_cuda(), Kind::gpu_unsupported,
            "CUDA error: no kernel image is available for execution on the device")},
      {"integrated at work, a card beside it", "wrong_device_igpu", on_integrated()},
      {"integrated at work, alone", "none",
       change(full_cuda(), [](EngineLog& l) { l.devices[0].integrated = true; })},
      {"a link that is broken between card and engine",
       "device_permission",
       cpu_log(),
       true,
       {},
       {},
       [](MeasuredRun& r) {
         r.raw.machine.broken_links = {
             {"device_permission", "/dev/kfd may not be opened", "log in"}};
       }},
      {"our permissions are not a server's",
       "cpu_only_build",
       plus(cpu_log(), Kind::not_compiled_for_gpu, "not compiled with GPU"),
       true,
       {},
       {},
       [](MeasuredRun& r) {
         r.raw.server.emplace();
         r.raw.machine.broken_links = {
             {"device_permission", "/dev/kfd may not be opened", "log in"}};
       }},
      {"a broken link beside a card at work",
       "none",
       full_cuda(),
       true,
       {},
       {},
       [](MeasuredRun& r) {
         r.raw.machine.broken_links = {{"driver_not_loaded", "no driver", "modprobe"}};
       }},
      {"the distribution's program without its backend",
       "package_without_backend",
       cpu_log(),
       true,
       {},
       {},
       [](MeasuredRun& r) {
         r.raw.machine.distribution = "debian";
         r.raw.engine.path = "/usr/bin/llama-completion";
         r.raw.passes[0].process = process_facts({"libggml-base.so", "libggml-cpu-zen4.so"});
       }},
      {"a system line that names the CPU alone", "cpu_only_build",
       change(cpu_log(), [](EngineLog& l) { l.backends = "CPU"; }), true},
      {"in a container the warning can mean no device", "none",
       change(plus(cpu_log(), Kind::no_usable_gpu, "no usable GPU found"),
              [](EngineLog& l) { l.in_container = true; })},
  };
}

std::vector<Case> memory_cases() {
  const auto fit = [](int layers, int overflow) {
    FitFacts facts;
    facts.rows = {{"CUDA0", layers, overflow, 0, 0}};
    facts.reduce_by_mib = 4926;
    return facts;
  };
  return {
      {"overflow", "fit_overflow_to_host",
       change(full_cuda(), [&](EngineLog& l) { l.fit = fit(41, 5); })},
      {"expert lines", "moe_experts_on_cpu",
       change(experts_on_host(),
              [](EngineLog& l) {
                l.loads.back().overrides = {{"blk.1.ffn_up_exps.weight", "CPU", 1}};
              })},
      {"other lines", "tensor_override_to_host",
       change(experts_on_host(),
              [](EngineLog& l) {
                l.loads.back().overrides = {{"blk.1.ffn_up.weight", "CUDA_Host", 1}};
              })},
      {"few layers, and nothing tells who chose them", "none", partial()},
      {"one layer", "ngl_too_low",
       log_of({weights("CPU", 4500), weights("CUDA0", 140), kv("CUDA0", 9)}, 1, 33)},
      {"LocalAI's YAML", "ngl_too_low",
       change(partial(), [](EngineLog& l) { l.engine = "LocalAI"; })},
      {"fit", "vram_too_small", change(partial(), [&](EngineLog& l) { l.fit = fit(22, 0); })},
      {"the engine chooses", "vram_too_small", none_of_ollama()},
      {"the card is full", "vram_too_small",
       change(partial(30),
              [](EngineLog& l) {
                l.devices.push_back(device("CUDA0", "a card"));
                l.devices.back().free_bytes = mib(3300);
              })},
      {"the card is half empty", "ngl_too_low",
       change(partial(30),
              [](EngineLog& l) {
                l.devices.push_back(device("CUDA0", "a card"));
                l.devices.back().free_bytes = mib(9000);
              })},
      {"no room, says the plan", "vram_too_small",
       plus(cpu_log(), Kind::allocation_failed, "insufficient VRAM to load any model layers",
            "plan")},
      {"none selected", "device_none",
       change(cpu_with_card(), [](EngineLog& l) { l.loads.back().claim = LayerClaim{41, 41, 1}; })},
      {"nobody asked", "ngl_not_set", cpu_with_card()},
      {"cache lines", "kv_cache_on_host", cache_on_host()},
      {"attention", "flash_attn_unsupported_kv_type", odd_kv()},
      {"attention switched off", "flash_attn_auto_off",
       plus(full_cuda(), Kind::flash_attention_off, "Flash Attention was auto, set to disabled")},
      {"common types bounce for another reason", "none",
       change(odd_kv(),
              [](EngineLog& l) { l.loads.back().kv_type_k = l.loads.back().kv_type_v = "f16"; })},
      {"kept on the host", "moe_experts_on_cpu", experts_on_host()},
      {"tied head",
       "output_head_on_host",
       tied_head_on_host(),
       true,
       {},
       {},
       [](MeasuredRun& r) {
         r.raw.model = header(true);
         r.placement = placement_of(r.passes[0].log, &*r.raw.model);
       }},
      {"a dense model has no experts to blame",
       "none",
       log_of({weights("CPU_Mapped", 450), weights("CUDA0", 460), kv("CUDA0", 9)}, 9, 9),
       true,
       {},
       {},
       [](MeasuredRun& r) {
         r.raw.model = header();
         r.placement = placement_of(r.passes[0].log, &*r.raw.model);
       }},
      {"no kernels for the type", "backend_type_unsupported",
       log_of({weights("CPU", 15622), weights("CANN0", 1.18), kv("CANN0", 1152)}, 37, 37)},
      {"draft", "draft_model_on_cpu", with_side_model(LoadRole::draft)},
      {"projector", "mmproj_on_cpu", with_side_model(LoadRole::projector)},
      {"overbooked", "vram_overcommit",
       change(full_cuda(), [](EngineLog& l) { l.devices[0].free_bytes = mib(8192); })},
      {"overbooked row", "vram_overcommit",
       change(full_cuda(),
              [](EngineLog& l) {
                MemoryRow row;
                row.name = "CUDA0";
                row.free_mib = -831;
                l.loads.back().breakdown = {row};
              })},
      {"rows split over two cards", "none",
       change(
           log_of({weights("CPU", 417), weights("CUDA0_Split", 18503), kv("CUDA0", 2048)}, 65, 65),
           [](EngineLog& l) {
             l.loads.back().buffers[1].device = "CUDA0";
             for (const char* name : {"CUDA0", "CUDA1"}) {
               l.devices.push_back(device(name, "Quadro"));
               l.devices.back().free_bytes = mib(15902);
             }
           })},
      {"silence", "log_lacks_evidence", EngineLog{}},
      {"remote", "log_lacks_evidence", log_of({weights("RPC0", 2700)}, 29, 29)},
      {"remote beside a card of this machine", "none",
       log_of({weights("CUDA0", 1008), weights("RPC0", 965)}, 23, 23)},
      {"full", "none", full_cuda()},
  };
}

std::optional<Cause> strongest(const std::vector<Cause>& causes) {
  return causes.empty() ? std::nullopt : std::optional(causes.front());
}

std::optional<Cause> cause_of(const Case& c, std::size_t* row = nullptr) {
  RawRun raw = raw_run(1);
  raw.user_args = c.args;
  raw.environment = c.environment;
  MeasuredRun run = assemble(raw, {c.log});
  if (c.change) c.change(run);
  const MeasuredRun* given = c.measured ? &run : nullptr;
  const CauseEvidence evidence = cause_evidence(c.log, run.placement, given);
  for (std::size_t i = 0; row != nullptr && i < cause_rows().size(); ++i) {
    if (!look(cause_rows()[i], evidence)) continue;
    *row = i;
    break;
  }
  return strongest(find_causes(c.log, run.placement, given));
}

MeasuredRun& with_card(MeasuredRun& run) {
  MeteredGpu gpu;
  gpu.name = "NVIDIA GeForce RTX 4070";
  gpu.link_max = PcieLink{4, 16};
  run.raw.telemetry.gpus = {gpu};
  GpuUse use;
  use.in_use = true;
  run.gpu_use = {use};
  return run;
}

void at_work_on(MeasuredRun& run, PcieLink link) {
  with_card(run);
  GpuReading idle;
  idle.link = PcieLink{1, 1};
  GpuReading busy;
  busy.link = link;
  run.raw.telemetry.samples = {{Micros(0), {idle}}, {Micros(1'000'000), {busy}}};
}

std::vector<Case> speed_cases() {
  using Run = MeasuredRun;
  const auto plain = [](std::function<void(Run&)> change) { return change; };
  return {
      {"heat",
       "gpu_throttled",
       full_cuda(),
       true,
       {},
       {},
       [](Run& r) { with_card(r).gpu_use[0].throttled_share = 0.4; }},
      {"a moment of heat",
       "none",
       full_cuda(),
       true,
       {},
       {},
       [](Run& r) { with_card(r).gpu_use[0].throttled_share = 0.2; }},
      {"power",
       "power_limited",
       full_cuda(),
       true,
       {},
       {},
       [](Run& r) { with_card(r).gpu_use[0].power_capped_share = 0.95; }},
      {"memory pushed out",
       "vram_overcommit",
       full_cuda(),
       true,
       {},
       {},
       [](Run& r) { with_card(r).gpu_use[0].tree_evicted = mib(900); }},
      {"narrow link beside experts on the host",
       "pcie_link_low",
       partial(),
       true,
       {},
       {},
       [](Run& r) { at_work_on(r, {4, 4}); }},
      {"a link that only sleeps",
       "none",
       partial(),
       true,
       {},
       {},
       [](Run& r) { at_work_on(r, {4, 16}); }},
      {"a narrow link that nothing crosses",
       "none",
       full_cuda(),
       true,
       {},
       {},
       [](Run& r) { at_work_on(r, {4, 4}); }},
      {"more weights than RAM", "model_larger_than_ram", partial(), true, {}, {}, plain([](Run& r) {
         r.raw.machine.ram_bytes = mib(1024);
       })},
      {"one module", "ram_single_channel", partial(), true, {}, {}, plain([](Run& r) {
         r.raw.machine.memory_modules = MemoryModules{4, 1};
       })},
      {"one module in the only slot", "none", partial(), true, {}, {}, plain([](Run& r) {
         r.raw.machine.memory_modules = MemoryModules{1, 1};
       })},
      {"one module, and nothing on the host", "none", full_cuda(), true, {}, {}, plain([](Run& r) {
         r.raw.machine.memory_modules = MemoryModules{4, 1};
       })},
      {"threads",
       "too_many_threads",
       change(partial(), [](EngineLog& l) { l.threads = 64; }),
       true,
       {},
       {},
       plain([](Run& r) { r.raw.machine.logical_cores = 8; })},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> out = settings_cases();
  for (const auto& more : {engine_cases(), memory_cases(), speed_cases()})
    out.insert(out.end(), more.begin(), more.end());
  return out;
}

TEST(Causes, EachNeedsItsEvidenceAndEveryRowIsReached) {
  std::set<std::size_t> reached;
  for (const Case& c : all_cases()) {
    std::size_t row = cause_rows().size();
    const std::optional<Cause> cause = cause_of(c, &row);
    EXPECT_EQ(cause ? cause->id : "none", c.id) << c.name;
    if (!cause) continue;
    EXPECT_TRUE(cause_rows()[row].id.empty() || cause->id == cause_rows()[row].id)
        << c.name << ": the row and its cause have two names";
    reached.insert(row);
  }
  // These stand behind another cause of the same run: the test of further causes reaches them.
  const std::set<std::string_view> behind = {"vram_taken_by_others", "context_too_large",
                                             "retry_after_oom"};
  for (std::size_t i = 0; i < cause_rows().size(); ++i) {
    EXPECT_TRUE(reached.contains(i) || behind.contains(cause_rows()[i].id))
        << "no case reaches row " << i << ", " << cause_rows()[i].id;
  }
}

struct Further {
  const char* name;
  EngineLog log;
  std::vector<std::string> ids;
};

std::vector<std::string> ids_of(const std::vector<Cause>& causes) {
  std::vector<std::string> out;
  out.reserve(causes.size());
  for (const Cause& cause : causes) out.push_back(cause.id);
  return out;
}

TEST(Causes, AllWithEvidenceAreToldAndOneOfATopic) {
  const std::vector<Further> cases = {
      {"a context that takes the room",
       long_context(32768),
       {"vram_too_small", "context_too_large"}},
      {"a modest context", long_context(4096), {"vram_too_small"}},
      {"a context whose cache is small",
       change(long_context(32768),
              [](EngineLog& l) { l.loads.back().buffers.back().bytes = mib(100); }),
       {"vram_too_small"}},
      {"others hold the memory", crowded_card(3200), {"vram_too_small", "vram_taken_by_others"}},
      {"a screen holds some", crowded_card(7400), {"vram_too_small"}},
      {"a second try", second_try(), {"vram_too_small", "retry_after_oom"}},
      {"a mask and a build without a GPU",
       plus(plus(cpu_log(), Kind::device_masked, "x", "CUDA_VISIBLE_DEVICES"),
            Kind::not_compiled_for_gpu, "not compiled with GPU"),
       {"visible_devices_mask"}},
      {"zero layers and a failed backend",
       plus(change(none_of_ollama(),
                   [](EngineLog& l) { l.plan = OffloadPlan{0, 33, 0, "cuda", 1}; }),
            Kind::device_permission, "x", "/dev/kfd"),
       {"num_gpu_0", "device_permission"}},
  };
  std::set<std::string> reached;
  for (const Further& c : cases) {
    const MeasuredRun run = assemble(raw_run(1), {c.log});
    const std::vector<Cause> causes = find_causes(c.log, run.placement, nullptr);
    EXPECT_EQ(ids_of(causes), c.ids) << c.name;
    for (const Cause& cause : causes) reached.insert(cause.id);
  }
  for (const char* id : {"vram_taken_by_others", "context_too_large", "retry_after_oom"}) {
    EXPECT_TRUE(reached.contains(id)) << id;
  }
}

TEST(Causes, ComeWithTheirProofAndTheirEntry) {
  for (const Case& c : all_cases()) {
    const std::optional<Cause> cause = cause_of(c);
    if (!cause) continue;
    EXPECT_FALSE(cause->proof.empty()) << c.name;
    const CauseEntry* entry = find_cause_entry(cause->id);
    ASSERT_NE(entry, nullptr) << cause->id;
    EXPECT_EQ(cause->sentence, entry->sentence);
    EXPECT_EQ(cause->fix.empty(), entry->remedies.empty()) << c.name;
  }
}

TEST(Causes, OfAnUnknownOneTheSuspectsAreNamed) {
  const auto suspects = [](const EngineLog& log) {
    const MeasuredRun run = assemble(raw_run(1), {log});
    return suspicion(log, run.placement, nullptr);
  };
  EXPECT_NE(suspects(partial()).find("too few layers"), std::string::npos);
  EXPECT_NE(suspects(plus(cpu_log(), Kind::no_usable_gpu, "x")).find("backend"), std::string::npos);
  EXPECT_NE(suspects(log_of({weights("CUDA0", 9), weights("RPC0", 9)}, 2, 2)).find("remote"),
            std::string::npos);
  EXPECT_EQ(suspects(cpu_log()), "");
}

TEST(Causes, FitTheBlock) {
  for (const Case& c : all_cases()) {
    const std::optional<Cause> cause = cause_of(c);
    if (!cause) continue;
    EXPECT_LE(cause->why.size() + 5, 66u) << cause->why;
    EXPECT_LE(cause->fix.size() + 5, 66u) << cause->fix;
    EXPECT_NE(cause->fix.size() + 5, 66u) << "cut: " << cause->fix;
    EXPECT_FALSE(cause->why.empty());
  }
}

TEST(Causes, TextFromOutsideIsMadePlain) {
  RawRun raw = raw_run(1);
  raw.user_args = {"-ot", "a\x1b[31m\n=CPU"};
  const MeasuredRun run = assemble(raw, {experts_on_host()});
  const std::vector<Cause> found = find_causes(run.passes[0].log, run.placement, &run);
  ASSERT_FALSE(found.empty());
  for (char c : found[0].why + found[0].fix + found[0].proof) EXPECT_TRUE(c >= ' ' && c <= '~');
}

}  // namespace
}  // namespace picchio
