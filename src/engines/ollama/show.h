// What a running ollama tells of a model: POST /api/show {"model": TAG, "verbose": true}. For a
// store that may not be read, and for servers on other machines. It has the header's values and the
// tensors' names, types and shapes; it has no offsets and no size of the file.
#pragma once

#include "base/result.h"
#include "os/http.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace picchio::ollama {

struct ShownTensor {
  std::string name;
  std::string type;                 // as ollama writes it: "Q4_K", "F32"
  std::vector<std::int64_t> shape;  // as GGUF orders it, the fastest dimension first
};

/// An array of which only the length was kept: the vocabulary and its like, lists of anything but
/// numbers and booleans (0 and 1 here), and those with more than kMostNumbers.
struct LongArray {
  std::int64_t length = 0;
};

using ShownValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                                std::vector<double>, LongArray>;

inline constexpr std::size_t kMostNumbers = 4096;

struct ShownModel {
  std::map<std::string, ShownValue> values;    // "general.architecture", "llama.block_count" ...
  std::vector<ShownTensor> tensors;            // empty for what is no GGUF
  std::map<std::string, std::string> details;  // "format", "family", "quantization_level" ...
  std::vector<std::string> capabilities;
  std::optional<std::string> blob;  // path of the file on the server's machine
  bool has_template = false;
  bool has_parameters = false;
  std::optional<std::string> remote_host;  // set: another machine computes, this one forwards
};

/// Pure. Memory stays in proportion to what is kept, not to the vocabulary. The error says why it
/// is no such answer, an {"error": ...} in ollama's words.
[[nodiscard]] Result<ShownModel> parse_show(std::string_view text);

/// Asks `base_url` (see address.h). No server there, no such model, a server of another kind:
/// errors that name the host.
[[nodiscard]] Result<ShownModel> ask_show(os::HttpClient& client, const std::string& base_url,
                                          const std::string& tag);

}  // namespace picchio::ollama
