// What people write for a file on another machine: a URL, or a name on the Hugging Face hub,
//
//   hf:owner/repository/folder/file.gguf[@revision]
//
// where the revision is a branch, a tag or a commit, "main" when not given. Pure but for
// hub_settings().
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace picchio::os {

struct HubSettings {
  std::string endpoint;  // "https://huggingface.co", or a mirror's; no slash at its end
  std::string token;     // for gated and private repositories; empty: none. Never to be shown
};

/// From HF_ENDPOINT and HF_TOKEN, which the hub's own tools read.
[[nodiscard]] HubSettings hub_settings();

struct RemoteName {
  std::string url;
  std::string shown;    // as the user wrote it, without a password or a query
  std::string token;    // to be sent as a bearer; empty: none
  bool on_hub = false;  // refusals are worth a hint about tokens
};

/// Whether `text` means a remote file: it begins with "hf:", "http://" or "https://".
[[nodiscard]] bool is_remote_name(std::string_view text);

/// A link to a page about a file on huggingface.co (".../blob/...") means the file. The token goes
/// to huggingface.co by https and to nobody else, a mirror included.
/// "@main" of "hf:o/r/f.gguf@main", "?download=true" of a URL: what stands behind the file's name.
[[nodiscard]] std::string_view behind_file_name(std::string_view text);

/// A URL without what may be a password before its host or a signature in its query; other text as
/// it is.
[[nodiscard]] std::string without_secrets(std::string_view text);

[[nodiscard]] Result<RemoteName> remote_name(std::string_view text, const HubSettings& hub);

}  // namespace picchio::os
