// From what a user named (a file, one of its shards, a tag of ollama's store, a URL, standard
// input) to the headers of that model's files.
#pragma once

#include "base/result.h"
#include "gguf/header.h"
#include "os/signals.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace picchio {

/// What a server told of one file.
struct RemoteFile {
  std::int64_t transferred = 0;       // bytes
  std::optional<std::string> digest;  // SHA-256 in hex
};

struct ModelHeaders {
  std::vector<gguf::Header> headers;  // of all shards, in order
  std::vector<std::string> paths;     // where each was read, without secrets
  std::string label;                  // how to call it; empty: by the first path
  std::vector<RemoteFile> remote;     // for each, if a server sent them
};

/// Errors say what to do: no such file, not GGUF, cut off, a shard missing, a server that sends
/// whole files only, a tag that is in no store. `interrupts` stops a download. Of a file any shard
/// stands for all of them.
[[nodiscard]] Result<ModelHeaders> read_headers(const std::string& what, gguf::Accept accept,
                                                os::Interrupts& interrupts);

/// The same of a file for certain.
[[nodiscard]] Result<ModelHeaders> headers_of_file(const std::string& path, gguf::Accept accept);

/// Of all its tensors whose type has a known size.
[[nodiscard]] std::int64_t tensor_bytes(const ModelHeaders& model);

/// No file, and a name that ollama's models have.
[[nodiscard]] bool names_a_tag(const std::string& what);

/// "cannot read 'x.gguf': " before the message.
[[nodiscard]] std::unexpected<Error> cannot_read(const std::string& what, Error error);

}  // namespace picchio
