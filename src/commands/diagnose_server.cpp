#include "commands/diagnose_server.h"

#include "base/text.h"
#include "commands/http_client.h"
#include "engines/ollama/address.h"
#include "engines/ollama/store.h"
#include "engines/ollama/tag.h"
#include "engines/servers/detect.h"
#include "os/file.h"
#include "os/http.h"
#include "os/remote_name.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {
namespace {

// A server that computes on every core answers a small question late.
constexpr Micros kPatience = std::chrono::seconds(10);

/// A word such as "mybox:8080": a tag by its form, but what its author meant may be a server. Tags
/// of digits tell billions of parameters or a month, so they are short.
bool could_be_a_server(std::string_view word) {
  constexpr std::size_t kPortDigits = 4;
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos || word.contains('/')) return false;
  const std::string_view port = word.substr(colon + 1);
  return port.size() >= kPortDigits &&
         std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
}

/// No ollama answers: the word may have been meant as a file, and the store may have the model.
Error no_ollama(const std::string& word, const std::string& url, const Error& why) {
  Error out{
      why.kind,
      fmt::format("'{}' is no file here, so it was taken for an ollama model, but ollama "
                  "cannot be asked at {}: {}",
                  fit(plain(word), 80), plain(url), why.message),
      why.hint.empty()
          ? "start it with 'ollama serve' (OLLAMA_HOST says where it is sought), or name a file"
          : why.hint};
  if (!why.hint.empty()) return out;
  const auto tag = ollama::parse_tag(word);
  if (!tag) return out;
  const auto stored = ollama::find_in_store(*tag, ollama::store_roots());
  if (stored) {
    out.hint = fmt::format("start it with 'ollama serve', or measure its file: picchio {}",
                           plain(stored->model.path));
  }
  return out;
}

/// A password in an address would stand in every message about it, and in what is kept.
Result<> refuse_password(const std::string& url) {
  const std::string bare = url.substr(0, url.find_first_of("?#"));
  if (os::without_secrets(bare) == bare) return {};
  return with_hint(fail(ErrorKind::unsupported, "the address '{}' was given with a password",
                        plain(os::without_secrets(url))),
                   "give the address alone, and a key with --api-key or PICCHIO_API_KEY");
}

Result<servers::DetectedServer> find_ollama(os::HttpClient& client, const std::string& word,
                                            const std::string& api_key) {
  const Result<std::string> url = ollama::base_url();
  if (!url) return std::unexpected(url.error());
  if (const Result<> ok = refuse_password(*url); !ok) return std::unexpected(ok.error());
  Result<servers::DetectedServer> found =
      servers::detect_server(client, {*url, api_key}, kPatience);
  if (!found) {
    if (found.error().kind == ErrorKind::interrupted) return found;
    return std::unexpected(no_ollama(word, os::without_secrets(*url), found.error()));
  }
  if (found->kind == ServerKind::ollama) return found;
  return with_hint(
      fail(ErrorKind::unsupported,
           "'{}' is no file here, so it was taken for an ollama model, but {} "
           "answers at {}",
           fit(plain(word), 80), name_of(found->kind), plain(os::without_secrets(*url))),
      "OLLAMA_HOST says where ollama is sought");
}

}  // namespace

std::string api_key_or_environment(const std::string& given) {
  return given.empty() ? os::env("PICCHIO_API_KEY").value_or("") : given;
}

Result<servers::DetectedServer> detect_target(const Target& target, const std::string& api_key,
                                              os::HttpClient& client) {
  if (target.kind == TargetKind::ollama) return find_ollama(client, target.word, api_key);
  if (const Result<> ok = refuse_password(target.word); !ok) return std::unexpected(ok.error());
  return servers::detect_server(client, {target.word, api_key}, kPatience);
}

Result<ServerRequest> server_request(const Target& target, const ServerOptions& options,
                                     os::HttpClient& client, Progress& progress) {
  if (target.kind == TargetKind::ollama && !options.model.empty()) {
    return fail(ErrorKind::unsupported, "--model is for a server's address; '{}' names the model",
                fit(plain(target.word), 80));
  }
  Result<servers::DetectedServer> detected = detect_target(target, options.api_key, client);
  if (!detected) return std::unexpected(detected.error());
  progress.note(fmt::format("{} {} at {}", name_of(detected->kind),
                            detected->version.empty() ? "(version unknown)" : detected->version,
                            plain(os::without_secrets(detected->endpoint.base_url))));
  ServerRequest request;
  request.detected = *std::move(detected);
  request.model = target.kind == TargetKind::ollama ? target.word : options.model;
  request.passes = options.passes;
  request.timeout = options.timeout;
  request.meter_hz = options.meter_hz;
  return request;
}

Error with_address_hint(Error error, const Target& target) {
  const bool misread = error.kind != ErrorKind::interrupted && target.kind == TargetKind::ollama &&
                       could_be_a_server(target.word);
  if (misread) {
    error.hint = fmt::format("if that is a server: picchio http://{}", plain(target.word));
  }
  return error;
}

Result<RawRun> diagnose_server(const Target& target, const ServerOptions& options,
                               os::Interrupts& interrupts, Progress& progress,
                               const PassSink& sink) {
  Result<os::HttpClient> client = open_http_client(interrupts);
  if (!client) return std::unexpected(client.error());
  const Result<ServerRequest> request = server_request(target, options, *client, progress);
  if (!request) return std::unexpected(with_address_hint(request.error(), target));
  Result<RawRun> run = measure_server(*request, *client, interrupts, progress, sink);
  if (!run) return std::unexpected(with_address_hint(run.error(), target));
  return run;
}

}  // namespace picchio
