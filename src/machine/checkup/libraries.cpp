#include "base/text.h"
#include "machine/checkup/checkup.h"
#include "os/file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace picchio {
namespace {

constexpr std::int64_t kMostManifest = 64 << 10;

using Environment = std::map<std::string, std::string>;

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

void add_paths(std::vector<std::string>& out, std::string_view list, char separator) {
  for (const std::string_view part : split(list, separator)) {
    if (part.starts_with('/')) out.emplace_back(part);
  }
}

/// The loader looks into LD_LIBRARY_PATH, then into its cache.
std::vector<std::string> listed_folders(const Environment& environment) {
  std::vector<std::string> out;
  add_paths(out, value_of(environment, "LD_LIBRARY_PATH"), ':');
  return out;
}

/// Where there is no cache: the folders that it would be made of.
std::vector<std::string> usual_folders(const std::string& root) {
  std::vector<std::string> out;
  const std::string configured = root + "/etc/ld.so.conf.d";
  for (const std::string& file : os::list_dir(configured).value_or(std::vector<std::string>())) {
    const std::string text = os::read_file(fmt::format("{}/{}", configured, file), kMostManifest)
                                 .value_or(std::string());
    for (const std::string_view line : split_lines(text)) {
      if (trim(line).starts_with('/')) out.emplace_back(trim(line));
    }
  }
  for (const char* folder :
       {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib",
        "/usr/lib/wsl/lib", "/opt/rocm/lib", "/usr/local/cuda/lib64", "/run/opengl-driver/lib"}) {
    out.emplace_back(folder);
  }
  return out;
}

/// The paths that the loader's own cache has of a library: each ends in "/NAME" and a zero byte.
std::vector<std::string> cached_paths(std::string_view cache, const std::string& name) {
  const std::string end = "/" + name + std::string(1, '\0');
  std::vector<std::string> out;
  for (std::size_t at = cache.find(end); at != std::string_view::npos;
       at = cache.find(end, at + 1)) {
    const std::size_t before = cache.rfind('\0', at);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view path = cache.substr(begin, at + end.size() - 1 - begin);
    if (path.starts_with('/')) out.emplace_back(path);
  }
  return out;
}

/// "libnvidia-ml.so.550.54.14" -> "550.54.14"; ".1" alone is the interface's number.
std::string version_of(std::string_view file) {
  const std::size_t at = file.find(".so.");
  if (at == std::string_view::npos) return {};
  const std::string_view version = file.substr(at + 4);
  return version.contains('.') ? plain(version) : std::string();
}

bool is_software(std::string_view library) {
  const std::string name = lower(library);
  return name.contains("lvp") || name.contains("swiftshader") || name.contains("lavapipe");
}

VulkanDriver read_manifest(const std::string& root, const std::string& path) {
  VulkanDriver out;
  out.manifest = path;
  const auto text = os::read_file(root + path, kMostManifest);
  const nlohmann::json json = nlohmann::json::parse(text.value_or(""), nullptr, false);
  const auto driver = json.is_object() ? json.find("ICD") : json.end();
  if (driver != json.end() && driver->is_object()) {
    const auto library = driver->find("library_path");
    if (library != driver->end() && library->is_string()) {
      out.library = library->get<std::string>();
    }
  }
  out.software = is_software(base_name(out.library.empty() ? path : out.library));
  return out;
}

}  // namespace

std::vector<LibraryLook> find_libraries(const std::string& root, std::span<const std::string> names,
                                        const Environment& environment) {
  constexpr std::int64_t kMostCache = std::int64_t{16} << 20;
  const std::string cache =
      os::read_file(root + "/etc/ld.so.cache", kMostCache).value_or(std::string());
  const std::vector<std::string> first = listed_folders(environment);
  const std::vector<std::string> last = usual_folders(root);
  std::vector<LibraryLook> out;
  out.reserve(names.size());
  for (const std::string& name : names) {
    LibraryLook look;
    look.name = name;
    std::vector<std::string> candidates;
    candidates.reserve(first.size() + last.size());
    for (const std::string& folder : first)
      candidates.push_back(fmt::format("{}/{}", folder, name));
    for (std::string& path : cached_paths(cache, name)) candidates.push_back(std::move(path));
    for (const std::string& folder : last) candidates.push_back(fmt::format("{}/{}", folder, name));
    for (const std::string& path : candidates) {
      const auto real = os::real_path(root + path);
      if (!real) continue;
      look.path = path;
      look.version = version_of(base_name(*real));
      break;
    }
    out.push_back(std::move(look));
  }
  return out;
}

std::vector<VulkanDriver> find_vulkan_drivers(const std::string& root,
                                              const Environment& environment) {
  std::vector<VulkanDriver> out;
  std::vector<std::string> files;
  // Either variable replaces the folders; the second is its older name.
  for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) {
    if (!environment.contains(name)) continue;
    add_paths(files, value_of(environment, name), ':');
    for (const std::string& file : files) {
      if (os::exists(root + file)) out.push_back(read_manifest(root, file));
    }
    return out;
  }
  constexpr std::size_t kMostManifests = 100;
  for (const char* folder : {"/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d",
                             "/usr/share/vulkan/icd.d", "/run/opengl-driver/share/vulkan/icd.d"}) {
    for (const std::string& file :
         os::list_dir(root + folder).value_or(std::vector<std::string>())) {
      if (!file.ends_with(".json") || out.size() >= kMostManifests) continue;
      out.push_back(read_manifest(root, std::string(folder) + "/" + file));
    }
  }
  return out;
}

}  // namespace picchio
