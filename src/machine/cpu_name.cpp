#include "machine/cpu_name.h"

#include "base/text.h"

#include <algorithm>
#include <vector>

namespace picchio {
namespace {

struct CpuField {
  std::string_view key;
  std::string_view value;
};

std::optional<CpuField> field_of(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return CpuField{.key = trim(line.substr(0, colon)), .value = trim(line.substr(colon + 1))};
}

std::string_view first_value(std::string_view cpuinfo, std::string_view key) {
  for (const std::string_view line : split_lines(cpuinfo)) {
    if (const auto field = field_of(line); field && field->key == key && !field->value.empty()) {
      return field->value;
    }
  }
  return {};
}

struct ArmPart {
  std::string_view implementer;
  std::string_view part;
  std::string_view name;
};

// arch/arm64/include/asm/cputype.h and util-linux's lscpu-arm.c: what /proc/cpuinfo of a 64-bit ARM
// kernel has in place of a name.
constexpr ArmPart kArmParts[] = {
    {"0x41", "0xd03", "Cortex-A53"},    {"0x41", "0xd04", "Cortex-A35"},
    {"0x41", "0xd05", "Cortex-A55"},    {"0x41", "0xd07", "Cortex-A57"},
    {"0x41", "0xd08", "Cortex-A72"},    {"0x41", "0xd09", "Cortex-A73"},
    {"0x41", "0xd0a", "Cortex-A75"},    {"0x41", "0xd0b", "Cortex-A76"},
    {"0x41", "0xd0c", "Neoverse-N1"},   {"0x41", "0xd0d", "Cortex-A77"},
    {"0x41", "0xd40", "Neoverse-V1"},   {"0x41", "0xd41", "Cortex-A78"},
    {"0x41", "0xd42", "Cortex-A78AE"},  {"0x41", "0xd44", "Cortex-X1"},
    {"0x41", "0xd46", "Cortex-A510"},   {"0x41", "0xd47", "Cortex-A710"},
    {"0x41", "0xd48", "Cortex-X2"},     {"0x41", "0xd49", "Neoverse-N2"},
    {"0x41", "0xd4d", "Cortex-A715"},   {"0x41", "0xd4e", "Cortex-X3"},
    {"0x41", "0xd4f", "Neoverse-V2"},   {"0x41", "0xd80", "Cortex-A520"},
    {"0x41", "0xd81", "Cortex-A720"},   {"0x41", "0xd82", "Cortex-X4"},
    {"0x41", "0xd84", "Neoverse-V3"},   {"0x41", "0xd85", "Cortex-X925"},
    {"0x41", "0xd87", "Cortex-A725"},   {"0x41", "0xd8e", "Neoverse-N3"},
    {"0x46", "0x001", "Fujitsu A64FX"}, {"0x48", "0xd01", "HiSilicon Kunpeng-920"},
    {"0x4e", "0x004", "NVIDIA Carmel"}, {"0x51", "0x001", "Qualcomm Oryon"},
    {"0x61", "0x022", "Apple M1"},      {"0x61", "0x023", "Apple M1"},
    {"0x61", "0x024", "Apple M1 Pro"},  {"0x61", "0x025", "Apple M1 Pro"},
    {"0x61", "0x028", "Apple M1 Max"},  {"0x61", "0x029", "Apple M1 Max"},
    {"0x61", "0x032", "Apple M2"},      {"0x61", "0x033", "Apple M2"},
    {"0x61", "0x034", "Apple M2 Pro"},  {"0x61", "0x035", "Apple M2 Pro"},
    {"0x61", "0x038", "Apple M2 Max"},  {"0x61", "0x039", "Apple M2 Max"},
    {"0xc0", "0xac3", "Ampere-1"},      {"0xc0", "0xac4", "Ampere-1a"},
};

std::string arm_part_name(std::string_view implementer, std::string_view part) {
  for (const ArmPart& row : kArmParts) {
    if (row.implementer == implementer && row.part == part) return std::string(row.name);
  }
  return "ARM " + std::string(implementer) + ":" + std::string(part);
}

// "Cortex-A55 + Cortex-A76": one name for each kind of core, in the order of the processors.
std::string arm_parts(std::string_view cpuinfo) {
  std::vector<std::string> names;
  std::string_view implementer;
  for (const std::string_view line : split_lines(cpuinfo)) {
    const auto field = field_of(line);
    if (!field) continue;
    if (field->key == "CPU implementer") implementer = field->value;
    if (field->key != "CPU part") continue;
    std::string name = arm_part_name(implementer, field->value);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : " + ") + name;
  return out;
}

std::string one_blank(std::string_view text) {
  std::string out;
  for (const std::string_view word : split_blanks(text)) {
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

}  // namespace

std::string cpu_name(std::string_view cpuinfo, std::string_view board) {
  const std::string_view board_text = trim(board.substr(0, board.find('\0')));
  if (!first_value(cpuinfo, "CPU implementer").empty()) {
    // "model name" is there on 32-bit ARM only, and says "ARMv7 Processor rev 4 (v7l)".
    if (!board_text.empty()) return one_blank(board_text);
    if (const auto model = first_value(cpuinfo, "Model"); !model.empty()) return one_blank(model);
    if (std::string parts = arm_parts(cpuinfo); !parts.empty()) return parts;
  }
  // x86; LoongArch; POWER; MIPS; RISC-V; 32-bit ARM boards of old kernels.
  for (const std::string_view key :
       {"model name", "Model Name", "cpu", "cpu model", "uarch", "Hardware"}) {
    if (const auto value = first_value(cpuinfo, key); !value.empty()) return one_blank(value);
  }
  return one_blank(board_text);
}

std::optional<int> logical_cores(std::string_view cpuinfo) {
  int cores = 0;
  for (const std::string_view line : split_lines(cpuinfo)) {
    const auto field = field_of(line);
    // "processor : 0"; s390 writes "processor 0: version = ...".
    if (field && (field->key == "processor" ||
                  (field->key.starts_with("processor ") && field->value.starts_with("version")))) {
      ++cores;
    }
  }
  if (cores == 0) return std::nullopt;
  return cores;
}

}  // namespace picchio
