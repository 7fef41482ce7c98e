#include "exporter/exporter.h"

#include <CivetServer.h>
#include <prometheus/exposer.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <utility>

namespace picchio::exporter {
namespace {

// What civetweb said in this thread. It hands the reason of a failed start to its log only, before
// a last line that tells nothing.
std::string& said() {
  thread_local std::string words;
  return words;
}

int note(const mg_connection*, const char* message) {
  constexpr std::size_t kMost = 1000;  // its own threads say things for as long as they live
  if (said().size() < kMost) said().append(message).push_back('\n');
  return 1;  // taken: nothing is written anywhere
}

// Out of "cannot bind to 127.0.0.1:9464: 98 (Address already in use)", civetweb 1.15 and 1.16.
std::string reason_of(const std::string& address, const std::exception& thrown) {
  const std::string& words = said();
  if (words.find("cannot bind") != std::string::npos) {
    const std::size_t open = words.find('(');
    const std::size_t close = words.find(')', open);
    if (close != std::string::npos) return words.substr(open + 1, close - open - 1);
  }
  // Debian 12's was (1.15); Debian 13's knows it (1.16).
  if (address.front() == '[') return "the civetweb that serves was built without IPv6";
  return thrown.what();
}

// civetweb's listening thread looks every 2 s whether it shall end, or when somebody comes: so long
// SIGTERM would take. Somebody comes, then, again and again until it has ended.
class Visitor {
 public:
  Visitor(std::string host, int port)
      : thread_([this, host = std::move(host), port] {
          while (!done_) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            char ignored[100] = "";
            mg_connection* const visit =
                mg_connect_client(host.c_str(), port, 0, ignored, sizeof ignored);
            if (visit != nullptr) mg_close_connection(visit);
          }
        }) {}
  Visitor(const Visitor&) = delete;
  Visitor& operator=(const Visitor&) = delete;
  ~Visitor() {
    done_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

class ExposerServer : public Server {
 public:
  ExposerServer(const std::string& address, std::unique_ptr<prometheus::Exposer> exposer,
                std::shared_ptr<prometheus::Collectable> what)
      : host_(address.substr(0, address.rfind(':'))),
        what_(std::move(what)),
        exposer_(std::move(exposer)) {
    if (host_ == "0.0.0.0") host_ = "127.0.0.1";
    if (host_ == "[::]") host_ = "[::1]";
    exposer_->RegisterCollectable(what_);
  }
  ExposerServer(const ExposerServer&) = delete;
  ExposerServer& operator=(const ExposerServer&) = delete;
  ~ExposerServer() override {
    // civetweb counts those who use it: without this the visitor could be its last user.
    mg_init_library(0);
    {
      const Visitor visitor(host_, port());
      exposer_.reset();
    }
    mg_exit_library();
  }

  [[nodiscard]] int port() const override { return exposer_->GetListeningPorts().front(); }

 private:
  std::string host_;                               // where it can be reached
  std::shared_ptr<prometheus::Collectable> what_;  // the exposer holds it weakly
  std::unique_ptr<prometheus::Exposer> exposer_;
};

Result<std::unique_ptr<Server>> serve(const std::string& address,
                                      const std::shared_ptr<prometheus::Collectable>& what) {
  CivetCallbacks callbacks;
  callbacks.log_message = note;
  said().clear();
  try {
    auto exposer = std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{
            "listening_ports", address,
            // Four peers that say nothing do not keep a scrape waiting longer than its time-out.
            "num_threads", "4", "request_timeout_ms", "3000", "keep_alive_timeout_ms", "500"},
        &callbacks);
    return std::make_unique<ExposerServer>(address, std::move(exposer), what);
  } catch (const std::exception& thrown) {
    const std::string reason = reason_of(address, thrown);
    const bool denied = reason == "Permission denied";
    return std::unexpected(Error{denied ? ErrorKind::denied : ErrorKind::failed,
                                 "cannot listen on '" + address + "': " + reason,
                                 {}});
  }
}

std::string text(const std::vector<prometheus::MetricFamily>& families) {
  return static_cast<const prometheus::Serializer&>(prometheus::TextSerializer())
      .Serialize(families);
}

constexpr Functions kFunctions = {serve, text};

}  // namespace
}  // namespace picchio::exporter

extern "C" __attribute__((visibility("default"))) const picchio::exporter::Functions*
picchio_exporter_1() {
  return &picchio::exporter::kFunctions;
}
