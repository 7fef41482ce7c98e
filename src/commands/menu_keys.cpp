#include "commands/menu_keys.h"

#include <algorithm>
#include <optional>

namespace picchio {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::size_t kLongestSequence = 32;

struct SequenceRule {
  std::string_view end;  // behind "ESC [" or "ESC O", parameters left out but for those of "~"
  Key key;
};

// xterm and the many that follow it; the linux console; rxvt and tmux for Home and End.
constexpr SequenceRule kSequences[] = {
    {"A", Key::up},       {"B", Key::down},       {"H", Key::first},  {"F", Key::last},
    {"1~", Key::first},   {"4~", Key::last},      {"7~", Key::first}, {"8~", Key::last},
    {"5~", Key::page_up}, {"6~", Key::page_down}, {"M", Key::enter},
};

struct ByteRule {
  char byte;
  Key key;
};

constexpr ByteRule kBytes[] = {
    {'\n', Key::enter},          {'\r', Key::enter},   {'\b', Key::backspace},
    {'\x7f', Key::backspace},    {'\x15', Key::clear}, {'\x17', Key::clear},
    {'\x04', Key::end_of_input}, {'\x0e', Key::down},  {'\x10', Key::up},  // Ctrl-N, Ctrl-P
};

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

std::optional<Press> press_of(char byte) {
  if (is_printable(byte)) return Press{Key::character, byte};
  const auto rule = std::ranges::find(kBytes, byte, &ByteRule::byte);
  return rule == std::end(kBytes) ? std::nullopt : std::optional(Press{rule->key, 0});
}

enum class Stage { more, done, alone };

/// `sequence` begins with ESC. `alone`: the last byte does not belong to it.
Stage stage_of(std::string_view sequence) {
  if (sequence.size() == 1) return Stage::more;
  if (sequence.size() == 2) {
    return sequence[1] == '[' || sequence[1] == 'O' ? Stage::more : Stage::alone;
  }
  const char last = sequence.back();
  if (sequence[1] == 'O') return Stage::done;
  return last >= '@' && last <= '~' ? Stage::done : Stage::more;
}

std::optional<Press> press_of_sequence(std::string_view sequence) {
  std::string end(1, sequence.back());
  // "ESC [ 1 ; 5 A" is an arrow with Ctrl; "ESC [ 5 ~" is told by its number alone.
  if (end == "~") end = std::string(sequence.substr(2, sequence.find_first_of(";~") - 2)) + "~";
  // "ESC [ M" begins a report of the mouse, "ESC O M" is the keypad's Enter.
  if (end == "M" && sequence[1] != 'O') return std::nullopt;
  const auto rule = std::ranges::find(kSequences, end, &SequenceRule::end);
  return rule == std::end(kSequences) ? std::nullopt : std::optional(Press{rule->key, 0});
}

}  // namespace

std::vector<Press> KeyReader::read(std::string_view bytes) {
  std::vector<Press> out;
  const auto add = [&](std::optional<Press> press) {
    if (press) out.push_back(*press);
  };
  for (const char byte : bytes) {
    if (pending_.empty()) {
      if (byte == kEscape) {
        pending_ = byte;
      } else {
        add(press_of(byte));
      }
      continue;
    }
    pending_ += byte;
    const Stage stage = stage_of(pending_);
    if (stage == Stage::more && pending_.size() < kLongestSequence) continue;
    if (stage == Stage::done) add(press_of_sequence(pending_));
    pending_.clear();
    if (stage != Stage::alone) continue;
    out.push_back({Key::escape, 0});
    if (byte == kEscape) {
      pending_ = byte;
    } else {
      add(press_of(byte));
    }
  }
  return out;
}

std::vector<Press> KeyReader::give_up() {
  if (pending_.empty()) return {};
  pending_.clear();
  return {{Key::escape, 0}};
}

}  // namespace picchio
