#include "report/doctor.h"

#include "base/text.h"
#include "report/json.h"
#include "report/json_parts.h"
#include "report/json_values.h"
#include "report/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace picchio {
namespace {

using report::Json;
using report::text_or_null;
using report::value_or_null;

constexpr std::size_t kColumns = 80;
constexpr std::size_t kStateColumns = 9;
constexpr std::size_t kIdColumns = 18;

std::string_view mark(LinkState state) {
  switch (state) {
    case LinkState::ok:
      return "ok";
    case LinkState::warning:
      return "warning";
    case LinkState::broken:
      return "BROKEN";
    case LinkState::skipped:
      return "-";
  }
  return "";
}

std::string_view colour_of_link(LinkState state) {
  switch (state) {
    case LinkState::ok:
      return "\x1b[32m";
    case LinkState::warning:
      return "\x1b[33m";
    case LinkState::broken:
      return "\x1b[31m";
    case LinkState::skipped:
      return "";
  }
  return "";
}

void add_link(std::string& out, const CheckedLink& link, bool colour) {
  constexpr std::size_t kIndent = kStateColumns + kIdColumns;
  const std::string_view on = colour ? colour_of_link(link.state) : "";
  std::string head = fmt::format("{}{:<{}}{}{:<{}}", on, mark(link.state), kStateColumns,
                                 on.empty() ? "" : "\x1b[0m", link.id, kIdColumns);
  for (const std::string& line : report::wrap(plain(link.found), kColumns - kIndent, 0)) {
    out += head + line + "\n";
    head.assign(kIndent, ' ');
  }
}

void add_remedy(std::string& out, const CheckedLink& link) {
  const std::string cause =
      link.cause.empty() ? "" : fmt::format(" (picchio causes {})", plain(link.cause));
  for (const std::string& line :
       report::wrap(fmt::format("{}: {}", link.id, plain(link.found)), kColumns, 2)) {
    out += line + "\n";
  }
  if (link.remedy.empty()) return;
  for (const std::string& line :
       report::wrap(fmt::format("FIX: {}{}", plain(link.remedy), cause), kColumns - 2, 2)) {
    out += "  " + line + "\n";
  }
}

Json links_json(const Examination& examination) {
  Json out = Json::array();
  for (const CheckedLink& link : examination.links) {
    out.push_back({{"id", link.id},
                   {"state", name_of(link.state)},
                   {"found", plain(link.found)},
                   {"remedy", text_or_null(plain(link.remedy))},
                   {"cause", text_or_null(link.cause)}});
  }
  return out;
}

Json nodes_json(const Checkup& checkup) {
  Json out = Json::array();
  for (const NodeLook& node : checkup.nodes) {
    out.push_back({{"path", node.path},
                   {"access", name_of(node.access)},
                   {"mode", node.mode ? Json(fmt::format("{:04o}", *node.mode)) : Json(nullptr)},
                   {"gid", value_or_null(node.gid)},
                   {"group", text_or_null(node.group)}});
  }
  return out;
}

Json engines_json(const Checkup& checkup) {
  Json out = Json::array();
  for (const EngineFound& engine : checkup.engines) {
    Json devices = Json::array();
    for (const Device& device : engine.devices) {
      devices.push_back({{"name", device.name},
                         {"description", text_or_null(device.description)},
                         {"kind", name_of(device.kind)}});
    }
    out.push_back({{"name", engine.name},
                   {"path", engine.path},
                   {"version", text_or_null(engine.version)},
                   {"backends", engine.backends},
                   {"devices", devices},
                   {"asked", engine.asked},
                   {"failure", text_or_null(engine.failure)}});
  }
  return out;
}

Json surroundings_json(const Housing& housing) {
  return {{"container", text_or_null(housing.container)},
          {"sandbox", text_or_null(housing.sandbox)},
          {"virtual_machine", text_or_null(housing.virtual_machine)},
          {"wsl", housing.wsl}};
}

}  // namespace

std::string doctor_text(const Examination& examination, bool colour) {
  std::string out;
  for (const CheckedLink& link : examination.links) add_link(out, link, colour);
  out += "\n";
  if (examination.first_broken) {
    out += "first broken link\n";
    add_remedy(out, examination.links[*examination.first_broken]);
    out += "\n";
  } else {
    for (const CheckedLink& link : examination.links) {
      const bool advice = link.state == LinkState::skipped && !link.remedy.empty();
      if (link.state == LinkState::warning || advice) add_remedy(out, link);
    }
    const bool any = std::ranges::any_of(examination.links, [](const CheckedLink& link) {
      return link.state == LinkState::warning ||
             (link.state == LinkState::skipped && !link.remedy.empty());
    });
    if (any) out += "\n";
  }
  return out + plain(examination.summary) + "\n";
}

std::string doctor_json(const Checkup& checkup, const Examination& examination) {
  Json gpus = Json::array();
  for (const MachineGpu& gpu : checkup.machine.gpus) {
    gpus.push_back({{"name", gpu.name},
                    {"vendor", text_or_null(gpu.vendor)},
                    {"address", text_or_null(gpu.address)},
                    {"driver", text_or_null(gpu.driver)},
                    {"can_compute", gpu.can_compute}});
  }
  Json out;
  out["schema"] = "picchio.doctor.v1";
  out["version"] = PICCHIO_VERSION;
  out["exit_code"] = static_cast<int>(examination.exit_code());
  out["summary"] = examination.summary;
  out["first_broken"] = examination.first_broken
                            ? Json(examination.links[*examination.first_broken].id)
                            : Json(nullptr);
  out["links"] = links_json(examination);
  out["gpus"] = gpus;
  out["gpus_known"] = checkup.machine.gpus_known;
  out["surroundings"] = surroundings_json(checkup.housing);
  out["nodes"] = nodes_json(checkup);
  out["engines"] = engines_json(checkup);
  return report::dump(out);
}

}  // namespace picchio
