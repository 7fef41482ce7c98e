#include "gguf/memory/compute_buffer.h"

#include "gguf/memory/model_graph.h"
#include "gguf/memory/rehearsal.h"

namespace picchio::gguf {
namespace {

// ggml's GGML_SCHED_MAX_COPIES: batches in flight in a pipeline of several devices.
constexpr std::int64_t kPipelineCopies = 4;

// Smaller batches are computed where the weights are.
constexpr std::int64_t kOffloadedTokens = 32;

/// Whether batches go through several devices one behind the other.
bool is_pipeline(const Placed& where, const Placement& placement) {
  return where.used_devices > 1 && where.everything && placement.offload_kv &&
         placement.n_cpu_moe == 0 && placement.n_cpu_ffn == 0 && placement.host_roles.empty();
}

}  // namespace

Result<ComputeBuffers> compute_buffers(const ModelLayers& model, const Context& context,
                                       const Placed& where, const Placement& placement) {
  const Graph graph = model_graph(model, context, where, placement);
  if (!graph.fits()) {
    return fail(ErrorKind::malformed, "a tensor of the computation passes 4 TiB");
  }
  std::vector<BackendTraits> traits;
  traits.reserve(placement.devices.size());
  for (const PlannedDevice& device : placement.devices) {
    traits.push_back({.offloads = placement.offload_operations && device.offloads_operations &&
                                  context.tokens >= kOffloadedTokens,
                      .largest_tensor = device.largest_tensor.value_or(0)});
  }
  const std::vector<std::int64_t> bytes =
      rehearse(graph, is_pipeline(where, placement) ? kPipelineCopies : 1, traits);
  return ComputeBuffers{bytes.back(), {bytes.begin(), bytes.end() - 1}};
}

}  // namespace picchio::gguf
