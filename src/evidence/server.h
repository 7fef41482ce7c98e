// An engine that was running already and answers over HTTP: what it is, where it runs, and one
// answer of it, first as it came and then as read.
#pragma once

#include "base/time.h"
#include "evidence/engine_log.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

enum class ServerKind {
  ollama,
  llama_server,
  lm_studio,
  koboldcpp,
  tabby_api,
  vllm,
  sglang,
  mlx_lm,
  text_generation_webui,
  openai,  // whatever else speaks OpenAI's API
};
[[nodiscard]] std::string_view name_of(ServerKind kind);  // "llama-server", "LM Studio"
/// The other way round, for kept runs.
[[nodiscard]] std::optional<ServerKind> server_kind_of(std::string_view name);

/// What is known of the server itself. Texts are its own claims.
struct ServerFacts {
  ServerKind kind = ServerKind::openai;
  std::string url;             // base of its API, without a password; no slash at the end
  std::string version;         // "0.31.1", "b11669-Debian"; empty: not told
  std::string model;           // as requests name it; empty: it has only one
  std::string model_file;      // on the server's machine, as it tells; empty: it does not
  bool local = false;          // a process of this machine computes, and was found
  std::string unseen_because;  // why not; empty when local
  std::string process;         // the name of the one that computes: "llama-server"
  std::vector<std::string> command_line;     // of that process
  bool loads_on_request = false;             // the first pass included the load of the weights
  std::string log_source;                    // where RawPass::log comes from; empty: there is none
  std::string no_log_because;                // why not
  std::string quant;                         // "Q4_K_M", as the server calls it
  std::optional<std::int64_t> weight_bytes;  // as it tells
  std::optional<double> parameters;
  std::optional<std::int64_t> context;  // of one request
  std::vector<std::string> notes;  // what a reader must know, a sentence each: others it served
};

/// One request and its answer. What the server was asked beside it stands in `claim` and the
/// counters, as it came.
struct RawExchange {
  std::string request;                       // the JSON that was sent; no key stands in it
  std::optional<std::int64_t> prompt_bytes;  // of the text that was to be read
  std::string body;                 // the answer: one JSON document, a line each (ollama), or SSE
  std::vector<Micros> line_stamps;  // arrival of each line of `body`, since the request began
  std::optional<Micros> latency;    // of a small request just before: the way there and back
  std::string claim;                // ollama: the model's row of /api/ps, after the answer
  std::string counters_before;      // /metrics (vLLM, SGLang), /api/extra/perf (KoboldCpp)
  std::string counters_after;
};

/// Whose figure a lane is.
enum class RateSource {
  none,
  engine,    // the server's own times of this request
  counters,  // what the server's counters rose by
  clock,     // our stopwatch on the arriving text
};
[[nodiscard]] std::string_view name_of(RateSource source);  // "its own timings", "our clock"

/// ollama's row of /api/ps: how much of the model it believes to be in GPU memory.
struct ServerClaim {
  std::int64_t bytes = 0;
  std::int64_t gpu_bytes = 0;
  std::optional<std::int64_t> context;  // of one request

  [[nodiscard]] std::optional<double> gpu_share() const {
    if (bytes <= 0) return std::nullopt;
    return static_cast<double>(gpu_bytes) / static_cast<double>(bytes);
  }
};

/// An answer as read. Times are in milliseconds.
struct ServerAnswer {
  bool finished = false;   // its end was seen
  std::string error;       // in the server's words, also one that comes in the middle of the stream
  std::string stop;        // "length", "stop", ...; empty: not told
  bool truncated = false;  // the server says that it cut the prompt
  std::optional<std::int64_t> prompt_tokens;     // all of the prompt
  std::optional<std::int64_t> cached_tokens;     // of those, reused; absent: not told
  std::optional<std::int64_t> evaluated_tokens;  // those that prompt_ms was spent on
  std::optional<std::int64_t> generated_tokens;  // thinking included
  bool generated_counted_by_us = false;          // pieces of the stream, not tokens
  std::optional<double> prompt_ms;
  std::optional<double> eval_ms;
  std::optional<double> load_ms;
  std::optional<double> total_ms;
  std::optional<std::int64_t> drafted;  // tokens that a draft proposed
  std::optional<std::int64_t> drafts_accepted;
  RateSource prefill_source = RateSource::none;
  RateSource decode_source = RateSource::none;
  // On our stopwatch, since the request began.
  std::optional<Micros> first_token;
  std::optional<Micros> last_token;
  std::int64_t pieces = 0;             // arrivals that held generated text
  std::int64_t thinking_pieces = 0;    // of those, of the thinking
  std::optional<Micros> prompt_begin;  // the server said that it began with the prompt
  Sampling sampling;                   // as the answer repeats it
  std::vector<std::string> notes;      // what is odd about it, a sentence each
};

}  // namespace picchio
