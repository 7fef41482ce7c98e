// Servers that answer on this machine just now.
#pragma once

#include "engines/ollama/served_tags.h"
#include "engines/servers/detect.h"
#include "os/signals.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// The usual ports: 8080 and 9931 llama-server, 1234 LM Studio, 11434 ollama, 8000 vLLM and many,
/// 30000 SGLang, 5001 KoboldCpp, 5000 TabbyAPI and text-generation-webui.
[[nodiscard]] std::span<const int> usual_ports();

/// Base URLs by which those of `ports` are reached that somebody listens on,
/// "http://127.0.0.1:8080". The texts are those of /proc/net/tcp and tcp6; where neither can be had
/// every port counts. Pure.
[[nodiscard]] std::vector<std::string> listening_urls(const std::optional<std::string>& tcp,
                                                      const std::optional<std::string>& tcp6,
                                                      std::span<const int> ports);

struct RunningServers {
  std::vector<servers::DetectedServer> servers;  // all but the ollama that tags go to
  std::vector<ollama::ServedTag> tags;           // of that one
  bool tags_told = false;                        // it runs and answered, perhaps with no tags
  std::vector<std::string> notes;  // of those that did not answer in time, or want a key
};

/// Where the ollama answers that `picchio TAG` asks, by OLLAMA_HOST; empty: not on this machine.
[[nodiscard]] std::string local_ollama();

/// All of them are asked at once, and none is waited for longer than a third of a second.
/// `interrupts` may be null.
[[nodiscard]] RunningServers find_running_servers(std::span<const int> ports,
                                                  const std::string& ollama,
                                                  const os::Interrupts* interrupts);

}  // namespace picchio
