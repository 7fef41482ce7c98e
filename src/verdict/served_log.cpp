#include "verdict/served_log.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {
namespace {

// Two loads of one file that place it alike: rounding of the buffer lines.
constexpr std::int64_t kAlike = std::int64_t{1} << 20;

/// Whole paths, where both are: "model.gguf" is many people's name.
bool same_file(std::string_view a, std::string_view b) {
  if (a.starts_with('/') && b.starts_with('/')) return a == b;
  const auto name = [](std::string_view path) { return path.substr(path.find_last_of("/\\") + 1); };
  return name(a) == name(b);
}

std::int64_t weights_off_host(const Load& load) {
  std::int64_t out = 0;
  for (const BufferLine& line : load.buffers) {
    const bool counts = line.use == BufferUse::weights && line.kind != DeviceKind::host;
    if (counts) out += line.bytes;
  }
  return out;
}

/// A draft or a projector is another file of the same model, and a planning pass places nothing.
std::vector<const Load*> loads_that_place(const EngineLog& log) {
  std::vector<const Load*> out;
  for (const Load& load : log.loads) {
    if (load.role == LoadRole::main && !load.failure && !load.buffers.empty()) out.push_back(&load);
  }
  return out;
}

bool is_ours(const EngineLog& log, const ServerFacts& server) {
  const std::vector<const Load*> loads = loads_that_place(log);
  if (loads.empty()) return true;
  // A router whose model's file is not known may have loaded another's.
  const bool router = server.kind == ServerKind::llama_server && server.loads_on_request;
  if (server.model_file.empty() && router) return false;
  const std::string& ours =
      server.model_file.empty() ? loads.front()->model_path : server.model_file;
  return std::ranges::all_of(loads, [&](const Load* load) {
    const std::int64_t apart = weights_off_host(*load) - weights_off_host(*loads.front());
    // Two servers of one file in one log: which of them was asked, nothing tells.
    return same_file(load->model_path, ours) && apart >= -kAlike && apart <= kAlike;
  });
}

}  // namespace

bool keep_own_load(EngineLog& log, const ServerFacts& server) {
  if (is_ours(log, server)) return true;
  log.loads.clear();
  log.fit.reset();
  log.plan.reset();
  log.has_placement_lines = false;
  return false;
}

}  // namespace picchio
