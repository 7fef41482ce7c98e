#include "meters/nvml/nvml.h"

#include "base/text.h"
#include "meters/nvml/pids.h"
#include "meters/nvml/presence.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace picchio::meters::nvml {
namespace {

constexpr GpuFigure kAllFigures[] = {
    GpuFigure::busy,         GpuFigure::memory,        GpuFigure::power,      GpuFigure::energy,
    GpuFigure::clocks,       GpuFigure::temperature,   GpuFigure::throttling, GpuFigure::link,
    GpuFigure::process_busy, GpuFigure::process_memory};

// More than any machine has; a count beyond it is garbage.
constexpr unsigned kMaxGpus = 256;

std::vector<MissingFigure> all_missing(const std::string& reason) {
  std::vector<MissingFigure> missing;
  for (const GpuFigure figure : kAllFigures) missing.push_back({figure, reason});
  return missing;
}

/// "0000:61:00.0" -> "00000000:61:00.0", as NVML writes it.
std::string nvml_address(const std::string& address) {
  const std::string domain = address.substr(0, address.find(':'));
  return std::string(domain.size() < 8 ? 8 - domain.size() : 0, '0') + address;
}

class NvmlMeter final : public Meter {
 public:
  NvmlMeter(Place place, Library library, Patience patience)
      : place_(std::move(place)),
        library_(std::move(library)),
        patience_(patience),
        pids_(Pids::look(place_.root)) {}

  [[nodiscard]] Result<> find_gpus() {
    const auto pci = pci_gpus(place_.root);
    const bool some_asleep = std::ranges::any_of(
        pci, [](const PciGpu& gpu) { return gpu.asleep && gpu.driver == "nvidia"; });
    return some_asleep ? find_by_address(pci) : find_by_index();
  }

  [[nodiscard]] std::span<const MeteredGpu> devices() const override { return about_; }

