#include "verdict/causes/catalogue.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace picchio {
namespace {

// The remedies, a table for each cause that has any. Rows with conditions stand before those
// without.

constexpr Remedy kAskForAll[] = {
    {"remove num_gpu, or set it to 99", "ollama"},
    {"--gpulayers 99", "koboldcpp"},
    {"gpu_layers: 99 in the model's YAML", "LocalAI"},
    {"-ngl 99", "llamafile"},
    {"ask for all layers: -ngl 99 (Python: n_gpu_layers=-1)"},
};
constexpr Remedy kDropZero[] = {
    {"remove num_gpu 0 from the model's or the request's options", "ollama"},
    {"--gpulayers 99", "koboldcpp"},
    {"drop -ngl 0, or unset LLAMA_ARG_N_GPU_LAYERS"},
};
constexpr Remedy kNumGpu[] = {
    {"remove num_gpu 0 from the model's or the request's options"},
};
constexpr Remedy kDropDeviceNone[] = {
    {"drop --usecpu", "koboldcpp"},
    {"drop --device none or unset LLAMA_ARG_DEVICE"},
};
constexpr Remedy kUnhide[] = {
    {"unset the variable in the service: systemctl edit ollama", "ollama", "linux"},
    {"unset the variable and start the engine again"},
};
constexpr Remedy kUnsetLibrary[] = {
    {"unset OLLAMA_LLM_LIBRARY"},
};
constexpr Remedy kGuard[] = {
    {"switch the strict VRAM cap off, or lower the context", "LM Studio"},
    {"raise the front end's own limit of GPU layers or memory"},
};
constexpr Remedy kFlagIgnored[] = {
    {"update the engine; this program of it ignores the flag"},
};
constexpr Remedy kGpuBuild[] = {
    {"pip install it again with CMAKE_ARGS=-DGGML_CUDA=on", "llama-cpp-python", "", "NVIDIA"},
    {"pip install it again with CMAKE_ARGS=-DGGML_VULKAN=on", "llama-cpp-python"},
    {"brew install llama.cpp, or a release for this Mac", "", "macos"},
    {"a release of llama.cpp for CUDA, or cmake -DGGML_CUDA=ON", "", "", "NVIDIA"},
    {"a release for Vulkan or ROCm, or cmake -DGGML_VULKAN=ON", "", "", "AMD"},
    {"a release for Vulkan or SYCL, or cmake -DGGML_VULKAN=ON", "", "", "Intel"},
    {"a release or build with a GPU backend"},
};
constexpr Remedy kBackendPackage[] = {
    {"apt install libggml0-backend-vulkan", "", "debian"},
    {"install the package of the engine's GPU backend"},
};
constexpr Remedy kUpdateB9050[] = {
    {"update llama.cpp to b9050 or later"},
};
constexpr Remedy kReinstall[] = {
    {"install the CUDA or ROCm SDK; --gpu nvidia prints the error", "llamafile"},
    {"install ollama again, whole: bin and lib/ollama together", "ollama"},
    {"unpack the cudart archive beside the program", "", "windows", "NVIDIA"},
    {"put the missing library beside the engine, or reinstall"},
};
constexpr Remedy kDriverLibrary[] = {
    {"start the container with --gpus all", "", "container"},
    {"wsl --update, and the NVIDIA driver on the Windows side", "", "wsl"},
    {"install the driver's user-space part; container: --gpus all"},
};
constexpr Remedy kDriverWorking[] = {
    {"check that the driver works: nvidia-smi", "", "", "NVIDIA"},
    {"check that the driver works: rocminfo", "", "", "AMD"},
    {"check that the driver works: nvidia-smi or rocminfo"},
};
constexpr Remedy kRocmWorking[] = {
    {"check rocminfo as this user: groups render, video"},
};
constexpr Remedy kReloadUvm[] = {
    {"sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm"},
};
constexpr Remedy kContainerLost[] = {
    {"native.cgroupdriver=cgroupfs in daemon.json, or use CDI"},
};
constexpr Remedy kPassIn[] = {
    {"start it with --gpus all (nvidia-container-toolkit)", "", "", "NVIDIA"},
    {"start it with --device /dev/kfd --device /dev/dri", "", "", "AMD"},
    {"start it with --device /dev/dri", "", "", "Intel"},
    {"pass the GPU in: --gpus all, or --device /dev/dri"},
};
constexpr Remedy kCgroup[] = {
    {"name the node: --device /dev/dri, /dev/kfd or /dev/nvidia0"},
};
constexpr Remedy kSandbox[] = {
    {"connect the GPU interface: snap connections ollama", "ollama", "snap"},
    {"flatpak override --user --device=dri APP", "", "flatpak"},
    {"take the engine's plain package instead of the sandboxed one"},
};
constexpr Remedy kWsl[] = {
    {"remove the Linux NVIDIA driver; keep only Windows' own"},
};
constexpr Remedy kGroups[] = {
    {"--group-add with the number of the node's group", "", "container"},
    {"sudo usermod -aG render,video ollama; restart the service", "ollama", "linux"},
    {"sudo usermod -aG render,video $USER, then log in again"},
};
constexpr Remedy kUpdateDriver[] = {
    {"update the GPU driver, then reboot"},
};
constexpr Remedy kOlderBuild[] = {
    {"OLLAMA_LLM_LIBRARY=cuda_v12 (compute 5, 6) or OLLAMA_VULKAN=1", "ollama"},
    {"a build for older GPUs (CUDA 12 or before), or Vulkan"},
};
constexpr Remedy kGfx[] = {
    {"use the Vulkan backend: OLLAMA_VULKAN=1", "ollama"},
    {"use the Vulkan backend"},
};
constexpr Remedy kHostCpu[] = {
    {"ollama 0.5.8 or later, or the host's CPU type for the VM", "ollama"},
    {"give the virtual machine the host's CPU type"},
};
constexpr Remedy kDiscovery[] = {
    {"run nvidia-persistenced, so that CUDA starts quickly", "", "", "NVIDIA"},
    {"update the GPU's kernel driver and reboot"},
};
constexpr Remedy kDriverNotLoaded[] = {
    {"sudo modprobe nvidia; no module? install the driver again", "", "", "NVIDIA"},
    {"sudo modprobe amdgpu", "", "", "AMD"},
    {"load the card's kernel driver with modprobe"},
};
constexpr Remedy kNouveau[] = {
    {"install NVIDIA's own driver and blacklist nouveau"},
};
constexpr Remedy kSecureBoot[] = {
    {"enroll the module's key: sudo mokutil --import KEY, reboot"},
};
constexpr Remedy kMismatch[] = {
    {"the same driver version inside the container as outside", "", "container"},
    {"reboot, so that the updated driver is loaded"},
};
constexpr Remedy kNodes[] = {
    {"start the container with the GPU's device nodes", "", "container"},
    {"sudo nvidia-modprobe -u -c=0", "", "", "NVIDIA"},
    {"in a container pass them in; else sudo udevadm trigger"},
};
constexpr Remedy kVulkanDriver[] = {
    {"pass the card in: --device /dev/dri", "", "container"},
    {"the GPU's own Vulkan driver, and access to /dev/dri/renderD*"},
};
constexpr Remedy kNoDevice[] = {
    {"install the driver that this backend needs"},
};
constexpr Remedy kSycl[] = {
    {"set ONEAPI_DEVICE_SELECTOR=level_zero:0"},
};
constexpr Remedy kIgpu[] = {
    {"set OLLAMA_IGPU_ENABLE=1", "ollama"},
    {"choose the card: --device, or GGML_VK_VISIBLE_DEVICES=N"},
};
constexpr Remedy kRpcWorker[] = {
    {"start the worker with a GPU backend"},
};
constexpr Remedy kSmaller[] = {
    {"a smaller context or quantization, OLLAMA_NUM_PARALLEL=1", "ollama"},
    {"a smaller quantization or context, or -ctk q8_0 -ctv q8_0", "llama.cpp"},
    {"use a smaller context or a smaller quantization"},
};
constexpr Remedy kFreeMemory[] = {
    {"unload other models (ollama stop NAME), close GPU programs", "ollama"},
    {"close what holds the GPU's memory, then start again"},
};
constexpr Remedy kShorterContext[] = {
    {"OLLAMA_CONTEXT_LENGTH=4096, or num_ctx 4096", "ollama"},
    {"a smaller context, such as -c 4096, or -ctk q8_0 -ctv q8_0"},
};
constexpr Remedy kRetry[] = {
    {"a smaller context or quantization, so that all fits at once"},
};
constexpr Remedy kFewerExperts[] = {
    {"fewer CPU expert layers in the model's load settings", "LM Studio"},
    {"a smaller --n-cpu-moe, if the memory allows it"},
};
constexpr Remedy kNoOverride[] = {
    {"drop the tensor override (-ot)"},
};
constexpr Remedy kKvOffload[] = {
    {"switch Low VRAM off", "koboldcpp"},
    {"switch on Offload KV Cache to GPU Memory", "LM Studio"},
    {"drop -nkvo, or unset LLAMA_ARG_KV_OFFLOAD"},
};
constexpr Remedy kKvTypes[] = {
    {"OLLAMA_KV_CACHE_TYPE=q8_0 or f16", "ollama"},
    {"-ctk q8_0 -ctv q8_0, or f16 for both"},
};
constexpr Remedy kHead[] = {
    {"another backend, or a quantization with a smaller head"},
};
constexpr Remedy kOtherType[] = {
    {"take F16, Q8_0 or Q4_0 weights, or another backend"},
};
constexpr Remedy kDraft[] = {
    {"ask for its layers: -ngld 99"},
};
constexpr Remedy kProjector[] = {
    {"drop --no-mmproj-offload, or leave it more GPU memory"},
};
constexpr Remedy kOvercommit[] = {
    {"unset GGML_CUDA_ENABLE_UNIFIED_MEMORY, or a smaller context", "", "linux", "NVIDIA"},
    {"driver's setting: Prefer No Sysmem Fallback; fewer layers", "", "windows", "NVIDIA"},
    {"use a smaller context or a smaller quantization"},
};
constexpr Remedy kCooler[] = {
    {"clean fans and filters; more air, or a lower power limit"},
};
constexpr Remedy kPower[] = {
    {"raise it: sudo nvidia-smi -pl WATTS, mains power on laptops", "", "", "NVIDIA"},
    {"mains power and the platform's performance profile"},
};
constexpr Remedy kLink[] = {
    {"reseat the card, another slot, or no riser; check the BIOS"},
};
constexpr Remedy kModules[] = {
    {"put a second memory module into the other channel's slot"},
};
constexpr Remedy kRam[] = {
    {"a smaller quantization, or a machine with more RAM"},
};
constexpr Remedy kThreads[] = {
    {"as many threads as physical cores: -t N"},
};
constexpr Remedy kVerbosity[] = {
    {"restart the service with OLLAMA_DEBUG=1", "ollama"},
    {"run again with -lv 4"},
};

constexpr CauseEntry kSettings[] = {
    {"device_none", Effect::cpu, "No device may be used: the engine was told so.",
     "`--device none` or `LLAMA_ARG_DEVICE=none`; in a log: layers claimed, a GPU listed and none "
     "selected",
     kDropDeviceNone, ""},
    {"ngl_0", Effect::cpu, "Zero layers were asked for.",
     "`-ngl 0` in any spelling, `LLAMA_ARG_N_GPU_LAYERS=0`, or the log's own command line or plan",
     kDropZero, "https://github.com/ggml-org/llama.cpp/issues/12787"},
    {"num_gpu_0", Effect::cpu, "The model's or the request's options ask for zero layers.",
     "ollama's `layers.requested=0`, `requested=0`, or `-ngl 0` in its start of llama-server: "
     "`PARAMETER num_gpu 0` in a Modelfile, `options.num_gpu` in a request",
     kNumGpu, "https://github.com/ollama/ollama/issues/1917"},
    {"ngl_not_set", Effect::cpu, "No layers were asked for, by an engine whose default is none.",
     "0 of N layers, a GPU at hand, nothing asked, and a build from before the automatic fit "
     "(December 2025), llama-cpp-python or koboldcpp",
     kAskForAll, "https://github.com/ggml-org/llama.cpp/issues/8164"},
    {"ngl_too_low", Effect::partial, "Fewer layers were asked for than the model has.",
     "a flag, variable or request with a number below the layers; in a log alone: n of N, and more "
     "than another layer's room left on the device",
     kAskForAll, "https://github.com/mudler/LocalAI/issues/1981"},
    {"engine_bug_ngl_ignored", Effect::cpu, "Layers were asked for, and the program ignored it.",
     "the log's command asks for layers, 0 of N were offloaded, a GPU is listed, and no fit or "
     "plan "
     "took them away",
     kFlagIgnored, "https://github.com/ggml-org/llama.cpp/issues/3616"},
    {"visible_devices_mask", Effect::cpu, "A variable hides the card from the engine.",
     "`CUDA_VISIBLE_DEVICES`, `HIP_VISIBLE_DEVICES`, `ROCR_VISIBLE_DEVICES`, `GPU_DEVICE_ORDINAL`, "
     "`GGML_VK_VISIBLE_DEVICES`, `ONEAPI_DEVICE_SELECTOR` or `ZE_AFFINITY_MASK` with a value that "
     "hides, or the log that names it",
     kUnhide, "https://github.com/ollama/ollama/issues/15752"},
    {"llm_library_override", Effect::cpu,
     "A variable picks a library without a GPU, or one that is not there.",
     "`OLLAMA_LLM_LIBRARY` with a cpu library, or ollama's word that what it names is not there",
     kUnsetLibrary, "https://github.com/ollama/ollama/issues/8425"},
    {"front_end_memory_guard", Effect::partial, "A front end's own limit chose the layers.",
     "the front end's words: `Strict GPU VRAM cap is ON`, `Num Offload Layers`", kGuard,
     "https://github.com/lmstudio-ai/lms/issues/412"},
    {"moe_experts_on_cpu", Effect::partial, "Experts are kept in host memory, often on purpose.",
     "`--cpu-moe`, `--n-cpu-moe`, an override that names experts, the log's override lines; else "
     "all layers claimed and tensors inside them on the host",
     kFewerExperts, "https://github.com/ggml-org/llama.cpp/issues/11397"},
    {"tensor_override_to_host", Effect::partial, "Tensors were sent to host memory by name.",
     "`-ot` or `LLAMA_ARG_OVERRIDE_TENSOR` with a host buffer, or the log's override lines",
     kNoOverride, "https://github.com/ggml-org/llama.cpp/issues/11397"},
    {"kv_cache_on_host", Effect::partial, "The KV cache is kept in host memory.",
     "`-nkvo`, koboldcpp's Low VRAM, or the cache's buffer line", kKvOffload,
     "https://github.com/LostRuins/koboldcpp/issues/1225"},
};

constexpr CauseEntry kBuilds[] = {
    {"cpu_only_build", Effect::cpu, "The engine has no GPU backend.",
     "the log says so; or only CPU backends were loaded or mapped and the machine has a GPU; or "
     "the log's system line names only the CPU",
     kGpuBuild, "https://github.com/abetlen/llama-cpp-python/issues/1315"},
    {"package_without_backend", Effect::cpu,
     "The distribution packages the GPU backend by itself, and that package is missing.",
     "a program below /usr/bin, only CPU backends mapped from the system's folder of backends, and "
     "a GPU in the machine",
     kBackendPackage, "https://packages.debian.org/sid/llama.cpp"},
    {"engine_bug_backend_load_order", Effect::cpu,
     "These builds of llama.cpp look for GPUs before they load their backends.",
     "build 9031 to 9049 and the warning that this bug causes", kUpdateB9050,
     "https://github.com/ggml-org/llama.cpp/issues/22748"},
    {"backend_library_not_loaded", Effect::cpu,
     "The GPU backend's library is missing or does not load.",
     "the loader's own line (libcudart, librocblas, a missing symbol), no kernels in the library's "
     "list, or a CPU runner started under a GPU plan",
     kReinstall, "https://github.com/ollama/ollama/issues/11628"},
    {"gpu_too_old", Effect::cpu, "The build has no kernels for a GPU of that age.",
     "`GPU is too old`, `compute capability not in`, `no kernel image is available`", kOlderBuild,
     "https://github.com/ollama/ollama/issues/1756"},
    {"gfx_target_unsupported", Effect::cpu, "ROCm's libraries have no kernels for this AMD GPU.",
     "`amdgpu is not supported` with a list of others, or a missing TensileLibrary", kGfx,
     "https://github.com/ollama/ollama/issues/8772"},
    {"cpu_without_avx", Effect::cpu, "The engine wants AVX from the CPU before it uses a GPU.",
     "ollama 0.1.25 to 0.5.1 says so", kHostCpu, "https://github.com/ollama/ollama/issues/8399"},
    {"flash_attn_unsupported_kv_type", Effect::partial,
     "There is no GPU kernel for attention on this KV cache type, so it runs on the CPU.",
     "flash attention on, K and V of types that default builds have no kernel for, and graph "
     "splits "
     "at every layer",
     kKvTypes, "https://github.com/ggml-org/llama.cpp/issues/28455"},
    {"flash_attn_auto_off",
     Effect::none,
     "The backend lacks flash attention, so plain attention is used, on the GPU.",
     "`Flash Attention was auto, set to disabled`, and all bytes on the GPU",
     {},
     "https://github.com/ggml-org/llama.cpp/issues/15696"},
    {"backend_type_unsupported", Effect::partial,
     "The backend has no kernels for weights of this type, so they stay in host memory.",
     "all layers claimed, few bytes on the device, and no flag or fit that explains it", kOtherType,
     "https://github.com/ggml-org/llama.cpp/issues/18797"},
    {"output_head_on_host", Effect::partial, "The output head stayed in host memory.",
     "all layers are on the device; what is missing is the size of the embedding, which the head "
     "shares",
     kHead, "https://github.com/ggml-org/llama.cpp/issues/12352"},
};

constexpr CauseEntry kDrivers[] = {
    {"no_gpu_in_machine",
     Effect::cpu,
     "The machine has no GPU.",
     "every place to look was readable and shows none",
     {},
     ""},
    {"driver_not_loaded", Effect::cpu, "The card's kernel driver is not loaded.",
     "a card on the bus that no driver is bound to", kDriverNotLoaded,
     "https://wiki.debian.org/NvidiaGraphicsDrivers"},
    {"nouveau_bound", Effect::cpu,
     "The free nouveau driver holds the card; CUDA needs NVIDIA's own.",
     "an NVIDIA card whose kernel driver is nouveau", kNouveau,
     "https://wiki.debian.org/NvidiaGraphicsDrivers"},
    {"secure_boot_unsigned_module", Effect::cpu,
     "Secure Boot is on, and the driver's module was refused for want of a key.",
     "Secure Boot on, the module built for this kernel, and not loaded", kSecureBoot,
     "https://wiki.debian.org/SecureBoot"},
    {"driver_mismatch", Effect::cpu,
     "The driver in the kernel and its library are of different versions, as after an update.",
     "NVML's error 18, `Driver/library version mismatch`, or the two versions themselves",
     kMismatch, "https://github.com/ggml-org/llama.cpp/issues/17542"},
    {"driver_not_working", Effect::cpu, "The driver of a GPU that is there does not work.",
     "its own meter does not start, with the reason that the driver gives", kDriverWorking, ""},
    {"driver_too_old", Effect::cpu, "The GPU driver is older than the engine needs.",
     "the engine says so", kUpdateDriver, "https://github.com/ollama/ollama/issues/7666"},
    {"driver_library_missing", Effect::cpu, "The driver's user-space library is not there.",
     "`libcuda.so.1` or `nvcuda.dll` cannot be opened", kDriverLibrary,
     "https://github.com/ollama/ollama/issues/16985"},
    {"device_node_missing", Effect::cpu, "The card has no device node to open.",
     "a bound driver and no /dev/nvidia*, /dev/dri/renderD* or /dev/kfd", kNodes,
     "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"},
    {"device_permission", Effect::cpu, "This user may not open the card's device node.",
     "permission denied on `/dev/kfd`, `/dev/dri` or `/dev/nvmap`", kGroups,
     "https://github.com/ollama/ollama/issues/6736"},
    {"cuda_init_failed", Effect::cpu, "CUDA (or MUSA) was loaded and did not start.",
     "the backend's own line; the remedy follows from the error that it names", kDriverWorking,
     "https://github.com/ggml-org/llama.cpp/issues/6184"},
    {"rocm_init_failed", Effect::cpu, "ROCm was loaded and did not start.",
     "the backend's own line; the remedy follows from the error that it names", kRocmWorking,
     "https://github.com/ollama/ollama/issues/10421"},
    {"suspend_resume_lost_cuda", Effect::cpu, "The driver lost the card when the machine slept.",
     "CUDA error 999", kReloadUvm, "https://github.com/ollama/ollama/issues/6647"},
    {"discovery_timeout", Effect::cpu, "The search for GPUs ran into its time limit.",
     "ollama says so", kDiscovery, "https://github.com/ollama/ollama/issues/13308"},
    {"no_device_found", Effect::cpu, "The backend was loaded and finds no device.",
     "`No devices found`, and nothing that says that the machine has none", kNoDevice, ""},
};

constexpr CauseEntry kPlaces[] = {
    {"container_without_gpu", Effect::cpu, "No GPU was passed into the container.",
     "discovery that finds no library or device, in a container or with words that say so", kPassIn,
     "https://github.com/ollama/ollama/issues/8302"},
    {"container_lost_gpu", Effect::cpu, "The container lost its GPU while it ran.",
     "the device context fails with error 800", kContainerLost,
     "https://github.com/ollama/ollama/issues/6928"},
    {"cgroup_device_refused", Effect::cpu, "The container's device list refuses the node.",
     "a node that its mode allows to open, refused with `Operation not permitted`", kCgroup,
     "https://github.com/ollama/ollama/issues/17069"},
    {"sandbox_hides_gpu", Effect::cpu, "A snap or flatpak sandbox hides the GPU.",
     "the engine runs in one, and no device or driver can be opened there", kSandbox,
     "https://github.com/ollama/ollama/issues/12829"},
    {"wsl_driver", Effect::cpu, "A Linux driver's libcuda hides the one that WSL brings.",
     "in WSL, a libcuda found before /usr/lib/wsl/lib, or its missing symbol in the log", kWsl,
     "https://github.com/ollama/ollama/issues/5988"},
    {"software_vulkan_device", Effect::cpu, "The device is a renderer on the CPU.",
     "llvmpipe, lavapipe, SwiftShader or a device of type CPU holds the weights", kVulkanDriver,
     "https://github.com/ggml-org/llama.cpp/issues/14099"},
    {"software_sycl_devices_in_split", Effect::partial,
     "SYCL lists the CPU as a device and uses it.",
     "devices of type `opencl:cpu` or `opencl:acc` hold weights", kSycl,
     "https://github.com/ggml-org/llama.cpp/issues/7968"},
    {"wrong_device_igpu", Effect::slow, "The integrated GPU was taken, or left out, wrongly.",
     "a discrete card listed beside the integrated one that holds the weights; or the engine says "
     "that it dropped one",
     kIgpu, "https://github.com/ollama/ollama/issues/16667"},
    {"rpc_worker_cpu_backend", Effect::cpu, "The RPC worker computes on its CPU.",
     "its own log, or its process on this machine without a GPU driver", kRpcWorker,
     "https://github.com/ggml-org/llama.cpp/issues/11807"},
};

constexpr CauseEntry kMemory[] = {
    {"load_failed_oom", Effect::untold, "The model was not loaded: out of device memory.",
     "a failed allocation, and no load after it", kSmaller,
     "https://github.com/ollama/ollama/issues/8447"},
    {"retry_after_oom", Effect::partial, "Device memory ran out, and fewer layers were tried.",
     "a load that failed for memory, then one with fewer layers on the device", kRetry,
     "https://github.com/ollama/ollama/issues/13303"},
    {"vram_taken_by_others", Effect::partial, "Other programs hold the GPU's memory.",
     "too few layers, and more of the device's memory in use before the load than would have "
     "sufficed for the rest",
     kFreeMemory, "https://github.com/ollama/ollama/issues/10833"},
    {"context_too_large", Effect::partial, "The context's KV cache leaves too little for layers.",
     "layers left out, and a cache larger than what is missing", kShorterContext,
     "https://github.com/ollama/ollama/issues/11640"},
    {"vram_too_small", Effect::partial, "The model does not fit into the device's memory.",
     "the fit's lines, ollama's plan, or device memory nearly full beside layers left out",
     kSmaller, "https://github.com/ollama/ollama/issues/9181"},
    {"fit_overflow_to_host", Effect::partial, "The automatic fit left parts of layers on the host.",
     "the fit's row with overflowing layers", kSmaller,
     "https://github.com/ggml-org/llama.cpp/pull/16653"},
    {"vram_overcommit", Effect::slow, "More was put on the device than it has; the rest spills.",
     "buffers above the free memory, Metal's warning, a negative free column, or memory that the "
     "driver pushed out",
     kOvercommit, "https://github.com/ggml-org/llama.cpp/issues/14854"},
    {"draft_model_on_cpu", Effect::slow, "The draft model runs on the CPU.",
     "the log loads a draft model with none of its layers on a GPU", kDraft,
     "https://github.com/ggml-org/llama.cpp/issues/3063"},
    {"mmproj_on_cpu", Effect::slow, "The image projector runs on the CPU.",
     "`CLIP using CPU backend`, or buffers of the projector in host memory", kProjector,
     "https://github.com/ggml-org/llama.cpp/issues/11250"},
};

constexpr CauseEntry kSpeed[] = {
    {"gpu_throttled", Effect::slow, "The GPU slowed itself down, for heat or by the board.",
     "the driver's reasons in a quarter of the looks at work", kCooler,
     "https://docs.nvidia.com/deploy/nvml-api/"},
    {"power_limited", Effect::slow, "The GPU ran at a lower power limit than it could.",
     "at its power limit in nine of ten looks at work; normal for many cards at full load", kPower,
     "https://github.com/ggml-org/llama.cpp/issues/26024"},
    {"pcie_link_low", Effect::slow, "The card's PCIe link is narrower than the card's own.",
     "at work, half of its lanes or fewer; it costs where weights or experts lie on the host",
     kLink, ""},
    {"ram_single_channel", Effect::slow, "The memory runs in one channel, at half of its speed.",
     "the firmware's table: one module in a board with several slots, and weights in RAM", kModules,
     "https://www.dmtf.org/standards/smbios"},
    {"model_larger_than_ram", Effect::slow,
     "The weights in host memory exceed it: the disk is read.",
     "more bytes on the host than the machine has RAM", kRam,
     "https://github.com/ollama/ollama/issues/3054"},
    {"too_many_threads", Effect::slow, "More threads compute than there are cores.",
     "the log's thread count above the machine's logical cores, and weights in RAM", kThreads,
     "https://github.com/ggml-org/llama.cpp/blob/master/docs/development/"
     "token_generation_performance_tips.md"},
    {"log_lacks_evidence", Effect::untold, "The log holds no line that could tell.",
     "no placement line at all, or only a remote worker's", kVerbosity,
     "https://github.com/ggml-org/llama.cpp/issues/23613"},
};

constexpr auto kCatalogue = [] {
  constexpr std::size_t kSize = std::size(kSettings) + std::size(kBuilds) + std::size(kDrivers) +
                                std::size(kPlaces) + std::size(kMemory) + std::size(kSpeed);
  std::array<CauseEntry, kSize> out{};
  auto at = out.begin();
  for (const std::span<const CauseEntry> part :
       {std::span<const CauseEntry>(kSettings), std::span<const CauseEntry>(kBuilds),
        std::span<const CauseEntry>(kDrivers), std::span<const CauseEntry>(kPlaces),
        std::span<const CauseEntry>(kMemory), std::span<const CauseEntry>(kSpeed)}) {
    at = std::ranges::copy(part, at).out;
  }
  return out;
}();

bool holds(const Remedy& remedy, const RemedySituation& situation) {
  if (!remedy.engine.empty() && remedy.engine != situation.engine) return false;
  if (!remedy.vendor.empty() && remedy.vendor != situation.vendor) return false;
  return remedy.place.empty() ||
         std::ranges::find(situation.places, remedy.place) != situation.places.end();
}

}  // namespace

std::string_view name_of(Effect effect) {
  switch (effect) {
    case Effect::cpu:
      return "on the CPU";
    case Effect::partial:
      return "partly on the CPU";
    case Effect::slow:
      return "slower than it could be";
    case Effect::untold:
      return "cannot be told";
    case Effect::none:
      return "none";
  }
  return "";
}

std::span<const CauseEntry> cause_catalogue() { return kCatalogue; }

const CauseEntry* find_cause_entry(std::string_view id) {
  const auto found = std::ranges::find(kCatalogue, id, &CauseEntry::id);
  return found == kCatalogue.end() ? nullptr : &*found;
}

std::string_view remedy_for(const CauseEntry& entry, const RemedySituation& situation) {
  const auto found = std::ranges::find_if(
      entry.remedies, [&](const Remedy& remedy) { return holds(remedy, situation); });
  return found == entry.remedies.end() ? std::string_view() : found->text;
}

}  // namespace picchio
