#include "commands/engine_probe.h"

#include "base/text.h"
#include "commands/engine_cache.h"
#include "os/file.h"
#include "os/process.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

namespace picchio {
namespace {

// --version loads every backend: seconds on a machine with a sleepy GPU, never minutes.
constexpr Micros kProbeTime{60'000'000};
constexpr std::int64_t kMostProbeBytes = std::int64_t{4} << 20;

constexpr std::array<const char*, 2> kPrograms = {"llama-completion", "llama-cli"};

Result<std::string> locate(const std::string& wanted) {
  if (!wanted.empty()) {
    if (auto path = os::find_on_path(wanted)) return *std::move(path);
    return with_hint(fail(ErrorKind::not_found, "no program '{}' that could be run", plain(wanted)),
                     "give the path of llama-completion with --bin PATH");
  }
  for (const char* name : kPrograms) {
    if (auto path = os::find_on_path(name)) return *std::move(path);
  }
  return with_hint(fail(ErrorKind::not_found,
                        "no llama.cpp found: neither llama-completion nor llama-cli on PATH"),
                   "install llama.cpp, or name its llama-completion with --bin PATH");
}

Result<std::string> output_of(const std::string& program, const char* flag,
                              os::Interrupts& interrupts) {
  const auto capture = os::run_simple({program, flag}, kProbeTime, kMostProbeBytes, interrupts);
  if (!capture) return std::unexpected(capture.error());
  if (capture->end == os::End::interrupted) {
    return fail(ErrorKind::interrupted, "interrupted; the engine was stopped");
  }
  if (capture->end != os::End::exited) {
    return fail(ErrorKind::timed_out, "'{} {}' did not end: is it a llama.cpp program?",
                plain(program), flag);
  }
  return capture->stdout_head + "\n" + capture->stderr_text;
}

Result<ProbedEngine> ask(const std::string& path, os::Interrupts& interrupts) {
  ProbedEngine out;
  out.program.path = path;
  out.program.name = std::filesystem::path(path).filename().string();
  const Result<std::string> version = output_of(path, "--version", interrupts);
  if (!version) return std::unexpected(version.error());
  if (const auto parsed = llama_cpp::parse_version(*version)) {
    out.program.version = parsed->version;
    out.program.build = parsed->build;
  }
  const Result<std::string> help = output_of(path, "--help", interrupts);
  if (!help) return std::unexpected(help.error());
  if (help->find("--model") == std::string::npos) {
    return with_hint(fail(ErrorKind::unsupported,
                          "'{}' is no llama.cpp program: its --help knows no --model", plain(path)),
                     "name llama-completion with --bin PATH");
  }
  out.abilities = llama_cpp::parse_help(*help);
  return out;
}

Result<ProbedEngine> refuse_chat(ProbedEngine engine) {
  if (!engine.abilities.chat_only) return engine;
  return with_hint(
      fail(ErrorKind::unsupported,
           "'{}' is the interactive chat program of this build, which cannot be measured",
           plain(engine.program.path)),
      "name llama-completion of the same build with --bin PATH");
}

}  // namespace

Result<ProbedEngine> find_engine(const std::string& wanted, os::Interrupts& interrupts) {
  const Result<std::string> path = locate(wanted);
  if (!path) return std::unexpected(path.error());
  const auto identity = os::file_identity(*path);
  if (identity) {
    if (auto known = recall_engine(*path, *identity)) return refuse_chat(*std::move(known));
  }
  Result<ProbedEngine> engine = ask(*path, interrupts);
  if (!engine) return engine;
  if (identity) remember_engine(*engine, *identity);
  return refuse_chat(*std::move(engine));
}

}  // namespace picchio
