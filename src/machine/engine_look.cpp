#include "machine/engine_look.h"

#include "base/text.h"
#include "machine/process_facts.h"
#include "os/proc.h"

#include <algorithm>
#include <string_view>

namespace picchio {
namespace {

bool is_model(std::string_view name) { return lower(name).ends_with(".gguf"); }

/// A library of ggml's, or the program itself, which is mapped too. Not the name of a script: that
/// is not what runs it.
bool is_engine(std::string_view name) {
  if (name.starts_with('.')) name.remove_prefix(1);  // what a wrapper script hides
  constexpr std::string_view kBeginnings[] = {"libggml", "libllama", "llama-", "llamafile",
                                              "koboldcpp"};
  return name == "ollama" || std::ranges::any_of(kBeginnings, [&](std::string_view beginning) {
           return name.starts_with(beginning);
         });
}

}  // namespace

EngineLook look_for_engine(const std::string& root, int pid) {
  EngineLook out;
  for (const int member : os::process_tree(root, pid)) {
    for (const auto& files : {os::mapped_files(root, member), os::open_files(root, member)}) {
      if (!files) continue;
      for (const std::string& path : *files) {
        out.model_open = out.model_open || is_model(path);
        out.engine = out.engine || is_engine(base_name(path));
      }
    }
  }
  out.engine = out.engine || out.model_open;
  if (out.engine) out.facts = read_process_facts(root, pid);
  return out;
}

}  // namespace picchio
