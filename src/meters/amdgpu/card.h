// One AMD card as its kernel driver's attributes show it.
#pragma once

#include "base/time.h"
#include "evidence/gpu_reading.h"
#include "meters/amdgpu/gpu_metrics.h"
#include "meters/attribute.h"
#include "meters/drm/devices.h"
#include "meters/pci_link.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace picchio::meters::amdgpu {

/// What tells a chip with a processor in it from a card.
struct ApuSigns {
  std::optional<int> metrics_format;      // of gpu_metrics; absent: not told, or not asked
  bool has_north_bridge_voltage = false;  // hwmon "vddnb", which APUs alone have
  bool shares_kfd_node = false;           // with processor cores
  bool has_power_cap = false;             // hwmon power1_cap, which APUs do not have
  std::optional<std::int64_t> vram_bytes;
  std::optional<std::int64_t> gtt_bytes;
};

/// A small card in a machine with much memory also has more GTT than VRAM, so the sizes decide only
/// where nothing better is known. Pure.
[[nodiscard]] bool is_apu(const ApuSigns& signs);

/// "0: 500Mhz\n1: 2100Mhz *\n" -> 2100; nullopt when none is marked. Pure.
[[nodiscard]] std::optional<double> current_level_mhz(std::string_view dpm_table);

/// The marketing name in libdrm's list "744C,\tC8,\tAMD Radeon RX 7900 XTX"; empty: not in it. Ids
/// are hexadecimal digits. Pure.
[[nodiscard]] std::string listed_name(std::string_view ids, std::string_view device,
                                      std::string_view revision);

class Card {
 public:
  Card(const drm::Device& device, const std::string& name, bool shares_kfd_node);

  [[nodiscard]] const MeteredGpu& info() const { return info_; }

  /// Reads nothing but the power state when the card is asleep: any other read would wake it, and
  /// its firmware then claims activity for some ten seconds.
  [[nodiscard]] GpuReading read(Micros now);

 private:
  void open(const std::string& dir);
  void describe(bool shares_kfd_node);
  void describe_memory(bool shares_kfd_node, const std::optional<GpuMetrics>& metrics);
  void list_missing(const std::optional<GpuMetrics>& metrics);
  void read_clocks(GpuReading& reading) const;
  [[nodiscard]] std::optional<GpuMetrics> metrics() const;

  MeteredGpu info_;
  Attribute status_;
  Attribute busy_;
  Attribute vram_used_;
  Attribute gtt_used_;
  Attribute vram_total_;
  Attribute gtt_total_;
  Attribute power_;
  Attribute power_cap_;
  Attribute north_bridge_;
  Attribute temperature_;
  Attribute clock_;
  Attribute memory_clock_;
  Attribute levels_;
  Attribute memory_levels_;
  Attribute metrics_;
  bool metrics_useful_ = true;  // has something that no other attribute tells
  PciLink link_;
  MovingCounter energy_;
  std::optional<PcieLink> link_now_;
  std::optional<Micros> link_read_;
};

}  // namespace picchio::meters::amdgpu
