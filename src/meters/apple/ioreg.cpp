#include "meters/apple/ioreg.h"

#include "meters/apple/ioreg_text.h"
#include "os/file.h"
#include "os/process.h"

#include <utility>

namespace picchio::meters::apple {
namespace {

constexpr Micros kPeriod = std::chrono::milliseconds(500);
constexpr Micros kPatience = std::chrono::seconds(5);
// A registry's GPUs are some 50 KB and each of their clients 1 KB.
constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;

class Ioreg final : public Source {
 public:
  explicit Ioreg(Place place) : place_(std::move(place)) {}

  [[nodiscard]] Result<> find() {
    auto look = run();
    if (!look) return std::unexpected(std::move(look).error());
    if (look->accelerators.empty()) {
      return fail(ErrorKind::not_found, "ioreg lists no GPU (IOAccelerator)");
    }
    accelerators_ = look->accelerators;
    take(*std::move(look));
    return {};
  }

  [[nodiscard]] std::span<const Accelerator> accelerators() const override { return accelerators_; }

  [[nodiscard]] std::vector<Statistics> statistics() override {
    look_again();
    std::vector<Statistics> none(accelerators_.size());
    return std::exchange(statistics_, std::nullopt).value_or(std::move(none));
  }

  [[nodiscard]] std::optional<ClientLook> clients(std::span<const int> /*pids*/) override {
    look_again();
    return std::exchange(clients_, std::nullopt);
  }

 private:
  [[nodiscard]] Result<IoregLook> run() {
    ran_ = place_.now();
    const std::string& program = place_.ioreg_program;
    auto ended = os::run_simple({program, "-r", "-c", "IOAccelerator", "-l", "-w", "0"}, kPatience,
                                kMostBytes, *place_.interrupts);
    if (!ended) return std::unexpected(std::move(ended).error());
    if (ended->end != os::End::exited || ended->exit_code != 0) {
      return fail(ErrorKind::failed, "'{}' did not list the GPUs: it ended with status {}", program,
                  ended->exit_code);
    }
    return parse_ioreg(ended->stdout_head);
  }

  void look_again() {
    if (place_.now() - ran_ < kPeriod) return;
    // One that failed tells nothing this time.
    if (auto look = run()) take(*std::move(look));
  }

  /// Entries are told apart by the registry's numbers, since one may have come or gone.
  void take(IoregLook look) {
    statistics_.emplace(accelerators_.size());
    std::vector<int> device_of(look.accelerators.size(), -1);
    for (std::size_t i = 0; i < look.accelerators.size(); ++i) {
      for (std::size_t own = 0; own < accelerators_.size(); ++own) {
        if (accelerators_[own].id != look.accelerators[i].id) continue;
        device_of[i] = static_cast<int>(own);
        (*statistics_)[own] = look.statistics[i];
        break;
      }
    }
    clients_ = ClientLook{ran_, {}};
    for (Client& client : look.clients) {
      if (client.device < 0) continue;
      client.device = device_of[static_cast<std::size_t>(client.device)];
      if (client.device >= 0) clients_->clients.push_back(client);
    }
  }

  Place place_;
  std::vector<Accelerator> accelerators_;
  Micros ran_{};
  std::optional<std::vector<Statistics>> statistics_;  // not yet told
  std::optional<ClientLook> clients_;                  // not yet told
};

}  // namespace

Result<std::unique_ptr<Source>> open_ioreg(const Place& place) {
  if (place.interrupts == nullptr || !os::exists(place.ioreg_program)) {
    return fail(ErrorKind::not_found, "no ioreg here");
  }
  auto ioreg = std::make_unique<Ioreg>(place);
  if (auto found = ioreg->find(); !found) return std::unexpected(std::move(found).error());
  return ioreg;
}

}  // namespace picchio::meters::apple
