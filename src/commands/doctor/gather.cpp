#include "commands/doctor/gather.h"

#include "base/text.h"
#include "commands/meter_look.h"
#include "commands/surroundings.h"
#include "commands/system_root.h"
#include "engines/llama_cpp/program.h"
#include "engines/log_reader.h"
#include "machine/checkup/checkup.h"
#include "machine/inventory.h"
#include "machine/server_process.h"
#include "os/file.h"
#include "os/process.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace picchio {
namespace {

// A first start compiles shaders or wakes cards; one that takes longer hangs.
constexpr Micros kAnswerTime{10'000'000};
constexpr std::int64_t kMostAnswer = std::int64_t{1} << 20;
constexpr std::chrono::seconds kMeterPatience{5};

using Environment = std::map<std::string, std::string>;

Environment own_environment() {
  Environment out;
  for (const std::string& entry : os::environment()) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) out.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return out;
}

std::string folder_of(const std::string& path) {
  const std::string real = os::real_path(path).value_or(path);
  const std::size_t slash = real.rfind('/');
  return slash == std::string::npos ? "." : real.substr(0, slash);
}

/// Where a program's backends lie: beside it, in a lib folder next to its own, or where Debian has
/// them.
std::vector<std::string> library_folders(const std::string& path) {
  const std::string folder = folder_of(path);
  std::vector<std::string> places = {folder, folder + "/../lib"};
  if (folder == "/usr/bin") {
    for (const char* triplet : {"x86_64-linux-gnu", "aarch64-linux-gnu"}) {
      places.push_back(fmt::format("/usr/lib/{}/ggml/backends0", triplet));
    }
  }
  return places;
}

/// ": WORDS" of the last line that says something; empty: none does.
std::string last_line(std::string_view text) {
  std::string_view out;
  for (const std::string_view line : split_lines(text)) {
    if (!trim(line).empty()) out = trim(line);
  }
  return out.empty() ? "" : ": " + fit(plain(out), 100);
}

/// How a program that was asked did not answer; empty: it did.
std::string no_answer(const Result<os::Capture>& capture) {
  if (!capture) return capture.error().message;
  switch (capture->end) {
    case os::End::exited:
      if (capture->exit_code == 0) return "";
      return fmt::format("it exits with {}{}", capture->exit_code, last_line(capture->stderr_text));
    case os::End::signalled:
      return "it crashes";
    case os::End::output_cap:
      return "it prints without an end";
    case os::End::deadline:
      return fmt::format("it does not answer within {:.0f} s", seconds(kAnswerTime));
    case os::End::interrupted:
      return "interrupted";
  }
  return "";
}

EngineFound ask(const std::string& path, const os::Interrupts& interrupts) {
  EngineFound out;
  out.name = std::string(base_name(path));
  out.path = path;
  const auto listed =
      os::run_simple({path, "--list-devices"}, kAnswerTime, kMostAnswer, interrupts);
  out.failure = no_answer(listed);
  if (!out.failure.empty()) return out;
  const std::string text = listed->stderr_text + "\n" + listed->stdout_head;
  if (!text.contains("Available devices")) {
    out.failure = "its --list-devices lists nothing: an old llama.cpp, or none";
    return out;
  }
  out.asked = true;
  const EngineLog log = read_engine_log(text);
  out.devices = log.devices;
  find_backends(library_folders(path), out);
  for (const LogEvent& event : log.events) {
    if (event.kind == LogEventKind::backend_load_failed ||
        event.kind == LogEventKind::backend_init_failed) {
      out.load_errors.push_back(event.text);
    }
  }
  const auto version = os::run_simple({path, "--version"}, kAnswerTime, kMostAnswer, interrupts);
  if (no_answer(version).empty()) {
    const auto parsed =
        llama_cpp::parse_version(version->stdout_head + "\n" + version->stderr_text);
    if (parsed) out.version = parsed->build.empty() ? parsed->version : parsed->build;
  }
  return out;
}

/// One program of each build: those of one folder share their backends.
Result<std::vector<std::string>> engine_paths(const std::string& bin) {
  std::vector<std::string> out;
  std::vector<std::string> folders;
  if (!bin.empty()) {
    const auto path = os::find_on_path(bin);
    if (!path) {
      return with_hint(fail(ErrorKind::not_found, "no program '{}' that could be run", plain(bin)),
                       "give the path of llama-server or llama-completion with --bin PATH");
    }
    out.push_back(*path);
    folders.push_back(folder_of(*path));
  }
  for (const char* name : {"llama-server", "llama-completion", "llama-cli"}) {
    const auto path = os::find_on_path(name);
    if (!path) continue;
    const std::string folder = folder_of(*path);
    if (std::ranges::find(folders, folder) != folders.end()) continue;
    out.push_back(*path);
    folders.push_back(folder);
  }
  return out;
}

