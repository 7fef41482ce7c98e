#include "meters/apple/apple.h"

#include "meters/apple/gpu_time.h"
#include "meters/apple/ioreg.h"
#include "meters/apple/registry.h"
#include "meters/apple/reports.h"
#include "meters/apple/system.h"

#include <algorithm>
#include <utility>

namespace picchio::meters::apple {
namespace {

constexpr const char* kPartOfChip = "the GPU is a part of the chip";

/// The GPU of an Apple chip. There is one at most, also on chips that are two in one.
bool is_on_chip(const Accelerator& gpu) { return gpu.io_class.starts_with("AGX"); }

/// Cards of AMD and NVIDIA have memory of their own; what else there is shares the system's.
bool is_card(const Accelerator& gpu) {
  return gpu.io_class.contains("Radeon") || gpu.io_class.starts_with("AMD") ||
         gpu.io_class.starts_with("nv") || gpu.io_class.starts_with("NV");
}

std::string name_of(const Accelerator& gpu) {
  if (gpu.model.empty()) return gpu.io_class.empty() ? "GPU of a Mac" : gpu.io_class;
  return is_on_chip(gpu) ? gpu.model + " GPU" : gpu.model;
}

class AppleMeter final : public Meter {
 public:
  AppleMeter(const Functions& functions, std::function<Micros()> now)
      : functions_(functions),
        now_(std::move(now)),
        heat_(functions_),
        book_([this](int pid) { return start_of(functions_, pid); }) {}

  [[nodiscard]] Result<> find(const Place& place) {
    auto source = functions_.reads_registry() ? open_registry(functions_, now_) : open_ioreg(place);
    if (!source) return std::unexpected(std::move(source).error());
    source_ = *std::move(source);
    const std::vector<Statistics> first = source_->statistics();
    for (const Accelerator& gpu : source_->accelerators()) describe(gpu, first[about_.size()]);
    // Clients that are there before a process started are not its.
    if (auto look = source_->clients({})) (void)book_.look(*look, {});
    return {};
  }

  [[nodiscard]] std::span<const MeteredGpu> devices() const override { return about_; }

  [[nodiscard]] std::vector<GpuReading> sample() override {
    const std::vector<Statistics> told = source_->statistics();
    const std::optional<Throttling> heat = heat_.look();
    std::vector<GpuReading> readings(about_.size());
    for (std::size_t i = 0; i < readings.size(); ++i) {
      GpuReading& reading = readings[i];
      reading.busy_percent = told[i].busy_percent;
      if (about_[i].unified_memory) reading.memory_bytes = told[i].memory_bytes;
      reading.temperature_celsius = told[i].temperature_celsius;
      reading.clock_mhz = told[i].clock_mhz;
      reading.throttling = heat;
      if (chip_ == i) read_reports(reading);
    }
    return readings;
  }

  [[nodiscard]] Result<std::vector<GpuProcessUse>> process_use(std::span<const int> pids) override {
    if (const std::string because = source_->no_clients_because(); !because.empty()) {
      return fail(ErrorKind::unsupported, "cannot tell processes apart: {}", because);
    }
    const auto look = source_->clients(pids);
    return look ? book_.look(*look, pids) : book_.again(pids);
  }

 private:
  void describe(const Accelerator& gpu, const Statistics& first) {
    MeteredGpu about;
    about.meter = "apple";
    about.index = static_cast<int>(about_.size());
    about.name = name_of(gpu);
    about.driver = gpu.io_class;
    about.cores = gpu.cores;
    about.unified_memory = !is_card(gpu);
    if (about.unified_memory) about.memory_bytes = memory_bytes(functions_);
    const auto missing = [&](GpuFigure figure, std::string reason) {
      about.missing.push_back({figure, std::move(reason)});
    };
    if (!first.busy_percent) missing(GpuFigure::busy, "its driver tells no utilisation");
    if (!about.unified_memory) {
      missing(GpuFigure::memory, "the memory of cards in a Mac is not read");
    } else if (!first.memory_bytes) {
      missing(GpuFigure::memory, "its driver does not tell how much of the system's is in use");
    }
    if (is_on_chip(gpu) && !chip_) {
      chip_ = about_.size();
      open_reports(about);
    } else {
      const char* const reason = "IOReport covers the GPU of Apple's own chips only";
      missing(GpuFigure::power, reason);
      missing(GpuFigure::energy, reason);
      if (!first.clock_mhz) missing(GpuFigure::clocks, reason);
    }
    if (!first.temperature_celsius) {
      missing(GpuFigure::temperature, "macOS tells it through private sensors only");
    }
    if (!heat_.tells()) missing(GpuFigure::throttling, "no notice of thermal pressure here");
    missing(GpuFigure::link, is_on_chip(gpu) ? kPartOfChip : "macOS tells none");
    if (const std::string because = source_->no_clients_because(); !because.empty()) {
      missing(GpuFigure::process_busy, because);
    }
    missing(GpuFigure::process_memory, "macOS does not tell GPU memory of single processes");
    about_.push_back(std::move(about));
  }

  void open_reports(MeteredGpu& about) {
    if (auto energy = EnergyMeter::open(functions_, now_())) {
      energy_ = *std::move(energy);
    } else {
      about.missing.push_back({GpuFigure::power, "needs the counter of energy"});
      about.missing.push_back({GpuFigure::energy, energy.error().message});
    }
    std::vector<double> clocks;
    if (functions_.reads_registry()) clocks = gpu_clocks(functions_);
    if (auto clock = ClockMeter::open(functions_, std::move(clocks))) {
      clock_ = *std::move(clock);
    } else {
      about.missing.push_back({GpuFigure::clocks, clock.error().message});
    }
  }

  void read_reports(GpuReading& reading) {
    if (energy_) {
      const EnergyMeter::Told told = energy_->look(now_());
      reading.energy_joules = told.joules;
      reading.power_watts = told.watts;
    }
    if (clock_) reading.clock_mhz = clock_->look();
  }

  const Functions functions_;  // the others point to it
  std::function<Micros()> now_;
  std::unique_ptr<Source> source_;
  std::vector<MeteredGpu> about_;
  ThermalPressure heat_;
  std::optional<std::size_t> chip_;  // which of about_ IOReport tells of
  std::optional<EnergyMeter> energy_;
  std::optional<ClockMeter> clock_;
  GpuTimeBook book_;
};

}  // namespace

Result<std::unique_ptr<Meter>> open(const Place& place, const Functions& functions) {
  auto meter = std::make_unique<AppleMeter>(functions, place.now);
  if (auto found = meter->find(place); !found) return std::unexpected(std::move(found).error());
  return meter;
}

Result<std::unique_ptr<Meter>> probe(const Place& place) {
  return open(place, load_functions(place.apple_libraries));
}

}  // namespace picchio::meters::apple
