#include "verdict/server_claim.h"

#include "base/text.h"

#include <fmt/format.h>

#include <array>

namespace picchio {
namespace {

// From here on the figures are allocations; before, a plan that was made before the load.
constexpr ServerVersion kMeasures{0, 11, 11};
// A llama-server computes, and ollama adds up the buffer lines of its log.
constexpr ServerVersion kAddsLines{0, 30, 0};
// Until then mapped weights were counted twice on a partial offload.
constexpr ServerVersion kCountsOnce{0, 30, 11};

std::string share_text(double share) {
  const double percent = 100 * share;
  // Neither end is reached by rounding.
  if (share > 0 && percent < 1) return "less than 1%";
  if (share < 1 && percent > 99) return "not quite 100%";
  return fmt::format("{:.0f}%", percent);
}

}  // namespace

std::optional<ServerVersion> parse_version(std::string_view text) {
  ServerVersion out;
  const auto parts = split(text.substr(0, text.find_first_of("-+ ")), '.');
  if (parts.size() != 3) return std::nullopt;
  std::array<int*, 3> fields = {&out.major, &out.minor, &out.patch};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto number = parse_int(parts[i]);
    if (!number || *number < 0 || *number > 9999) return std::nullopt;
    *fields[i] = static_cast<int>(*number);
  }
  if (out == ServerVersion{}) return std::nullopt;
  return out;
}

std::optional<std::int64_t> served_bytes(const Run& run) {
  if (run.raw.model) return run.raw.model->tensor_bytes;
  if (run.raw.server && run.raw.server->weight_bytes) return run.raw.server->weight_bytes;
  const ServerClaim* claim = least_claim(run);
  if (claim != nullptr && claim->bytes > 0) return claim->bytes;
  return std::nullopt;
}

std::optional<std::int64_t> served_context(const Run& run) {
  const ServerClaim* claim = least_claim(run);
  if (claim != nullptr && claim->context) return claim->context;
  if (run.raw.server && run.raw.server->context) return run.raw.server->context;
  return run.context;
}

Testimony server_claim_testimony(const Run& run) {
  const ServerFacts& server = *run.raw.server;
  Testimony out{Witness::claim, std::nullopt, ""};
  if (server.kind != ServerKind::ollama) {
    out.sentence = fmt::format("{} does not tell where its model lies", name_of(server.kind));
    return out;
  }
  const ServerClaim* least = least_claim(run);
  if (least == nullptr) {
    out.sentence = "ollama did not list the model as loaded";
    return out;
  }
  const ServerClaim& claim = *least;
  const std::optional<double> share = claim.gpu_share();
  if (!share || *share > 1) {
    out.sentence = fmt::format("ollama tells {} of {} bytes, which says nothing", claim.gpu_bytes,
                               claim.bytes);
    return out;
  }
  const std::optional<ServerVersion> version = parse_version(server.version);
  const bool adds = !version || *version >= kAddsLines;
  // What was measured has the cache and the compute buffers in it, and is more than the files.
  if (adds && *share == 1 && server.weight_bytes && claim.bytes <= *server.weight_bytes) {
    out.sentence = fmt::format(
        "ollama tells {} on both sides, no more than the files: it could not read the runner's log",
        format_bytes(claim.bytes));
    return out;
  }
  out.word = *share == 0 ? Word::cpu : *share == 1 ? Word::gpu : Word::partial;
  out.sentence = fmt::format("ollama says {} of {} in GPU memory", share_text(*share),
                             format_bytes(claim.bytes));
  if (version && *version < kMeasures) out.sentence += ", planned before the load";
  const bool twice = version && *version >= kAddsLines && *version < kCountsOnce;
  if (twice && out.word == Word::partial) out.sentence += ", mapped weights counted twice";
  return out;
}

}  // namespace picchio
