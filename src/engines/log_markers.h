// Finds which of many fixed markers a line holds, in one pass over its bytes (Aho-Corasick).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace picchio {

class MarkerIndex {
 public:
  struct Hit {
    std::size_t marker = 0;  // index into the markers given
    std::size_t end = 0;     // offset just behind its first occurrence
  };

  /// `markers` must not be empty strings.
  explicit MarkerIndex(std::span<const std::string_view> markers);

  /// The markers that stand in `line`, each once, in the order the markers were given.
  void find(std::string_view line, std::vector<Hit>& hits) const;

 private:
  static constexpr std::int32_t kNone = -1;

  void add(std::string_view marker, std::size_t index);
  void link();
  void collect(std::size_t state, std::size_t end, std::vector<Hit>& hits) const;

  // Bytes that occur in no marker share class 0, which keeps the table small enough for the cache.
  std::array<std::uint8_t, 256> class_of_{};
  std::size_t classes_ = 1;
  std::vector<std::int32_t> next_;  // state * classes_ + class
  // next_ as the scan wants it: offset of the next state's row, with kEnds where a marker ends
  // there.
  static constexpr std::uint32_t kEnds = 1U << 31U;
  std::vector<std::uint32_t> scan_;
  std::vector<std::int32_t> marker_of_;  // marker that ends in this state, or kNone
  std::vector<std::int32_t> shorter_;    // nearest suffix state that ends a marker, or kNone
};

}  // namespace picchio
