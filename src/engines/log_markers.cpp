#include "engines/log_markers.h"

#include <algorithm>

namespace picchio {

MarkerIndex::MarkerIndex(std::span<const std::string_view> markers) {
  for (const std::string_view marker : markers) {
    for (const char c : marker) {
      std::uint8_t& slot = class_of_[static_cast<unsigned char>(c)];
      if (slot == 0) slot = static_cast<std::uint8_t>(classes_++);
    }
  }
  next_.assign(classes_, kNone);
  marker_of_.assign(1, kNone);
  for (std::size_t i = 0; i < markers.size(); ++i) add(markers[i], i);
  link();
}

void MarkerIndex::add(std::string_view marker, std::size_t index) {
  std::size_t state = 0;
  for (const char c : marker) {
    const std::size_t slot = state * classes_ + class_of_[static_cast<unsigned char>(c)];
    if (next_[slot] == kNone) {
      next_[slot] = static_cast<std::int32_t>(marker_of_.size());
      marker_of_.push_back(kNone);
      next_.resize(next_.size() + classes_, kNone);
    }
    state = static_cast<std::size_t>(next_[slot]);
  }
  if (marker_of_[state] == kNone) marker_of_[state] = static_cast<std::int32_t>(index);
}

// Breadth first: a state's fallback is always nearer to the root, so it is complete when needed.
void MarkerIndex::link() {
  std::vector<std::size_t> fallback(marker_of_.size(), 0);
  shorter_.assign(marker_of_.size(), kNone);
  std::vector<std::size_t> queue;
  for (std::size_t c = 0; c < classes_; ++c) {
    if (next_[c] == kNone) {
      next_[c] = 0;
    } else {
      queue.push_back(static_cast<std::size_t>(next_[c]));
    }
  }
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::size_t state = queue[i];
    const std::size_t back = fallback[state];
    shorter_[state] = marker_of_[back] != kNone ? static_cast<std::int32_t>(back) : shorter_[back];
    for (std::size_t c = 0; c < classes_; ++c) {
      std::int32_t& to = next_[state * classes_ + c];
      const std::int32_t by_fallback = next_[back * classes_ + c];
      if (to == kNone) {
        to = by_fallback;
      } else {
        fallback[static_cast<std::size_t>(to)] = static_cast<std::size_t>(by_fallback);
        queue.push_back(static_cast<std::size_t>(to));
      }
    }
  }
  scan_.reserve(next_.size());
  for (const std::int32_t to : next_) {
    const auto state = static_cast<std::size_t>(to);
    const bool ends = marker_of_[state] != kNone || shorter_[state] != kNone;
    scan_.push_back(static_cast<std::uint32_t>(state * classes_) | (ends ? kEnds : 0U));
  }
}

void MarkerIndex::collect(std::size_t state, std::size_t end, std::vector<Hit>& hits) const {
  for (std::int32_t s = static_cast<std::int32_t>(state); s != kNone;
       s = shorter_[static_cast<std::size_t>(s)]) {
    const std::int32_t marker = marker_of_[static_cast<std::size_t>(s)];
    if (marker == kNone) continue;
    const auto index = static_cast<std::size_t>(marker);
    const bool known =
        std::ranges::any_of(hits, [index](const Hit& hit) { return hit.marker == index; });
    if (!known) hits.push_back({index, end});
  }
}

void MarkerIndex::find(std::string_view line, std::vector<Hit>& hits) const {
  hits.clear();
  std::uint32_t row = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::uint32_t to = scan_[row + class_of_[static_cast<unsigned char>(line[i])]];
    row = to & ~kEnds;
    if (to != row) collect(row / classes_, i + 1, hits);
  }
  std::ranges::sort(hits, {}, &Hit::marker);
}

}  // namespace picchio
