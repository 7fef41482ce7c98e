// The metrics of `picchio monitor` for Prometheus: where they are served, and that they are.
#pragma once

#include "base/result.h"
#include "evidence/monitored.h"

#include <memory>
#include <string>

namespace picchio {

struct ListenAddress {
  std::string host = "127.0.0.1";  // an address, never a name; IPv6 without brackets
  int port = 0;                    // 0: any that is free
};
[[nodiscard]] std::string to_text(const ListenAddress& address);  // "[::1]:9464"

/// "[HOST:]PORT". Without a host it is the loopback: others see the metrics only when asked for.
[[nodiscard]] Result<ListenAddress> parse_listen_address(const std::string& text);

/// Serves at http://ADDRESS/metrics from its making to its end; the threads end with it. SIGPIPE
/// must be ignored meanwhile, as an Interrupts does: civetweb's threads set it so whatever it was.
class MonitorMetrics {
 public:
  /// `library` is for tests; empty: the one beside the program, or where it is installed.
  [[nodiscard]] static Result<std::unique_ptr<MonitorMetrics>> serve(
      const ListenAddress& address, const std::string& library = {});

  MonitorMetrics(const MonitorMetrics&) = delete;
  MonitorMetrics& operator=(const MonitorMetrics&) = delete;
  ~MonitorMetrics();

  /// From the next scrape on these are the values, all of them at once. To be called after every
  /// probe, whatever became of it.
  void publish(const Probe& probe, const MonitorStatus& status);

  [[nodiscard]] std::string address() const;  // with the port that was bound
  [[nodiscard]] std::string text() const;     // what a scrape gets

 private:
  struct Parts;
  explicit MonitorMetrics(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace picchio
