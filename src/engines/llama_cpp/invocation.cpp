#include "engines/llama_cpp/invocation.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace picchio::llama_cpp {
namespace {

struct Reserved {
  std::string_view flag;
  std::string_view why;
};

// What the protocol fixes, and what would take the evidence away.
constexpr std::array kReserved = {
    Reserved{"-m", "name the model before '--'"},
    Reserved{"--model", "name the model before '--'"},
    Reserved{"-hf", "name a local model file before '--'"},
    Reserved{"--hf-repo", "name a local model file before '--'"},
    Reserved{"-p", "the prompt is part of protocol mp1"},
    Reserved{"--prompt", "the prompt is part of protocol mp1"},
    Reserved{"-f", "the prompt is part of protocol mp1"},
    Reserved{"--file", "the prompt is part of protocol mp1"},
    Reserved{"-bf", "the prompt is part of protocol mp1"},
    Reserved{"--binary-file", "the prompt is part of protocol mp1"},
    Reserved{"--prompt-cache", "a cached prompt measures nothing"},
    Reserved{"-n", "protocol mp1 generates 128 tokens"},
    Reserved{"--predict", "protocol mp1 generates 128 tokens"},
    Reserved{"--n-predict", "protocol mp1 generates 128 tokens"},
    Reserved{"-i", "picchio cannot measure a conversation"},
    Reserved{"--interactive", "picchio cannot measure a conversation"},
    Reserved{"-if", "picchio cannot measure a conversation"},
    Reserved{"--interactive-first", "picchio cannot measure a conversation"},
    Reserved{"-cnv", "picchio cannot measure a conversation"},
    Reserved{"--conversation", "picchio cannot measure a conversation"},
    Reserved{"--log-disable", "picchio reads the engine's log"},
    Reserved{"--log-file", "picchio reads the engine's log from its stderr"},
    Reserved{"--log-jsonl", "picchio reads the engine's log from its stderr"},
};

// Long flags may carry their value behind '='.
std::string_view flag_name(std::string_view argument) {
  return argument.starts_with("--") ? argument.substr(0, argument.find('=')) : argument;
}

}  // namespace

bool prompt_on_stdin(const std::string& prompt) {
  constexpr std::size_t kLongestArgument = std::size_t{96} * 1024;
  return prompt.size() > kLongestArgument;
}

std::vector<std::string> command_line(const std::string& program, const Abilities& can,
                                      const PassRequest& request) {
  std::vector<std::string> out = {program};
  // First: some builds print their backend lines only when the level is set before --device.
  if (can.verbosity_levels) {
    out.insert(out.end(), {"-lv", "4"});
  } else if (can.verbose) {
    out.emplace_back("--verbose");
  }
  const bool from_stdin = prompt_on_stdin(request.prompt);
  out.insert(out.end(),
             {"-m", request.model_path, from_stdin ? "-f" : "-p",
              from_stdin ? "/dev/stdin" : request.prompt, "-n", fmt::format("{}", request.generate),
              "-c", fmt::format("{}", request.context)});
  if (can.seed) out.insert(out.end(), {"--seed", fmt::format("{}", request.seed)});
  if (can.ignore_eos) out.emplace_back("--ignore-eos");
  if (can.no_conversation) out.emplace_back("-no-cnv");
  if (can.no_display_prompt) out.emplace_back("--no-display-prompt");
  if (can.simple_io) out.emplace_back("--simple-io");
  out.insert(out.end(), request.user_args.begin(), request.user_args.end());
  return out;
}

std::optional<std::int64_t> context_of(const std::vector<std::string>& user_args) {
  std::optional<std::int64_t> out;
  for (std::size_t i = 0; i < user_args.size(); ++i) {
    std::string_view argument = user_args[i];
    if (argument == "-c" || argument == "--ctx-size") {
      if (i + 1 < user_args.size()) out = parse_int(user_args[i + 1]);
    } else if (take_prefix(argument, "--ctx-size=") || take_prefix(argument, "-c")) {
      // "-ctk", "-cmoe" and their like begin with -c, too.
      if (const auto tokens = parse_int(argument)) out = tokens;
    }
  }
  return out;
}

Result<void> check_user_args(const std::vector<std::string>& user_args) {
  for (const std::string& argument : user_args) {
    const auto row = std::ranges::find(kReserved, flag_name(argument), &Reserved::flag);
    if (row != kReserved.end()) {
      return fail(ErrorKind::unsupported, "engine argument '{}' cannot be used here: {}",
                  plain(argument), row->why);
    }
  }
  return {};
}

const std::vector<std::pair<std::string, std::string>>& set_environment() {
  static const std::vector<std::pair<std::string, std::string>> variables = {{"LC_NUMERIC", "C"}};
  return variables;
}

const std::vector<std::string>& unset_environment() {
  static const std::vector<std::string> variables = {
      "LC_ALL",  // it would outrank LC_NUMERIC
      "LLAMA_LOG_FILE",
      "LLAMA_ARG_LOG_FILE",
      "LLAMA_LOG_COLORS",
      "LLAMA_ARG_LOG_COLORS",
      "LLAMA_ARG_LOG_JSONL",
      "LLAMA_LOG_VERBOSITY",
      "LLAMA_ARG_N_PREDICT",
      "LLAMA_ARG_LOG_VERBOSITY",
      "LLAMA_ARG_PERF",
      "LLAMA_ARG_MODEL",
      "LLAMA_ARG_HF_REPO",
      "LLAMA_ARG_HF_FILE",
  };
  return variables;
}

const std::vector<std::string_view>& placement_variables() {
  static const std::vector<std::string_view> names = {
      "LLAMA_ARG_*",
      "CUDA_VISIBLE_DEVICES",
      "HIP_VISIBLE_DEVICES",
      "ROCR_VISIBLE_DEVICES",
      "GPU_DEVICE_ORDINAL",
      "GGML_*",
      "VK_DRIVER_FILES",
      "VK_ICD_FILENAMES",
      "VK_LOADER_DRIVERS_SELECT",
      "VK_LOADER_DRIVERS_DISABLE",
      "ONEAPI_DEVICE_SELECTOR",
      "ZE_AFFINITY_MASK",
      "HSA_OVERRIDE_GFX_VERSION",
      "MUSA_VISIBLE_DEVICES",
      "ASCEND_RT_VISIBLE_DEVICES",
      "LD_LIBRARY_PATH",
      "OMP_NUM_THREADS",
      "LP_NUM_THREADS",
  };
  return names;
}

}  // namespace picchio::llama_cpp
