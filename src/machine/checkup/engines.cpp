// What of engines lies on the disk: their backends' libraries, wheels, ollama's unit files.
#include "base/text.h"
#include "machine/checkup/checkup.h"
#include "os/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace picchio {
namespace {

constexpr std::int64_t kMostUnit = 256 << 10;

std::vector<std::string> names_in(const std::string& path) {
  return os::list_dir(path).value_or(std::vector<std::string>());
}

/// Words of a unit file's value: blanks part them, quotes keep them.
std::vector<std::string> unit_words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  char quote = 0;
  bool open = false;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (c == ' ' || c == '\t') {
      if (open || !word.empty()) out.push_back(word);
      word.clear();
      open = false;
    } else {
      word += c;
    }
  }
  if (open || !word.empty()) out.push_back(word);
  return out;
}

/// What a backend says of itself stands in its code.
struct BuiltIn {
  std::string_view words;
  const char* backend;
};
constexpr BuiltIn kBuiltIn[] = {
    {"ggml_vulkan: ", "vulkan"}, {"ggml_cuda_init: ", "cuda"}, {"ggml_metal_init: ", "metal"},
    {"ggml_opencl: ", "opencl"}, {"ggml_sycl_init", "sycl"},
};

/// Of programs and libraries that hold all of the engine. A script, or a program whose libraries
/// lie elsewhere, tells nothing.
void find_built_in(const std::vector<std::string>& files, EngineFound& engine) {
  constexpr std::int64_t kMostProgram = std::int64_t{512} << 20;
  for (const std::string& file : files) {
    const auto bytes = os::read_file(file, kMostProgram);
    if (!bytes || bytes->starts_with("#!")) continue;
    if (bytes->contains("ggml_backend_cpu")) engine.backends_known = true;
    for (const BuiltIn& row : kBuiltIn) {
      const bool known = std::ranges::find(engine.backends, row.backend) != engine.backends.end();
      if (!known && bytes->contains(row.words)) engine.backends.emplace_back(row.backend);
    }
  }
}

bool read_unit_file(const std::string& root, const std::string& path, UnitFile& unit) {
  const auto text = os::read_file(root + path, kMostUnit);
  if (!text) return false;
  for (std::string_view line : split_lines(*text)) {
    line = trim(line);
    if (take_prefix(line, "User=")) {
      unit.user = std::string(trim(line));
    } else if (take_prefix(line, "Environment=")) {
      for (const std::string& word : unit_words(line)) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos) continue;
        unit.environment[word.substr(0, equals)] = word.substr(equals + 1);
        unit.source = path;
      }
    }
  }
  return true;
}

}  // namespace

std::optional<UnitFile> read_unit(const std::string& root, const std::string& name) {
  UnitFile unit;
  bool found = false;
  for (const char* folder :
       {"/usr/lib/systemd/system/", "/lib/systemd/system/", "/etc/systemd/system/"}) {
    const std::string path = folder + name;
    found = read_unit_file(root, path, unit) || found;
  }
  const std::string drop_ins = "/etc/systemd/system/" + name + ".d";
  for (const std::string& file : names_in(root + drop_ins)) {
    if (!file.ends_with(".conf")) continue;
    found = read_unit_file(root, fmt::format("{}/{}", drop_ins, file), unit) || found;
  }
  return found ? std::optional(unit) : std::nullopt;
}

std::vector<std::string> gpu_backends_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const std::string& file : names_in(folder)) {
    const std::size_t at = file.find("ggml-");
    if (at == std::string::npos || (!file.contains(".so") && !file.contains(".dylib"))) {
      continue;
    }
    const std::string_view rest = std::string_view(file).substr(at + 5);
    const std::string backend(rest.substr(0, rest.find_first_of(".-")));
    if (backend.starts_with("cpu") || backend == "base" || backend == "blas" || backend == "rpc") {
      continue;
    }
    if (std::ranges::find(out, backend) == out.end()) out.push_back(backend);
  }
  return out;
}

void find_backends(const std::vector<std::string>& folders, EngineFound& engine) {
  std::vector<std::string> files;
  if (!engine.path.empty()) files.push_back(engine.path);
  for (const std::string& folder : folders) {
    for (std::string& backend : gpu_backends_in(folder)) {
      if (std::ranges::find(engine.backends, backend) == engine.backends.end()) {
        engine.backends.push_back(std::move(backend));
      }
    }
    for (const std::string& file : names_in(folder)) {
      // The CPU's own library beside it: the others would lie there as well.
      if (file.contains("ggml-cpu")) engine.backends_known = true;
      if (file.starts_with("libggml") || file.starts_with("libllama")) {
        files.push_back(fmt::format("{}/{}", folder, file));
      }
    }
  }
  if (!engine.backends.empty()) engine.backends_known = true;
  if (!engine.backends_known) find_built_in(files, engine);
}

std::vector<EngineFound> find_wheels(const std::string& root,
                                     const std::map<std::string, std::string>& environment) {
  std::vector<std::string> prefixes = {"/usr", "/usr/local"};
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const auto found = environment.find(name);
    if (found != environment.end() && found->second.starts_with('/')) {
      prefixes.push_back(found->second);
    }
  }
  const auto home = environment.find("HOME");
  if (home != environment.end() && home->second.starts_with('/')) {
    prefixes.push_back(home->second + "/.local");
  }
  std::vector<EngineFound> out;
  for (const std::string& prefix : prefixes) {
    const std::string library = prefix + "/lib";
    for (const std::string& python : names_in(root + library)) {
      if (!python.starts_with("python3")) continue;
      for (const char* packages : {"/site-packages", "/dist-packages"}) {
        const std::string wheel = fmt::format("{}/{}{}/llama_cpp", library, python, packages);
        if (!os::exists(root + wheel)) continue;
        EngineFound engine;
        engine.name = "llama-cpp-python";
        engine.path = wheel;
        find_backends({root + wheel + "/lib"}, engine);
        out.push_back(std::move(engine));
      }
    }
  }
  return out;
}

}  // namespace picchio
