// From the bytes of a terminal to keys. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace picchio {

enum class Key {
  character,
  up,
  down,
  page_up,
  page_down,
  first,
  last,
  enter,
  backspace,
  clear,  // Ctrl-U, Ctrl-W
  escape,
  end_of_input,  // Ctrl-D
};

struct Press {
  Key key = Key::character;
  char character = 0;  // printable ASCII; of Key::character only
  bool operator==(const Press&) const = default;
};

/// A key's bytes may arrive in two reads. What is no key of ours, UTF-8 among it, is passed over.
class KeyReader {
 public:
  [[nodiscard]] std::vector<Press> read(std::string_view bytes);

  /// An ESC stands at the end: the key, or the beginning of another.
  [[nodiscard]] bool unsure() const { return !pending_.empty(); }

  /// Nothing followed, so that it was the key.
  [[nodiscard]] std::vector<Press> give_up();

 private:
  std::string pending_;  // "", or an ESC and what followed it so far
};

}  // namespace picchio
