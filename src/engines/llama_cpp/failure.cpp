#include "engines/llama_cpp/failure.h"

#include "base/text.h"

#include <array>
#include <csignal>
#include <cstddef>
#include <ranges>

namespace picchio::llama_cpp {
namespace {

struct Symptom {
  std::string_view marker;  // in lower case
  std::string_view hint;
};

constexpr std::string_view kMemoryHint =
    "out of memory: a smaller context (-- -c N), a smaller quantization, fewer layers on the GPU "
    "(-- -ngl N), or free what other programs hold";

// Ordered by how much they explain: the first marker found anywhere in the log names the line.
constexpr std::array kSymptoms = {
    // "error: invalid argument: --badflag"
    Symptom{"invalid argument", "the engine does not know that argument: see its --help"},
    Symptom{"error while handling argument",
            "the engine refused an argument's value: see its --help"},
    // "llama_completion: prompt is too long (677 tokens, max 252)"
    Symptom{"prompt is too long", "give a larger context: -- -c N"},
    Symptom{"out of memory", kMemoryHint},
    Symptom{"outofdevicememory", kMemoryHint},
    Symptom{"outofhostmemory", kMemoryHint},
    Symptom{"cannot allocate memory", kMemoryHint},
    Symptom{"bad_alloc", kMemoryHint},
    // "alloc_tensor_range: failed to allocate CUDA0 buffer of size 4026531840"
    Symptom{"failed to allocate", kMemoryHint},
    Symptom{"unable to allocate", kMemoryHint},
    Symptom{"device memory allocation of size", kMemoryHint},
    Symptom{"unknown model architecture",
            "this engine is older than the model: take a newer build"},
    Symptom{"unknown pre-tokenizer", "this engine is older than the model: take a newer build"},
    Symptom{"invalid magic", "the file is not a GGUF model"},
    Symptom{"tensor data is not within the file bounds",
            "the model file is cut off: fetch it again"},
    Symptom{"data is not within the file bounds", "the model file is cut off: fetch it again"},
    Symptom{"missing tensor",
            "the model file lacks a tensor: fetch it again, or take a newer engine"},
    Symptom{"wrong number of tensors", "this engine and this model do not fit: take a newer build"},
    Symptom{"failed to connect", "the remote server did not answer: is it running there?"},
    Symptom{"remote rpc server crashed", "the remote server went away during the run: see its log"},
    Symptom{"illegal instruction", "the engine was built for another processor"},
    Symptom{"no kernel image is available", "this engine's build does not support this GPU"},
    Symptom{"invalid device", "no such device here: see the engine's --list-devices"},
    Symptom{"error loading model", ""},
    Symptom{"failed to load model", ""},
    Symptom{"cannot open shared object file", "a library that the engine needs is missing"},
    Symptom{"no such file or directory", "a file or a library that the engine needs is missing"},
    Symptom{"ggml_assert", ""},
    Symptom{"what():", ""},
    Symptom{"error:", ""},
};

// The engine's clock and level say nothing to a reader: "0.00.013.402 E " goes.
std::string_view without_log_prefix(std::string_view line) {
  std::size_t i = 0;
  int points = 0;
  while (i < line.size() && ((line[i] >= '0' && line[i] <= '9') || line[i] == '.')) {
    if (line[i] == '.') ++points;
    ++i;
  }
  if (points == 3 && i + 1 < line.size() && line[i] == ' ') return trim(line.substr(i + 2));
  return trim(line);
}

struct Finding {
  std::string line;
  std::string_view hint;
  bool telling = false;  // a known symptom, not merely the last thing said
};

Finding telling_line(std::string_view log) {
  const std::vector<std::string_view> lines = split_lines(log);
  for (const Symptom& symptom : kSymptoms) {
    for (const std::string_view line : lines) {
      // Looking in every usual place for backends is no failure.
      if (line.find("ggml_backend_load_best") != std::string_view::npos) continue;
      if (lower(line).find(symptom.marker) != std::string::npos) {
        return {plain(without_log_prefix(line)), symptom.hint, true};
      }
    }
  }
  // llama.cpp logs from a thread of its own and can exit before the last, telling line is out.
  for (const std::string_view line : lines | std::views::reverse) {
    std::string last = plain(without_log_prefix(line));
    if (!last.empty()) return {std::move(last), "", false};
  }
  return {};
}

struct SignalName {
  int number;
  std::string_view name;
  std::string_view hint;
};

constexpr std::array kSignals = {
    SignalName{SIGKILL, "SIGKILL",
               "somebody killed it, or the kernel did when memory ran out: see dmesg"},
    SignalName{SIGSEGV, "SIGSEGV", "the engine crashed: try a newer build"},
    SignalName{SIGABRT, "SIGABRT", ""},
    SignalName{SIGILL, "SIGILL", "the engine was built for another processor"},
    SignalName{SIGBUS, "SIGBUS", "the model file changed or shrank while it was mapped"},
    SignalName{SIGTERM, "SIGTERM", "somebody ended it"},
    SignalName{SIGINT, "SIGINT", "somebody interrupted it"},
};

std::string how_it_ended(int exit_code) {
  constexpr int kSignalBase = 128;
  for (const SignalName& signal : kSignals) {
    if (exit_code == kSignalBase + signal.number) {
      return fmt::format("was killed by signal {} ({})", signal.number, signal.name);
    }
  }
  return fmt::format("exited with code {}", exit_code);
}

std::string_view signal_hint(int exit_code) {
  constexpr int kSignalBase = 128;
  for (const SignalName& signal : kSignals) {
    if (exit_code == kSignalBase + signal.number) return signal.hint;
  }
  return "";
}

}  // namespace

bool log_may_be_cut(int exit_code, std::string_view log) {
  constexpr int kSignalBase = 128;
  if (exit_code == 0) return log.find("eval time") == std::string_view::npos;
  return exit_code < kSignalBase && !telling_line(log).telling;
}

Error failure_of(std::string_view program, int exit_code, std::string_view log) {
  // A crash's last words are longer than a terminal line wants; the whole log is kept by
  // --keep-logs.
  constexpr std::size_t kLongestLine = 300;
  const Finding found = telling_line(log);
  Error out;
  out.kind = ErrorKind::failed;
  out.message = fmt::format("{} {}", plain(program), how_it_ended(exit_code));
  out.message += found.line.empty() ? " and said nothing"
                 : found.telling    ? ": " + fit(found.line, kLongestLine)
                                    : "; its last words: " + fit(found.line, kLongestLine);
  const std::string_view hint = found.hint.empty() ? signal_hint(exit_code) : found.hint;
  out.hint = std::string(hint);
  return out;
}

}  // namespace picchio::llama_cpp
