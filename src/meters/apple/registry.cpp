#include "meters/apple/registry.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace picchio::meters::apple {
namespace {

using abi::Io;

// A walk is cut short whenever something joins or leaves the registry.
constexpr int kMostWalks = 4;
// More than any machine has; beyond it is garbage.
constexpr std::size_t kMostAccelerators = 64;

/// What `name_of` or `class_of` tell; empty: nothing.
std::string name_by(abi::Kernel (*ask)(Io, char*), const IoObject& entry) {
  std::array<char, abi::kNameBytes + 1> name{};
  if (ask == nullptr || ask(entry.get(), name.data()) != abi::kSuccess) return {};
  return name.data();
}

IoObject matching(const Functions& f, const char* io_class) {
  Io iterator = 0;
  const abi::Cf wanted = f.matching(io_class);
  if (wanted == nullptr) return {};
  if (f.matching_services(abi::kDefaultPort, wanted, &iterator) != abi::kSuccess) return {};
  return {f, iterator};
}

class Registry final : public Source {
 public:
  Registry(const Functions& functions, std::function<Micros()> now)
      : f_(&functions), cf_(functions), now_(std::move(now)) {
    for (const std::string_view key : statistics_keys()) keys_.push_back(cf_.string(key.data()));
  }

  void find() {
    const IoObject iterator = matching(*f_, "IOAccelerator");
    while (iterator && entries_.size() < kMostAccelerators) {
      IoObject entry(*f_, f_->iterator_next(iterator.get()));
      if (!entry) break;
      Accelerator about;
      about.id = id(entry).value_or(0);
      about.io_class = name_by(f_->class_of, entry);
      about.model = model_of(entry);
      if (const auto cores = number(entry, cores_); cores && *cores > 0 && *cores < 4096) {
        about.cores = static_cast<int>(*cores);
      }
      accelerators_.push_back(std::move(about));
      entries_.push_back(std::move(entry));
    }
  }

  [[nodiscard]] std::span<const Accelerator> accelerators() const override { return accelerators_; }

  [[nodiscard]] std::vector<Statistics> statistics() override {
    std::vector<Statistics> all(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const Owned told = property(entries_[i], performance_);
      for (std::size_t k = 0; k < keys_.size(); ++k) {
        const auto value = cf_.number_of(cf_.value_of(told.get(), keys_[k]));
        if (value) take_statistic(all[i], statistics_keys()[k], *value);
      }
    }
    return all;
  }

