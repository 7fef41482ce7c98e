#include "meters/nvml/processes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <tuple>

namespace picchio::meters::nvml {
namespace {

// Entries of a first call. More processes than this on one GPU are rare; the driver then says so.
constexpr unsigned kEntries = 64;
constexpr unsigned kMaxEntries = 1U << 14;

// The kernel's own limit (PID_MAX_LIMIT): what is above was never a pid.
constexpr unsigned kMaxPid = 1U << 22;

struct Entry {
  int pid = 0;
  std::uint64_t bytes = 0;
  unsigned gpu_instance = ~0U;
  unsigned compute_instance = ~0U;
};

bool is_pid(unsigned pid) { return pid > 0 && pid <= kMaxPid; }

/// Those with a pid that can be one.
std::vector<Entry> read_entries(std::span<const std::byte> buffer, std::size_t count,
                                std::size_t size) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < count && (i + 1) * size <= buffer.size(); ++i) {
    // The longest layout begins like the shorter ones.
    abi::Process32 raw{0, 0, ~0U, ~0U, 0};
    std::memcpy(&raw, buffer.data() + i * size, size);
    if (!is_pid(raw.pid)) continue;
    entries.push_back(
        {static_cast<int>(raw.pid), raw.used_memory, raw.gpu_instance, raw.compute_instance});
  }
  return entries;
}

bool all_sound(std::span<const std::byte> buffer, std::size_t count, std::size_t size) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 44;  // 16 TiB: no GPU has that
  const auto entries = read_entries(buffer, count, size);
  return entries.size() == count && std::ranges::all_of(entries, [](const Entry& entry) {
           return entry.bytes < kMostBytes || entry.bytes == abi::kValueNotAvailable;
         });
}

struct RawList {
  abi::Return code = abi::kSuccess;
  std::vector<Entry> entries;
};

RawList read_list(Functions::List* list, abi::Device device) {
  for (unsigned room = kEntries; room <= kMaxEntries; room *= 4) {
    // Room for the longest entries, whichever the driver writes.
    std::vector<std::byte> buffer(room * sizeof(abi::Process32), kUntouched);
    unsigned count = room;
    const abi::Return code = ask(list, device, &count, static_cast<void*>(buffer.data()));
    if (code == abi::kInsufficientSize) continue;
    if (code != abi::kSuccess || count == 0) return {code, {}};
    const auto size = entry_bytes(buffer, count);
    if (!size) return {kUnknownLayout, {}};
    return {code, read_entries(buffer, count, *size)};
  }
  return {abi::kInsufficientSize, {}};
}

std::optional<std::int64_t> known_bytes(std::uint64_t bytes) {
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;  // kValueNotAvailable, or what no card has
  }
  return static_cast<std::int64_t>(bytes);
}

bool is_sound(const abi::ProcessUtilization& sample, unsigned long long last_seen) {
  constexpr unsigned kAll = 100;
  return is_pid(sample.pid) && sample.timestamp > last_seen && sample.sm <= kAll &&
         sample.memory <= kAll && sample.encoder <= kAll && sample.decoder <= kAll;
}

}  // namespace

std::optional<std::size_t> entry_bytes(std::span<const std::byte> buffer, std::size_t count) {
  // The commonest first.
  constexpr std::array kSizes = {sizeof(abi::Process24), sizeof(abi::Process16),
                                 sizeof(abi::Process32)};
  std::size_t written = buffer.size();
  while (written > 0 && buffer[written - 1] == kUntouched) --written;
  for (const std::size_t size : kSizes) {
    if (count > 0 && size * count == written) return size;
  }
  // A driver that clears the whole buffer first: the size with which every entry makes sense.
  for (const std::size_t size : kSizes) {
    if (count > 0 && size * count <= written && all_sound(buffer, count, size)) return size;
  }
  return std::nullopt;
}

ProcessList list_processes(const Functions& functions, abi::Device device) {
  // The last one shows the clients where a server of NVIDIA's shares the GPU among them.
  const std::array lists = {functions.compute_processes, functions.graphics_processes,
                            functions.mps_processes};
  using Part = std::tuple<int, unsigned, unsigned>;
  std::map<Part, std::optional<std::int64_t>> parts;
  ProcessList out;
  for (Functions::List* const list : lists) {
    const RawList raw = read_list(list, device);
    if (raw.code == abi::kGpuIsLost || raw.code == abi::kResetRequired) return {raw.code, {}};
    // A driver without that server has no such clients.
    const bool matters = list != functions.mps_processes;
    if (matters && raw.code != abi::kSuccess && out.code == abi::kSuccess) out.code = raw.code;
    for (const Entry& entry : raw.entries) {
      auto& bytes = parts[{entry.pid, entry.gpu_instance, entry.compute_instance}];
      bytes = std::max(bytes, known_bytes(entry.bytes));  // absent is the least
    }
  }
  // Vulkan can stand in the list of drawing processes alone: with one of the two lists missing, an
  // empty answer is none.
  if (parts.empty()) return out;
  out.code = abi::kSuccess;
  for (const auto& [part, bytes] : parts) {
    if (out.rows.empty() || out.rows.back().pid != std::get<0>(part)) {
      out.rows.push_back({std::get<0>(part), bytes});
    } else if (bytes) {
      out.rows.back().bytes = out.rows.back().bytes.value_or(0) + *bytes;
    }
  }
  return out;
}

ProcessBusy::Answer ProcessBusy::ask(const Functions& functions, abi::Device device) {
  // Asking for the number of entries gives a constant 100, so it is not asked.
  std::array<abi::ProcessUtilization, 256> samples{};
  auto count = static_cast<unsigned>(samples.size());
  const abi::Return code =
      nvml::ask(functions.process_utilization, device, samples.data(), &count, last_seen_);
  Answer answer{code, {}};
  if (code != abi::kSuccess) return answer;
  struct Sum {
    double percent = 0;
    int samples = 0;
  };
  std::map<int, Sum> sums;
  unsigned long long newest = last_seen_;
  for (const auto& sample :
       std::span(samples).first(std::min<std::size_t>(count, samples.size()))) {
    if (!is_sound(sample, last_seen_)) continue;
    newest = std::max<unsigned long long>(newest, sample.timestamp);
    Sum& sum = sums[static_cast<int>(sample.pid)];
    sum.percent += sample.sm;
    ++sum.samples;
  }
  last_seen_ = newest;
  for (const auto& [pid, sum] : sums) answer.percent[pid] = sum.percent / sum.samples;
  return answer;
}

}  // namespace picchio::meters::nvml