  [[nodiscard]] std::vector<GpuReading> sample() override {
    std::vector<GpuReading> readings;
    readings.reserve(slots_.size());
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].asleep && !is_asleep(place_.root, about_[i].address)) wake(i);
      GpuReading reading;
      if (slots_[i].gpu)
        reading = slots_[i].gpu->sample();
      else
        reading.lost = slots_[i].lost;
      readings.push_back(std::move(reading));
    }
    return readings;
  }

  [[nodiscard]] Result<std::vector<GpuProcessUse>> process_use(std::span<const int> pids) override {
    if (!pids_) return std::unexpected(pids_.error());
    const auto ours_by_driver = pids_->of_driver(pids);
    std::vector<GpuProcessUse> use;
    std::string reason;
    bool any = slots_.empty();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (!slots_[i].gpu) {
        any = any || slots_[i].asleep;
        continue;
      }
      slots_[i].gpu->add_process_use(ours_by_driver, static_cast<int>(i), use);
      const std::string because = slots_[i].gpu->no_processes_because();
      any = any || because.empty();
      if (reason.empty()) reason = because;
    }
    if (any) return use;
    return fail(ErrorKind::unsupported, "NVML does not tell processes apart here: {}",
                reason.empty() ? "it could open no GPU" : reason);
  }

 private:
  struct Slot {
    std::optional<Gpu> gpu;  // absent: not opened
    bool asleep = false;
    std::string lost;  // GpuReading::lost of one that was gone when it was to be opened
  };

  [[nodiscard]] Result<> find_by_index() {
    if (auto started = library_.start(); !started) return started;
    unsigned count = 0;
    const abi::Return code = ask(library_.functions().count, &count);
    if (code != abi::kSuccess) {
      return fail(ErrorKind::failed, "NVML does not tell how many GPUs there are: {}",
                  reason_of(code));
    }
    for (unsigned i = 0; i < std::min(count, kMaxGpus); ++i) {
      abi::Device device = nullptr;
      const abi::Return opened = ask(library_.functions().by_index, i, &device);
      add_slot({}, "NVIDIA GPU");
      open_slot(about_.size() - 1, opened, device);
    }
    return nothing_found();
  }

  // NVML counts without saying which card a number is, so with one of them asleep each is opened by
  // its address, or not.
  [[nodiscard]] Result<> find_by_address(const std::vector<PciGpu>& pci) {
    const bool all_asleep = std::ranges::all_of(pci, &PciGpu::asleep);
    if (!all_asleep) {
      if (auto started = library_.start(); !started) return started;
    }
    for (const PciGpu& found : pci) {
      if (found.driver != "nvidia") continue;
      if (found.asleep) {
        add_slot(found.address, "NVIDIA GPU " + found.ids);
        slots_.back().asleep = true;
        about_.back().missing = all_missing("the GPU is asleep to save power");
        continue;
      }
      abi::Device device = nullptr;
      const std::string address = nvml_address(found.address);
      const abi::Return code = ask(library_.functions().by_address, address.c_str(), &device);
      if (code == abi::kNotFound) continue;
      add_slot(found.address, "NVIDIA GPU " + found.ids);
      open_slot(about_.size() - 1, code, device);
    }
    return nothing_found();
  }

  [[nodiscard]] Result<> nothing_found() const {
    if (!about_.empty()) return {};
    const std::string sign = sign_of_gpu(place_.root);
    if (sign.empty()) return fail(ErrorKind::not_found, "NVML knows no GPU");
    return fail(ErrorKind::unsupported, "NVML knows no GPU although this machine has {}", sign);
  }

  void add_slot(std::string address, std::string name) {
    MeteredGpu about;
    about.meter = "nvml";
    about.index = static_cast<int>(about_.size());
    about.address = std::move(address);
    about.name = std::move(name);
    about_.push_back(std::move(about));
    slots_.emplace_back();
  }

  void open_slot(std::size_t i, abi::Return code, abi::Device device) {
    MeteredGpu& about = about_[i];
    if (code != abi::kSuccess) {
      about.missing = all_missing(reason_of(code));
      if (code == abi::kGpuIsLost || code == abi::kResetRequired) slots_[i].lost = reason_of(code);
      return;
    }
    abi::PciInfo pci{};
    if (ask(library_.functions().pci, device, &pci) == abi::kSuccess) {
      // NVML writes eight digits and capitals; a GPU's function is always 0.
      about.address = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
    }
    Gpu& gpu = slots_[i].gpu.emplace(library_.functions(), device, patience_);
    if (!pids_) {
      gpu.give_up(GpuFigure::process_busy, pids_.error().message);
      gpu.give_up(GpuFigure::process_memory, pids_.error().message);
    }
    gpu.describe(about);
  }

  /// The engine, or somebody, woke it.
  void wake(std::size_t i) {
    slots_[i].asleep = false;
    if (auto started = library_.start(); !started) {
      about_[i].missing = all_missing(started.error().message);
      return;
    }
    abi::Device device = nullptr;
    const std::string address = nvml_address(about_[i].address);
    const abi::Return code = ask(library_.functions().by_address, address.c_str(), &device);
    open_slot(i, code, device);
  }

  Place place_;
  Library library_;
  Patience patience_;
  Result<Pids> pids_;
  std::vector<MeteredGpu> about_;
  std::vector<Slot> slots_;  // in the order of about_
};

}  // namespace

Result<std::unique_ptr<Meter>> open(const Place& place, Patience patience) {
  auto library = Library::load(place);
  if (!library) return std::unexpected(std::move(library).error());
  auto meter = std::make_unique<NvmlMeter>(place, std::move(*library), patience);
  if (auto found = meter->find_gpus(); !found) {
    return std::unexpected(std::move(found).error());
  }
  return meter;
}

Result<std::unique_ptr<Meter>> probe(const Place& place) { return open(place, Patience{}); }

}  // namespace picchio::meters::nvml
