#include "commands/plan/extras.h"

#include "base/text.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace picchio {
namespace {

/// What its graph takes depends on the picture and is not forecast.
PlannedExtra place_projector(const ExtraModel& extra, const PlanRoom& room) {
  PlannedExtra out{.role = extra.role, .model = extra.name, .devices = {}, .host = {}};
  out.host.name = "host";
  for (const RoomDevice& device : room.devices)
    out.devices.push_back(planned_memory({}, device.name));
  const std::int64_t bytes = tensor_bytes(extra.headers);
  (out.devices.empty() ? out.host : out.devices.front()).weights = bytes;
  return out;
}

Result<PlannedExtra> place_draft(const ExtraModel& extra, const gguf::Wish& wish,
                                 std::int64_t context, const PlanRoom& room) {
  gguf::ContextSettings settings;
  settings.program = wish.context.program;
  settings.n_ctx = context;
  settings.n_batch = wish.context.n_batch;
  settings.n_ubatch = wish.context.n_ubatch;
  settings.n_parallel = wish.context.n_parallel;
  gguf::Placement placement;
  for (const RoomDevice& device : room.devices) {
    placement.devices.push_back({.name = device.name, .free_bytes = device.free_bytes});
  }
  const Result<gguf::MemoryForecast> need =
      gguf::forecast(extra.headers.headers, settings, placement);
  if (!need) {
    Error error = need.error();
    error.message =
        fmt::format("cannot plan the draft model '{}': {}", plain(extra.name), error.message);
    return std::unexpected(std::move(error));
  }
  PlannedExtra out{.role = extra.role, .model = extra.name, .devices = {}, .host = {}};
  for (std::size_t i = 0; i < need->devices.size(); ++i) {
    out.devices.push_back(planned_memory(need->devices[i], room.devices[i].name));
  }
  out.host = planned_memory(need->host, "host");
  return out;
}

Result<ExtraModel> read_extra(const std::string& what, ExtraRole role, os::Interrupts& interrupts) {
  Result<ModelHeaders> headers = read_headers(what, gguf::Accept::loadable, interrupts);
  if (!headers) return std::unexpected(headers.error());
  const gguf::Header& first = headers->headers.front();
  const bool projector = first.type == "mmproj" || first.clip_keys || first.architecture == "clip";
  if (projector != (role == ExtraRole::mmproj)) {
    return fail(ErrorKind::unsupported, "'{}' is {}", fit(plain(what), 80),
                projector ? "a projector: give it with --mmproj"
                          : "no projector of pictures or sound, which --mmproj is for");
  }
  std::string name = headers->label.empty() ? std::string(file_name(what)) : headers->label;
  return ExtraModel{role, std::move(name), *std::move(headers)};
}

}  // namespace

PlannedMemory planned_memory(const gguf::MemoryUse& use, std::string name) {
  PlannedMemory out;
  out.name = std::move(name);
  out.weights = use.weights;
  out.kv_cache = use.kv_cache;
  out.recurrent_state = use.recurrent_state;
  out.compute_buffer = use.compute_buffer;
  out.output_buffer = use.output_buffer;
  return out;
}

Result<std::vector<ExtraModel>> read_extras(const std::string& mmproj, const std::string& draft,
                                            os::Interrupts& interrupts) {
  std::vector<ExtraModel> out;
  for (const auto& [what, role] :
       {std::pair(&mmproj, ExtraRole::mmproj), std::pair(&draft, ExtraRole::draft)}) {
    if (what->empty()) continue;
    Result<ExtraModel> extra = read_extra(*what, role, interrupts);
    if (!extra) return std::unexpected(extra.error());
    out.push_back(*std::move(extra));
  }
  return out;
}

Result<std::vector<PlannedExtra>> place_extras(const std::vector<ExtraModel>& extras,
                                               const gguf::Wish& wish, std::int64_t context,
                                               PlanRoom& room) {
  std::vector<PlannedExtra> out;
  for (const ExtraModel& extra : extras) {
    Result<PlannedExtra> placed = extra.role == ExtraRole::mmproj
                                      ? Result<PlannedExtra>(place_projector(extra, room))
                                      : place_draft(extra, wish, context, room);
    if (!placed) return std::unexpected(placed.error());
    for (std::size_t i = 0; i < placed->devices.size(); ++i) {
      std::int64_t& free = room.devices[i].free_bytes;
      free = std::max<std::int64_t>(0, free - placed->devices[i].total());
    }
    if (room.host_free) {
      *room.host_free = std::max<std::int64_t>(0, *room.host_free - placed->host.total());
    }
    out.push_back(*std::move(placed));
  }
  return out;
}

}  // namespace picchio
