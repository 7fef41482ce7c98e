#include "meters/pci_link.h"

#include "base/text.h"

#include <algorithm>

namespace picchio::meters {

std::optional<PcieLink> parse_link(std::string_view speed, std::string_view width) {
  struct Generation {
    double transfers;  // 10^9 a second on each lane
    int number;
  };
  constexpr Generation kGenerations[] = {{2.5, 1}, {5, 2}, {8, 3}, {16, 4}, {32, 5}, {64, 6}};
  const auto transfers = take_double(speed);
  const auto lanes = parse_int(width);
  if (!transfers || !trim(speed).starts_with("GT/s") || !lanes || *lanes < 1 || *lanes > 32) {
    return std::nullopt;
  }
  const auto* found = std::ranges::find(kGenerations, *transfers, &Generation::transfers);
  if (found == std::end(kGenerations)) return std::nullopt;
  return PcieLink{.generation = found->number, .width = static_cast<int>(*lanes)};
}

std::string slot_side(const std::string& device_dir) {
  constexpr int kMostBridges = 4;  // a card has two
  std::string side = device_dir;
  for (int i = 0; i < kMostBridges; ++i) {
    const std::string parent = side.substr(0, side.rfind('/'));
    // The graphics division's id: ports of AMD's processors have 1022. 0x0604: a PCI bridge.
    const bool on_card = attribute_text(parent + "/vendor") == "0x1002" &&
                         attribute_text(parent + "/class").value_or("").starts_with("0x0604");
    if (!on_card) break;
    side = parent;
  }
  return side;
}

PciLink::PciLink(const std::string& dir)
    : speed_(Attribute::open(dir, {"current_link_speed"}, false)),
      width_(Attribute::open(dir, {"current_link_width"}, false)),
      max_speed_(Attribute::open(dir, {"max_link_speed"}, false)),
      max_width_(Attribute::open(dir, {"max_link_width"}, false)) {}

std::optional<PcieLink> PciLink::read(const Attribute& speed, const Attribute& width) {
  const auto speed_text = speed.text();
  const auto width_text = width.text();
  if (!speed_text || !width_text) return std::nullopt;
  return parse_link(*speed_text, *width_text);
}

}  // namespace picchio::meters
