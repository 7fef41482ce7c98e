// What the fakes of GPU libraries share: the words and curves of the text files that say what they
// answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fake {

/// Straight lines between points (ms, value), level after the last; two points at one time are a
/// step. No points: a figure that the GPU does not have.
class Curve {
 public:
  Curve() = default;
  explicit Curve(std::vector<std::pair<double, double>> points) : points_(std::move(points)) {}

  [[nodiscard]] std::optional<double> at(double ms) const;
  /// Area under the curve from 0 to `ms`, in value times seconds.
  [[nodiscard]] std::optional<double> integral(double ms) const;

 private:
  std::vector<std::pair<double, double>> points_;
};

using Words = std::vector<std::string>;

// Each throws std::exception on a slip.
[[nodiscard]] Words words_of(const std::string& line);  // up to a word that begins with '#'
[[nodiscard]] double number(const std::string& text);
[[nodiscard]] std::int64_t whole(const std::string& text);
[[nodiscard]] Curve curve(const Words& words, std::size_t from);  // "0:10" "500:90"

/// A number, or of "@FILE" what stands in FILE by now; 0: nothing.
[[nodiscard]] unsigned script_pid(const std::string& text);

/// Each line of the file that the environment's `variable` names. One that `read_line` throws at
/// ends the process: a test with a slip in it must not pass.
void play_script(const char* who, const char* variable,
                 const std::function<void(const std::string&)>& read_line);

}  // namespace fake
