// What ollama writes down about a model: manifests/REGISTRY/SPACE/MODEL/TAG below its store, JSON
// as container registries use it. Pure.
//
//   {"schemaVersion": 2, "config": {"digest": "sha256:HEX", "size": 487},
//    "layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:HEX",
//                "size": 4683074240}, ...]}
//
// Seen kinds of layer: model, projector, adapter, template, system, params, license, messages; in
// newer ones draft and tensor (safetensors).
#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::ollama {

struct Layer {
  std::string kind;    // "model": the media type without "application/vnd.ollama.image."
  std::string digest;  // 64 lower-case hex digits
  std::optional<std::int64_t> bytes;
};

struct Manifest {
  std::vector<Layer> layers;  // as they stand there
  std::int64_t bytes = 0;     // of all layers that state theirs, and the config
};

[[nodiscard]] Result<Manifest> parse_manifest(std::string_view json);

}  // namespace picchio::ollama
