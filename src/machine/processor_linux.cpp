#include "base/text.h"
#include "machine/processor.h"
#include "os/file.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

namespace picchio {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 20;
constexpr int kMostLevels = 8;
constexpr int kMostProcessors = 1 << 16;

std::string text_of(const std::string& path) {
  return os::read_file(path, kMostBytes).value_or(std::string());
}

std::string below(const std::string& root, std::string_view path) {
  std::string out = root;
  while (out.ends_with('/')) out.pop_back();
  return out + std::string(path);
}

std::vector<int> processors(const std::string& folder) {
  std::vector<int> out;
  for (const std::string& name : os::list_dir(folder).value_or(std::vector<std::string>())) {
    std::string_view rest = name;
    if (!take_prefix(rest, "cpu")) continue;
    const auto number = parse_int(rest);
    if (number && *number >= 0 && *number < kMostProcessors) {
      out.push_back(static_cast<int>(*number));
    }
  }
  std::ranges::sort(out);
  return out;
}

/// "0-7,64-71": adds all of them. False: not such a list.
bool add_list(std::string_view text, std::set<int>& into) {
  for (std::string_view range : split(trim(text), ',')) {
    const auto first = take_int(range);
    if (!first || *first < 0 || *first >= kMostProcessors) return false;
    std::optional<std::int64_t> last = first;
    if (take_prefix(range, "-")) last = take_int(range);
    if (!last || *last < *first || *last >= kMostProcessors || !range.empty()) return false;
    for (std::int64_t i = *first; i <= *last; ++i) into.insert(static_cast<int>(i));
  }
  return true;
}

/// "32768K"
std::optional<std::int64_t> cache_size(std::string_view text) {
  text = trim(text);
  const auto number = take_int(text);
  if (!number || *number <= 0 || *number > (std::int64_t{1} << 40)) return std::nullopt;
  if (text == "K") return *number << 10;
  if (text == "M") return *number << 20;
  return text.empty() ? number : std::nullopt;
}

/// The folder of a processor's cache of the highest level; empty: none is told.
std::string last_cache(const std::string& processor) {
  std::string out;
  std::int64_t highest = 0;
  for (int i = 0; i < kMostLevels; ++i) {
    const std::string index = processor + "/cache/index" + std::to_string(i);
    const auto level = parse_int(text_of(index + "/level"));
    if (!level) break;
    if (*level <= highest) continue;
    highest = *level;
    out = index;
  }
  return out;
}

/// Whatever a control group's files are called: how much it may have and has, and what of that is
/// cache that goes when somebody needs the room.
struct GroupFiles {
  std::string_view controller;  // as the second field of /proc/self/cgroup has it; "": version 2
  std::string_view mount;
  std::string_view limit;
  std::string_view usage;
  std::string_view reclaimable;  // a line of memory.stat
};
constexpr GroupFiles kGroups[] = {
    {"", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file "},
};

std::optional<std::int64_t> line_value(std::string_view text, std::string_view name) {
  for (std::string_view line : split_lines(text)) {
    if (take_prefix(line, name)) return take_int(line);
  }
  return std::nullopt;
}

void lower_to(std::optional<std::int64_t>& least, std::int64_t value) {
  least = std::max<std::int64_t>(0, least ? std::min(*least, value) : value);
}

/// A group's parents bind too. In a container the path can be the host's, of which only the top is
/// there.
void bound_by_groups(const std::string& root, const GroupFiles& files, std::string path,
                     std::optional<std::int64_t>& least) {
  for (;;) {
    const std::string folder = below(root, files.mount) + path;
    const auto limit = parse_int(text_of(folder + "/" + std::string(files.limit)));
    const auto usage = parse_int(text_of(folder + "/" + std::string(files.usage)));
    if (limit && usage) {
      const auto cache = line_value(text_of(folder + "/memory.stat"), files.reclaimable);
      lower_to(least, *limit - *usage + cache.value_or(0));
    }
    if (path.empty()) return;
    path.erase(path.find_last_of('/'));
  }
}

}  // namespace

Processor read_processor(const std::string& root) {
  const std::string folder = below(root, "/sys/devices/system/cpu");
  Processor out;
  std::set<int> cached;
  std::set<int> threads;
  bool every_cache = true;
  for (const int number : processors(folder)) {
    const std::string processor = folder + "/cpu" + std::to_string(number);
    if (!threads.contains(number) &&
        add_list(text_of(processor + "/topology/thread_siblings_list"), threads)) {
      out.physical_cores = out.physical_cores.value_or(0) + 1;
    }
    if (cached.contains(number)) continue;
    // An offline processor has a folder, but nothing in it.
    if (!os::exists(processor + "/topology")) continue;
    const std::string cache = last_cache(processor);
    const auto size = cache_size(text_of(cache + "/size"));
    if (!size || !add_list(text_of(cache + "/shared_cpu_list"), cached)) {
      every_cache = false;
      continue;
    }
    out.last_level_cache_bytes = out.last_level_cache_bytes.value_or(0) + *size;
  }
  if (!every_cache) out.last_level_cache_bytes.reset();
  return out;
}

std::optional<std::int64_t> available_memory(const std::string& root) {
  const auto kib = line_value(text_of(below(root, "/proc/meminfo")), "MemAvailable:");
  if (!kib) return std::nullopt;
  std::optional<std::int64_t> out = *kib * 1024;
  const std::string groups = text_of(below(root, "/proc/self/cgroup"));
  for (const std::string_view line : split_lines(groups)) {
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() < 3) continue;
    for (const GroupFiles& files : kGroups) {
      if (fields[1] != files.controller) continue;
      std::string path(fields[2]);
      while (path.ends_with('/')) path.pop_back();
      if (path.empty() || path.starts_with('/')) bound_by_groups(root, files, path, out);
    }
  }
  return out;
}

}  // namespace picchio
