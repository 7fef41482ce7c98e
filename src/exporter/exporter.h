// The server of metrics, in a library of its own that is loaded when metrics are asked for.
//
// prometheus-cpp writes Prometheus' text format and answers the scrapes, by civetweb. Debian has
// both as shared libraries only, and to link their five files costs every command 0.8 ms before
// main() begins (measured, median of 300 starts). So they are linked to a small library beside
// picchio, whose one symbol is a table of the functions below. Both are of one build: what crosses
// are C++ types.
#pragma once

#include "base/result.h"

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <memory>
#include <string>
#include <vector>

namespace picchio::exporter {

/// A server that answers at /metrics until it is destroyed; its threads end with it.
class Server {
 public:
  Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  virtual ~Server() = default;

  [[nodiscard]] virtual int port() const = 0;  // that was bound
};

struct Functions {
  /// `address` is "127.0.0.1:9464" or "[::1]:9464"; port 0: any that is free. `what` is asked in
  /// the server's threads, several at a time.
  Result<std::unique_ptr<Server>> (*serve)(const std::string& address,
                                           const std::shared_ptr<prometheus::Collectable>& what);

  /// What a scrape would get.
  std::string (*text)(const std::vector<prometheus::MetricFamily>& families);
};

/// The library's symbol. The number changes with this header, so that a library of another build
/// is not taken for ours.
inline constexpr const char* kSymbol = "picchio_exporter_1";
using Entry = const Functions*();

}  // namespace picchio::exporter
