#include "commands/history_lines.h"

#include "os/file.h"

#include <memory>
#include <utility>

namespace picchio {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10;

class Lines {
 public:
  Lines(std::string source, std::size_t most_bytes, const os::Interrupts& interrupts)
      : source_(std::move(source)), most_bytes_(most_bytes), interrupts_(interrupts) {}

  Result<std::optional<std::string_view>> next() {
    for (;;) {
      const std::size_t end = bytes_.find('\n', searched_);
      if (end != std::string::npos) return take(end, end + 1);
      searched_ = bytes_.size();
      if (searched_ - begin_ > most_bytes_) {
        return fail(ErrorKind::malformed, "it has more than {} KiB", most_bytes_ >> 10);
      }
      if (ended_) break;
      if (const Result<> more = read_more(); !more) return std::unexpected(more.error());
    }
    if (begin_ == bytes_.size()) return std::optional<std::string_view>();
    return take(bytes_.size(), bytes_.size());
  }

 private:
  std::optional<std::string_view> take(std::size_t end, std::size_t next) {
    const auto line = std::string_view(bytes_).substr(begin_, end - begin_);
    begin_ = next;
    searched_ = next;
    return line;
  }

  Result<> read_more() {
    bytes_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
    if (source_ == "-") {
      const Result<bool> more =
          os::read_on(0, bytes_, bytes_.size() + kBlock, "standard input", interrupts_.fd());
      if (!more) return std::unexpected(more.error());
      ended_ = !*more;
      return {};
    }
    if (interrupts_.caught()) return fail(ErrorKind::interrupted, "interrupted");
    const Result<std::string> part = os::read_part(source_, offset_, std::int64_t{kBlock});
    if (!part) return std::unexpected(part.error());
    ended_ = part->empty();
    offset_ += static_cast<std::int64_t>(part->size());
    bytes_ += *part;
    return {};
  }

  std::string source_;
  std::size_t most_bytes_;
  const os::Interrupts& interrupts_;
  std::string bytes_;
  std::size_t begin_ = 0;     // of the next line
  std::size_t searched_ = 0;  // no line ends before
  std::int64_t offset_ = 0;   // in the file
  bool ended_ = false;
};

}  // namespace

history::LineSource lines_of(const std::string& source, std::size_t most_bytes,
                             const os::Interrupts& interrupts) {
  // A std::function is copied; what reads must not be.
  auto lines = std::make_shared<Lines>(source, most_bytes, interrupts);
  return [lines] { return lines->next(); };
}

}  // namespace picchio
