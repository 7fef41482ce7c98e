#include "meters/apple/ioreg_text.h"

#include "base/text.h"

#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace picchio::meters::apple {
namespace {

constexpr std::size_t kMostAccelerators = 64;
constexpr std::size_t kMostClients = 65536;
constexpr std::size_t kMostText = 256;  // of a name

/// Reads a value as ioreg prints it: "text", 42, Yes, <00ff>, ("a","b") or {"key"=value}, on one
/// line. Every step goes forward, so a line costs no more than its length.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  bool take(char wanted) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// ioreg escapes nothing, so a text ends at the next quote.
  std::optional<std::string_view> quoted() {
    if (!take('"')) return std::nullopt;
    const std::size_t end = rest_.find('"');
    if (end == std::string_view::npos) {
      rest_ = {};
      return std::nullopt;
    }
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  /// A whole number. `closed`: something must follow, or its last digits may have been cut off.
  std::optional<std::int64_t> number(bool closed) {
    skip_blanks();
    std::int64_t value = 0;
    const char* const end = rest_.data() + rest_.size();
    const auto [stop, error] = std::from_chars(rest_.data(), end, value);
    if (error != std::errc()) return std::nullopt;  // none, or more than 64 bits
    const bool ends = stop == end ? !closed : std::string_view(",)} \t").contains(*stop);
    if (!ends) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    return value;
  }

  /// To the next ',' or closing bracket of the level where it stands.
  void skip_value() {
    std::size_t depth = 0;
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '"') {
        (void)quoted();
        continue;
      }
      const bool closes = c == ')' || c == '}';
      if (depth == 0 && (closes || c == ',')) return;
      if (c == '(' || c == '{') ++depth;
      if (closes) --depth;
      rest_.remove_prefix(1);
    }
  }

  /// {"key"=value,...}: `entry(key)` reads the value, or leaves it to be skipped. False: cut off,
  /// or no dictionary.
  template <class Entry>
  bool dictionary(const Entry& entry) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      const auto key = quoted();
      if (!key || !take('=')) return false;
      entry(*key);
      skip_value();
    } while (take(','));
    return take('}');
  }

 private:
  void skip_blanks() {
    const std::size_t next = rest_.find_first_not_of(" \t");
    rest_.remove_prefix(next == std::string_view::npos ? rest_.size() : next);
  }

  std::string_view rest_;
};

/// The properties of one entry, as far as they matter.
struct Node {
  std::size_t depth = 0;
  std::uint64_t id = 0;
  std::string io_class;
  std::string model;
  std::optional<int> cores;
  std::optional<Statistics> statistics;
  std::optional<int> pid;
  std::optional<std::int64_t> queues_ns;  // of AppUsage
  std::optional<std::int64_t> own_ns;     // on the entry itself, as Intel's driver has it
};

std::string name(std::string_view text) { return std::string(text.substr(0, kMostText)); }

void read_model(Node& node, Cursor value) {
  (void)value.take('<');  // <"Intel Iris"> on Intel Macs
  if (const auto text = value.quoted(); text && node.model.empty()) node.model = name(*text);
}

void read_cores(Node& node, Cursor value) {
  const auto cores = value.number(false);
  if (cores && *cores > 0 && *cores < 4096) node.cores = static_cast<int>(*cores);
}

void read_statistics(Node& node, Cursor value) {
  if (node.statistics) return;
  node.statistics.emplace();
  (void)value.dictionary([&](std::string_view key) {
    if (const auto number = value.number(true)) take_statistic(*node.statistics, key, *number);
  });
}

void read_creator(Node& node, Cursor value) {
  const auto text = value.quoted();
  if (text && !node.pid) node.pid = pid_of_creator(*text);
}

