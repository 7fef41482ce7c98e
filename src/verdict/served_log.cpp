#include "verdict/served_log.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace picchio {
namespace {

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

}  // namespace

bool keep_own_load(EngineLog& log, const ServerFacts& server) {
  std::string first = std::string(base_name(server.model_file));
  const bool strange = std::ranges::any_of(log.loads, [&](const Load& load) {
    // A draft or a projector is another file of the same model.
    const bool of_the_model = load.role == LoadRole::main || load.role == LoadRole::probe;
    if (!of_the_model || load.model_path.empty()) return false;
    const std::string_view name = base_name(load.model_path);
    // A router whose model's file is not known may have loaded another's.
    const bool router = server.kind == ServerKind::llama_server && server.loads_on_request;
    if (first.empty() && router) return true;
    if (first.empty()) first = name;
    return name != first;
  });
  if (!strange) return true;
  log.loads.clear();
  log.fit.reset();
  log.plan.reset();
  log.has_placement_lines = false;
  return false;
}

}  // namespace picchio