std::vector<std::string> gpu_libraries_of_ollama(const std::string& folder) {
  std::vector<std::string> out = gpu_backends_in(folder);
  for (const std::string& name : os::list_dir(folder).value_or(std::vector<std::string>())) {
    const bool of_gpu = name.starts_with("cuda") || name.starts_with("rocm") ||
                        name.starts_with("vulkan") || name.starts_with("mlx");
    if (of_gpu) out.push_back(name);
  }
  return out;
}

/// Groups of the nodes that the service's user is not in. Root needs none.
std::vector<std::string> missing_groups(const std::string& root, const Checkup& checkup,
                                        const std::string& user) {
  std::vector<std::string> out;
  if (user.empty() || user == "root") return out;
  const std::vector<Group> groups = read_groups(root);
  for (const NodeLook& node : checkup.nodes) {
    const bool by_group = node.mode && (*node.mode & 0006U) == 0 && (*node.mode & 0060U) != 0;
    const auto group = std::ranges::find(groups, node.group, &Group::name);
    if (!by_group || group == groups.end()) continue;
    const bool in_it = std::ranges::find(group->members, user) != group->members.end();
    const bool said = std::ranges::find(out, node.group) != out.end();
    if (!in_it && !said) out.push_back(node.group);
  }
  return out;
}

std::optional<OllamaFound> find_ollama(const std::string& root, const Checkup& checkup) {
  OllamaFound out;
  out.path = os::find_on_path("ollama").value_or("");
  out.pid = server_by_command(root, "ollama", "serve");
  const std::optional<UnitFile> unit = read_unit(root, "ollama.service");
  if (out.path.empty() && !out.pid && !unit) return std::nullopt;
  if (!out.path.empty()) {
    const std::string folder = folder_of(out.path);
    for (const std::string& candidate : {folder + "/../lib/ollama", folder + "/lib/ollama"}) {
      if (!os::exists(candidate)) continue;
      out.library_folder = os::real_path(candidate).value_or(candidate);
      out.libraries = gpu_libraries_of_ollama(out.library_folder);
      break;
    }
  }
  const auto kept = [](const Environment& all) {
    std::vector<std::string> entries;
    entries.reserve(all.size());
    for (const auto& [name, value] : all) entries.push_back(fmt::format("{}={}", name, value));
    return placement_environment(entries);
  };
  if (out.pid) {
    const Environment started = environment_at_start(root, *out.pid);
    if (!started.empty()) {
      out.environment = kept(started);
      out.environment_source = fmt::format("process {}", *out.pid);
    }
  }
  if (!unit) return out;
  if (out.environment_source.empty()) {
    out.environment = kept(unit->environment);
    out.environment_source = unit->source;
  }
  out.user = unit->user;
  out.missing_groups = missing_groups(root, checkup, unit->user);
  return out;
}

}  // namespace

Result<Checkup> gather_checkup(const std::string& bin, os::Interrupts& interrupts) {
  const Result<std::vector<std::string>> paths = engine_paths(bin);
  if (!paths) return std::unexpected(paths.error());
  const std::string root = system_root();
  const Environment environment = own_environment();
  Checkup out = look_at_machine(root, read_machine(root), environment, os::NodeTrial::open);
  out.environment = placement_environment(os::environment());
  out.telemetry = look_twice(&interrupts, kMeterPatience);
  for (const std::string& path : *paths) {
    if (interrupts.caught()) break;
    out.engines.push_back(ask(path, interrupts));
  }
  for (EngineFound& wheel : find_wheels(root == "/" ? "" : root, environment)) {
    out.engines.push_back(std::move(wheel));
  }
  out.ollama = find_ollama(root == "/" ? "" : root, out);
  if (interrupts.caught()) return fail(ErrorKind::interrupted, "interrupted");
  return out;
}

Checkup gather_machine(const Machine& machine) {
  return look_at_machine(system_root(), machine, own_environment(), os::NodeTrial::ask);
}

}  // namespace picchio
