#include "base/text.h"
#include "machine/cpu_name.h"
#include "machine/gpus.h"
#include "machine/inventory.h"
#include "machine/memory_modules.h"
#include "machine/processor.h"
#include "os/file.h"

namespace picchio {
namespace {

// /proc/cpuinfo of a machine with a thousand processors is 1.5 MiB.
constexpr std::int64_t kMaxFile = std::int64_t{16} << 20;

std::string text_of(const std::string& path) {
  return os::read_file(path, kMaxFile).value_or(std::string());
}

std::optional<std::int64_t> ram_bytes(std::string_view meminfo) {
  for (std::string_view line : split_lines(meminfo)) {
    if (!take_prefix(line, "MemTotal:")) continue;
    const auto kib = take_int(line);
    if (!kib || trim(line) != "kB") return std::nullopt;
    return *kib * 1024;
  }
  return std::nullopt;
}

/// By ID and ID_LIKE of os-release: what descends from Debian has its packages' names.
std::string distribution(std::string_view os_release) {
  for (std::string_view line : split_lines(os_release)) {
    if (!take_prefix(line, "ID=") && !take_prefix(line, "ID_LIKE=")) continue;
    for (std::string_view word : split_blanks(line)) {
      while (word.starts_with('"') || word.starts_with('\'')) word.remove_prefix(1);
      while (word.ends_with('"') || word.ends_with('\'')) word.remove_suffix(1);
      if (word == "debian" || word == "ubuntu") return "debian";
    }
  }
  return {};
}

}  // namespace

Machine read_machine(const std::string& root) {
  const std::string proc = root.ends_with('/') ? root + "proc/" : root + "/proc/";
  const std::string cpuinfo = text_of(proc + "cpuinfo");
  Machine machine;
  machine.chip = cpu_name(cpuinfo, text_of(proc + "device-tree/model"));
  machine.logical_cores = logical_cores(cpuinfo);
  machine.ram_bytes = ram_bytes(text_of(proc + "meminfo"));
  machine.last_level_cache_bytes = read_processor(root).last_level_cache_bytes;
  const std::string type = text_of(proc + "sys/kernel/ostype");
  const std::string release = text_of(proc + "sys/kernel/osrelease");
  machine.os = trim(std::string(trim(type)) + " " + std::string(trim(release)));
  const std::string base = root.ends_with('/') ? root : root + '/';
  machine.distribution = distribution(text_of(base + "etc/os-release"));
  machine.memory_modules = read_memory_modules(text_of(base + "sys/firmware/dmi/tables/DMI"));
  find_gpus(root, machine);
  return machine;
}

}  // namespace picchio
