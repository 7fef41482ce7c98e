#include "commands/monitor/metrics.h"

#include "base/text.h"
#include "commands/monitor/series.h"
#include "exporter/exporter.h"
#include "os/file.h"
#include "os/library.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace picchio {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileName = "libpicchio-exporter.so";
constexpr std::int64_t kMostPort = 65535;

// What is served: replaced as a whole, so that a scrape never sees two probes mixed.
class Snapshot : public prometheus::Collectable {
 public:
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    const std::scoped_lock lock(mutex_);
    return families_;
  }

  void replace(std::vector<prometheus::MetricFamily> families) {
    const std::scoped_lock lock(mutex_);
    families_.swap(families);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<prometheus::MetricFamily> families_;
};

bool is_ipv4(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  return parts.size() == 4 && std::ranges::all_of(parts, [](std::string_view part) {
           const bool digits =
               !part.empty() && part.size() <= 3 && std::ranges::all_of(part, is_digit);
           return digits && parse_int(part).value_or(256) <= 255;
         });
}

// Its letters only: whoever binds it looks closer.
bool is_like_ipv6(std::string_view text) {
  return std::ranges::count(text, ':') >= 2 &&
         text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

std::optional<int> port_of(std::string_view text) {
  constexpr std::size_t kMostDigits = 5;
  if (text.empty() || text.size() > kMostDigits || !std::ranges::all_of(text, is_digit)) {
    return std::nullopt;
  }
  const std::int64_t port = parse_int(text).value_or(kMostPort + 1);
  if (port > kMostPort) return std::nullopt;
  return static_cast<int>(port);
}

std::optional<std::string> host_of(std::string_view text) {
  if (text == "localhost") return "127.0.0.1";
  if (is_ipv4(text)) return std::string(text);
  const bool bracketed = text.size() > 2 && text.front() == '[' && text.back() == ']';
  if (bracketed && is_like_ipv6(text.substr(1, text.size() - 2))) {
    return std::string(text.substr(1, text.size() - 2));
  }
  return std::nullopt;
}

// Beside the program (a build folder, or copied together), or where it was installed.
std::vector<std::string> library_places() {
  std::vector<std::string> out;
  if (const auto self = os::read_link("/proc/self/exe")) {
    const fs::path folder = fs::path(*self).parent_path();
    out.push_back((folder / kFileName).string());
    out.push_back((folder.parent_path() / PICCHIO_LIBDIR / "picchio" / kFileName).string());
  }
  // As the loader finds it: LD_LIBRARY_PATH, and systems without /proc.
  out.emplace_back(kFileName);
  return out;
}

Result<const exporter::Functions*> load_exporter(const std::string& named) {
  const std::vector<std::string> places =
      named.empty() ? library_places() : std::vector<std::string>{named};
  std::vector<const char*> names;
  std::error_code ignored;
  for (const std::string& place : places) {
    // The reason that is told is the first one's: where there is no file it says nothing.
    if (!place.starts_with('/') || fs::exists(place, ignored)) names.push_back(place.c_str());
  }
  if (names.empty()) names.push_back(places.front().c_str());
  const auto library = os::DynamicLibrary::open("what serves metrics", names);
  if (!library) {
    return with_hint(std::unexpected(library.error()),
                     "it belongs beside picchio or where 'cmake --install' puts it, and needs "
                     "Debian's libprometheus-cpp-pull1.0");
  }
  exporter::Entry* entry = nullptr;
  if (const auto found = library->load(exporter::kSymbol, entry); !found) {
    return with_hint(std::unexpected(found.error()), "it is of another build than picchio");
  }
  return entry();
}

}  // namespace

std::string to_text(const ListenAddress& address) {
  const bool six = address.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(six ? "[{}]:{}" : "{}:{}"), address.host, address.port);
}

Result<ListenAddress> parse_listen_address(const std::string& text) {
  ListenAddress out;
  const std::size_t colon = text.rfind(':');
  const std::string_view port = std::string_view(text).substr(colon + 1);  // npos + 1 is 0
  const std::optional<int> number = port_of(port);
  if (!number) {
    return fail(ErrorKind::malformed,
                "'{}' is no place to serve metrics at: write a port up to {}, as 9464, or "
                "127.0.0.1:9464",
                plain(text), kMostPort);
  }
  out.port = *number;
  if (colon == std::string::npos) return out;
  const std::optional<std::string> host = host_of(std::string_view(text).substr(0, colon));
  if (!host) {
    return fail(ErrorKind::malformed,
                "'{}' is no place to serve metrics at: before the port write an address of this "
                "machine, as 127.0.0.1:{}, or 0.0.0.0:{} for every network that it is in",
                plain(text), out.port, out.port);
  }
  out.host = *host;
  return out;
}

struct MonitorMetrics::Parts {
  const exporter::Functions* functions = nullptr;
  std::string host;
  std::shared_ptr<Snapshot> snapshot;
  MonitorSeries series;
  std::unique_ptr<exporter::Server> server;  // last: its threads ask the snapshot
};

MonitorMetrics::MonitorMetrics(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
MonitorMetrics::~MonitorMetrics() = default;

Result<std::unique_ptr<MonitorMetrics>> MonitorMetrics::serve(const ListenAddress& address,
                                                              const std::string& library) {
  const auto functions = load_exporter(library);
  if (!functions) return std::unexpected(functions.error());
  auto parts = std::make_unique<Parts>();
  parts->functions = *functions;
  parts->host = address.host;
  parts->snapshot = std::make_shared<Snapshot>();
  parts->snapshot->replace(parts->series.families());
  auto server = parts->functions->serve(to_text(address), parts->snapshot);
  if (!server) return std::unexpected(std::move(server).error());
  parts->server = *std::move(server);
  return std::unique_ptr<MonitorMetrics>(new MonitorMetrics(std::move(parts)));
}

void MonitorMetrics::publish(const Probe& probe, const MonitorStatus& status) {
  parts_->series.take(probe, status);
  parts_->snapshot->replace(parts_->series.families());
}

std::string MonitorMetrics::address() const {
  return to_text({.host = parts_->host, .port = parts_->server->port()});
}

std::string MonitorMetrics::text() const {
  return parts_->functions->text(parts_->snapshot->Collect());
}

}  // namespace picchio
