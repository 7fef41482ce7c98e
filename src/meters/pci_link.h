// The PCIe link of a card, from the PCI attributes in sysfs.
#pragma once

#include "evidence/gpu_reading.h"
#include "meters/attribute.h"

#include <optional>
#include <string>
#include <string_view>

namespace picchio::meters {

/// "16.0 GT/s PCIe" and "8" -> generation 4, 8 lanes; nullopt for "Unknown" and for no lanes.
[[nodiscard]] std::optional<PcieLink> parse_link(std::string_view speed, std::string_view width);

/// The function whose link leads to the slot: AMD's cards have a switch of their own, and behind it
/// every function claims the full width. `device_dir` with all links followed.
[[nodiscard]] std::string slot_side(const std::string& device_dir);

class PciLink {
 public:
  PciLink() = default;
  /// Opens only; nothing is read.
  explicit PciLink(const std::string& dir);

  [[nodiscard]] std::optional<PcieLink> now() const { return read(speed_, width_); }
  [[nodiscard]] std::optional<PcieLink> max() const { return read(max_speed_, max_width_); }
  [[nodiscard]] const std::string& why_missing() const { return speed_.why_missing(); }

 private:
  static std::optional<PcieLink> read(const Attribute& speed, const Attribute& width);

  Attribute speed_;
  Attribute width_;
  Attribute max_speed_;
  Attribute max_width_;
};

}  // namespace picchio::meters
