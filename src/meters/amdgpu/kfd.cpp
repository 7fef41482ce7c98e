#include "meters/amdgpu/kfd.h"

#include "base/text.h"
#include "os/file.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio::meters::amdgpu {
namespace {

constexpr Micros kLookForFilesEvery = std::chrono::seconds(1);
constexpr std::string_view kTopology = "/sys/class/kfd/kfd/topology/nodes";
constexpr std::string_view kProcesses = "/sys/class/kfd/kfd/proc";

// PROC_PID_INIT_INO in include/linux/proc_ns.h: the first namespace has this number everywhere.
constexpr std::string_view kFirstNamespace = "pid:[4026531836]";

}  // namespace

std::optional<KfdNode> parse_kfd_node(std::string_view gpu_id, std::string_view properties) {
  const auto id = parse_int(gpu_id);
  if (!id || *id <= 0) return std::nullopt;
  std::optional<std::int64_t> location;
  std::int64_t domain = 0;
  std::int64_t cores = 0;
  for (const std::string_view line : split_lines(properties)) {
    const auto words = split_blanks(line);
    if (words.size() != 2) continue;
    const auto value = parse_int(words[1]);
    if (!value || *value < 0) continue;
    if (words[0] == "location_id") location = value;
    if (words[0] == "domain") domain = *value;
    if (words[0] == "cpu_cores_count") cores = *value;
  }
  // PCI's own packing: bus, then five bits of device and three of function.
  if (!location || *location > 0xffff || domain > 0xffff'ffff) return std::nullopt;
  return KfdNode{.gpu_id = std::to_string(*id),
                 .address = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, *location >> 8,
                                        (*location >> 3) & 0x1f, *location & 7),
                 .has_cpu = cores > 0};
}

Kfd::Kfd(std::string root) : root_(std::move(root)) {
  const std::string dir = under(root_, kTopology);
  for (const std::string& name : os::list_dir(dir).value_or(std::vector<std::string>())) {
    // A node of a card that a container was not given cannot be read.
    const auto id = attribute_text(fmt::format("{}/{}/gpu_id", dir, name));
    const auto properties = attribute_text(fmt::format("{}/{}/properties", dir, name));
    if (!id || !properties) continue;
    if (auto node = parse_kfd_node(*id, *properties)) nodes_.push_back(std::move(*node));
  }
  const auto own = os::read_link(under(root_, "/proc/self/ns/pid"));
  pids_match_ = !own || *own == kFirstNamespace;
}

void Kfd::look_for_files(int pid, Process& process) const {
  process.files.clear();
  const std::string dir = fmt::format("{}/{}", under(root_, kProcesses), pid);
  if (!os::exists(dir)) return;
  for (const KfdNode& node : nodes_) {
    Attribute vram = Attribute::open(dir, {"vram_" + node.gpu_id}, false);
    if (vram) process.files.push_back({node.address, std::move(vram)});
  }
}

std::vector<KfdUse> Kfd::look(Micros now, std::span<const int> pids) {
  std::vector<KfdUse> all;
  if (!pids_match_ || nodes_.empty()) return all;
  std::erase_if(processes_, [&](const auto& each) {
    return std::ranges::find(pids, each.first) == pids.end();
  });
  for (const int pid : pids) {
    const auto [found, is_new] = processes_.try_emplace(pid);
    Process& process = found->second;
    if (is_new || now - process.looked_at >= kLookForFilesEvery) {
      process.looked_at = now;
      look_for_files(pid, process);
    }
    for (const File& file : process.files) {
      const auto bytes = file.vram.number();
      if (bytes && *bytes >= 0) all.push_back({pid, file.address, *bytes});
    }
  }
  return all;
}

}  // namespace picchio::meters::amdgpu