// ({"API"="Metal","accumulatedGPUTime"=250000000},{...}). One cut off tells no sum: it would be too
// small, and the next whole one look like work.
void read_usage(Node& node, Cursor value) {
  std::optional<std::int64_t> sum;
  if (!value.take('(')) return;
  if (value.take(')')) return;
  do {
    const bool whole = value.dictionary([&](std::string_view key) {
      if (key != "accumulatedGPUTime") return;
      if (const auto ns = value.number(true)) add_gpu_time(sum, *ns);
    });
    if (!whole) return;
  } while (value.take(','));
  if (value.take(')') && !node.queues_ns) node.queues_ns = sum;
}

void read_own_time(Node& node, Cursor value) {
  const auto ns = value.number(false);
  if (ns && !node.own_ns) add_gpu_time(node.own_ns, *ns);
}

struct Property {
  std::string_view key;
  void (*read)(Node&, Cursor);
};
constexpr Property kProperties[] = {
    {"model", read_model},
    {"gpu-core-count", read_cores},
    {"PerformanceStatistics", read_statistics},
    {"IOUserClientCreator", read_creator},
    {"AppUsage", read_usage},
    {"accumulatedGPUTime", read_own_time},
};

/// "+-o AGXDeviceUserClient  <class AGXDeviceUserClient, id 0x101, active>", where "+-o" stands.
Node read_head(std::string_view line, std::size_t depth) {
  Node node;
  node.depth = depth;
  // The name comes first and may hold anything.
  const std::size_t about = line.rfind("<class ");
  if (about == std::string_view::npos) return node;
  std::string_view rest = line.substr(about + 7);
  node.io_class = name(rest.substr(0, rest.find_first_of(",>")));
  if (const std::size_t id = rest.find(", id 0x"); id != std::string_view::npos) {
    rest.remove_prefix(id + 7);
    (void)std::from_chars(rest.data(), rest.data() + rest.size(), node.id, 16);
  }
  return node;
}

class Reader {
 public:
  void line(std::string_view line) {
    const std::size_t start = line.find_first_not_of(" |");
    if (start == std::string_view::npos) return;
    std::string_view rest = line.substr(start);
    if (rest.starts_with("+-o ")) {
      finish();
      node_ = read_head(rest, start);
      return;
    }
    if (!take_prefix(rest, "\"")) return;
    const std::size_t end = rest.find('"');
    if (end == std::string_view::npos) return;
    const std::string_view key = rest.substr(0, end);
    Cursor value(rest.substr(end + 1));
    if (!value.take('=')) return;
    for (const Property& property : kProperties) {
      if (property.key == key) property.read(node_, value);
    }
  }

  void finish() {
    while (!around_.empty() && around_.back().depth >= node_.depth) around_.pop_back();
    if (node_.pid) {
      add_client();
    } else if (node_.statistics || node_.io_class.contains("Accelerator")) {
      add_accelerator();
    }
    node_ = {};
  }

  [[nodiscard]] IoregLook&& look() { return std::move(look_); }

 private:
  struct Around {
    std::size_t depth = 0;
    int device = 0;
  };

  void add_client() {
    if (look_.clients.size() >= kMostClients) return;
    Client client;
    client.device = around_.empty() ? -1 : around_.back().device;
    client.id = node_.id;
    client.pid = *node_.pid;
    client.gpu_ns = node_.queues_ns ? node_.queues_ns : node_.own_ns;
    look_.clients.push_back(client);
  }

  void add_accelerator() {
    if (look_.accelerators.size() >= kMostAccelerators) return;
    around_.push_back({node_.depth, static_cast<int>(look_.accelerators.size())});
    look_.accelerators.push_back({.id = node_.id,
                                  .io_class = std::move(node_.io_class),
                                  .model = std::move(node_.model),
                                  .cores = node_.cores});
    look_.statistics.push_back(node_.statistics.value_or(Statistics{}));
  }

  Node node_;
  std::vector<Around> around_;  // accelerators whose entries are being read, outermost first
  IoregLook look_;
};

}  // namespace

IoregLook parse_ioreg(std::string_view text) {
  Reader reader;
  while (true) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    reader.line(line);
    text.remove_prefix(end + 1);
  }
  reader.finish();
  return reader.look();
}

}  // namespace picchio::meters::apple