  [[nodiscard]] std::optional<ClientLook> clients(std::span<const int> pids) override {
    ClientLook look{now_(), {}};
    std::map<std::uint64_t, int> seen;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!walk(i, pids, look.clients, seen)) return std::nullopt;
    }
    pids_ = std::move(seen);
    return look;
  }

  [[nodiscard]] std::string no_clients_because() const override {
    if (f_->children != nullptr && f_->id_of != nullptr) return {};
    return "this system's IOKit does not list the clients of a GPU";
  }

 private:
  [[nodiscard]] Owned property(const IoObject& entry, const Owned& key) const {
    if (!key) return {};
    return cf_.own(f_->property(entry.get(), key.get(), nullptr, 0));
  }
  [[nodiscard]] std::optional<std::int64_t> number(const IoObject& entry, const Owned& key) const {
    return cf_.number_of(property(entry, key).get());
  }
  [[nodiscard]] std::optional<std::uint64_t> id(const IoObject& entry) const {
    std::uint64_t value = 0;
    if (f_->id_of == nullptr || f_->id_of(entry.get(), &value) != abi::kSuccess) {
      return std::nullopt;
    }
    return value;
  }

  /// A text, or the text's bytes with a NUL behind them, as on Intel Macs.
  [[nodiscard]] std::string model_of(const IoObject& entry) const {
    const Owned told = property(entry, model_);
    if (const auto text = cf_.text_of(told.get())) return *text;
    const auto bytes =
        cf_.bytes_of(told.get()).first(std::min<std::size_t>(cf_.bytes_of(told.get()).size(), 255));
    const std::string model(bytes.begin(), bytes.end());
    return model.substr(0, model.find('\0'));
  }

  /// The clients of one accelerator; false: no whole walk could be had.
  [[nodiscard]] bool walk(std::size_t device, std::span<const int> pids, std::vector<Client>& into,
                          std::map<std::uint64_t, int>& seen) const {
    if (!no_clients_because().empty()) return false;
    Io raw = 0;
    if (f_->children(entries_[device].get(), abi::kServicePlane, &raw) != abi::kSuccess) {
      return false;
    }
    const IoObject iterator(*f_, raw);
    if (!iterator) return false;
    for (int i = 0; i < kMostWalks; ++i) {
      std::vector<Client> found;
      while (const IoObject child{*f_, f_->iterator_next(iterator.get())}) {
        take_client(child, static_cast<int>(device), pids, found, seen);
      }
      // Without these two nobody can tell whether a walk was whole.
      const bool whole = f_->iterator_valid == nullptr || f_->iterator_valid(iterator.get()) != 0;
      if (whole) {
        into.insert(into.end(), found.begin(), found.end());
        return true;
      }
      if (f_->iterator_reset == nullptr) return false;
      f_->iterator_reset(iterator.get());
    }
    return false;
  }

  /// Who made a client never changes, so it is asked once: there are over a hundred of them on a
  /// desktop, and each question is a call into the kernel.
  void take_client(const IoObject& child, int device, std::span<const int> pids,
                   std::vector<Client>& into, std::map<std::uint64_t, int>& seen) const {
    const auto own_id = id(child);
    if (!own_id) return;  // it ended just now
    const auto known = pids_.find(*own_id);
    int pid = 0;
    if (known != pids_.end()) {
      pid = known->second;
    } else {
      const auto creator = cf_.text_of(property(child, creator_).get());
      pid = creator ? pid_of_creator(*creator).value_or(0) : 0;
    }
    if (pid == 0) return;  // a part of the driver, or it could not be read just now
    seen[*own_id] = pid;
    Client client{device, *own_id, pid, {}};
    if (std::ranges::find(pids, pid) != pids.end()) client.gpu_ns = gpu_time(child);
    into.push_back(client);
  }

  [[nodiscard]] std::optional<std::int64_t> gpu_time(const IoObject& client) const {
    std::optional<std::int64_t> sum;
    const Owned usage = property(client, usage_);
    for (const abi::Cf queue : cf_.elements_of(usage.get())) {
      if (const auto ns = cf_.number_of(cf_.value_of(queue, time_))) add_gpu_time(sum, *ns);
    }
    if (sum || usage) return sum;
    // Intel's driver has it on the client itself.
    if (const auto ns = number(client, time_)) add_gpu_time(sum, *ns);
    return sum;
  }

  const Functions* f_;
  CoreFoundation cf_;
  std::function<Micros()> now_;
  std::vector<Owned> keys_;  // in the order of statistics_keys()
  Owned performance_ = cf_.string("PerformanceStatistics");
  Owned model_ = cf_.string("model");
  Owned cores_ = cf_.string("gpu-core-count");
  Owned creator_ = cf_.string("IOUserClientCreator");
  Owned usage_ = cf_.string("AppUsage");
  Owned time_ = cf_.string("accumulatedGPUTime");
  std::vector<IoObject> entries_;
  std::vector<Accelerator> accelerators_;  // in the order of entries_
  std::map<std::uint64_t, int> pids_;      // of the clients seen last
};

}  // namespace

Result<std::unique_ptr<Source>> open_registry(const Functions& functions,
                                              std::function<Micros()> now) {
  auto registry = std::make_unique<Registry>(functions, std::move(now));
  registry->find();
  if (registry->accelerators().empty()) {
    return fail(ErrorKind::not_found, "the IO registry has no GPU (IOAccelerator)");
  }
  return registry;
}

std::vector<double> gpu_clocks(const Functions& functions) {
  const CoreFoundation cf(functions);
  const IoObject iterator = matching(functions, "AppleARMIODevice");
  while (iterator) {
    const IoObject entry(functions, functions.iterator_next(iterator.get()));
    if (!entry) break;
    if (name_by(functions.name_of, entry) != "pmgr") continue;
    const Owned key = cf.string("voltage-states9");
    if (!key) return {};
    const Owned table = cf.own(functions.property(entry.get(), key.get(), nullptr, 0));
    return clocks_of_table(cf.bytes_of(table.get()));
  }
  return {};
}

std::vector<double> clocks_of_table(std::span<const unsigned char> table) {
  constexpr std::size_t kPair = 8;
  constexpr std::size_t kMostStates = 64;
  std::vector<double> clocks;
  if (table.size() % kPair != 0 || table.size() > kPair * kMostStates) return clocks;
  for (std::size_t at = kPair; at < table.size(); at += kPair) {
    std::uint32_t value = 0;
    for (std::size_t byte = 4; byte > 0; --byte) value = value << 8U | table[at + byte - 1];
    // 100 MHz in Hz and in kHz: no GPU of theirs runs below, none above 100 GHz.
    constexpr std::uint32_t kLeastHz = 100'000'000;
    constexpr std::uint32_t kLeastKhz = 100'000;
    if (value < kLeastKhz) return {};
    const double mhz = value >= kLeastHz ? value * 1e-6 : value * 1e-3;
    if (!clocks.empty() && mhz < clocks.back()) return {};
    clocks.push_back(mhz);
  }
  return clocks;
}

}  // namespace picchio::meters::apple
