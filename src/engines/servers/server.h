// A running server as the measurement sees it: its model, its requests, what it tells beside them.
// One class for each API, made by open_server().
#pragma once

#include "base/result.h"
#include "engines/servers/asker.h"
#include "engines/servers/detect.h"
#include "evidence/server.h"
#include "os/signals.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace picchio::servers {

/// A model that the server has.
struct ServedModel {
  std::string name;                          // as requests name it; empty: there is only one
  std::string shown;                         // for the block: the name, or its file's
  std::string file;                          // on the server's machine; empty: not told
  std::string quant;                         // "Q4_K_M"
  std::optional<std::int64_t> weight_bytes;  // of its files
  std::optional<double> parameters;
  std::optional<std::int64_t> context;  // of one request; of ollama the most it can be given
  std::optional<std::int64_t> slots;    // requests at once
};

/// What a pass asks for.
struct Order {
  std::string prompt;
  std::int64_t tokens = 0;
  std::int64_t context = 0;  // where the server lets a request choose
  std::int64_t seed = 0;
};

struct Call {
  std::string path;
  std::string body;  // JSON
};

/// How long something may take, who may end it, and where to say that it takes long.
struct Wait {
  const os::Interrupts& interrupts;
  std::function<void(std::string_view)> note;
  Micros limit = std::chrono::minutes(10);
};

class Server {
 public:
  Server(DetectedServer detected, Asker asker)
      : detected_(std::move(detected)), asker_(std::move(asker)) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  virtual ~Server() = default;

  [[nodiscard]] const DetectedServer& detected() const { return detected_; }

  /// Waits for a server that is still loading. `asked` empty: the one that it has; of several the
  /// error names them.
  [[nodiscard]] virtual Result<ServedModel> choose_model(const std::string& asked,
                                                         const Wait& wait) = 0;

  /// Has the model unloaded, so that the next request loads it. False: this server cannot.
  [[nodiscard]] virtual Result<bool> unload(const Wait& wait);

  /// Words about requests of others that it is at just now; empty: none, or it does not tell.
  [[nodiscard]] virtual std::string busy() const { return {}; }

  [[nodiscard]] virtual Call call(const Order& order) const = 0;
  /// After the server refused a call: leaves out what is not essential. False: nothing is left.
  virtual bool simplify() { return false; }

  /// RawExchange::claim and the counters, as they are now; empty where there are none.
  [[nodiscard]] virtual std::string claim() const { return {}; }
  [[nodiscard]] virtual std::string counters() const { return {}; }

  /// Whether a request may choose its context.
  [[nodiscard]] virtual bool context_is_ours() const { return false; }

  /// The way there and back of a question that costs the server nothing.
  [[nodiscard]] std::optional<Micros> latency() const;

 protected:
  [[nodiscard]] const Asker& asker() const { return asker_; }
  /// Told only once it had loaded.
  void set_version(std::string version) { detected_.version = std::move(version); }

 private:
  DetectedServer detected_;
  Asker asker_;
};

[[nodiscard]] std::unique_ptr<Server> open_server(DetectedServer detected, os::HttpClient& client);

}  // namespace picchio::servers
