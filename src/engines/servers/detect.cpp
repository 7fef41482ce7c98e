#include "engines/servers/detect.h"

#include "base/text.h"
#include "engines/answers/answer.h"
#include "engines/answers/json_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>

namespace picchio::servers {
namespace {

using answers::Json;

constexpr int kOk = 200;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kServersFault = 500;  // and above
constexpr int kUnavailable = 503;

/// What one question brought. A server that drops the connection at a path that it does not know
/// is asked on.
struct Heard {
  int status = 0;
  std::string server;  // its Server header, in lower case
  std::string body;
  std::optional<Json> json;  // the body of an answer with status 200

  [[nodiscard]] bool ok() const { return status == kOk; }
};

class Questions {
 public:
  Questions(os::HttpClient& client, const Endpoint& endpoint, Micros patience)
      : asker_(client, endpoint) {
    asker_.set_patience(patience);
  }

  /// Of the first question: it tells whether anybody is there at all.
  [[nodiscard]] const std::optional<Error>& nobody() const { return nobody_; }
  [[nodiscard]] bool wants_key() const { return wants_key_; }
  [[nodiscard]] const std::string& refused_with() const { return refused_with_; }

  const Heard& ask(const char* path) {
    const auto known = std::ranges::find(heard_, std::string_view(path), &Row::path);
    if (known != heard_.end()) return known->heard;
    Heard heard;
    const Result<os::HttpResponse> response = asker_.get(path);
    if (!response) {
      const ErrorKind kind = response.error().kind;
      if (heard_.empty() || kind == ErrorKind::interrupted || kind == ErrorKind::timed_out) {
        nobody_ = response.error();
      }
    } else {
      heard.status = response->head.status;
      heard.server = lower(response->head.header("server").value_or(""));
      heard.body = response->body;
      if (heard.ok()) heard.json = answers::parse_document(heard.body);
      if (heard.status == kUnauthorized || heard.status == kForbidden) {
        wants_key_ = true;
        refused_with_ = refusal(response->head, response->body, has_key()).message;
      }
      if (heard_.empty() && heard.status >= kServersFault) {
        first_failure_ = refusal(response->head, response->body, has_key());
      }
    }
    heard_.push_back({path, std::move(heard)});
    return heard_.back().heard;
  }

  /// The first question was answered with a failure of the server's own.
  [[nodiscard]] const std::optional<Error>& first_failure() const { return first_failure_; }

  [[nodiscard]] bool has_key() const { return !asker_.endpoint().api_key.empty(); }

 private:
  struct Row {
    std::string path;
    Heard heard;
  };

  Asker asker_;
  std::deque<Row> heard_;  // answers stay where they are while others come
  std::optional<Error> nobody_;
  std::optional<Error> first_failure_;
  bool wants_key_ = false;
  std::string refused_with_;
};

std::string text_at(const Heard& heard, const char* key) {
  return heard.json ? answers::text_in(*heard.json, key) : "";
}

/// A row says whether the server is of its kind; the first that does decides.
struct Row {
  bool (*is)(Questions&, DetectedServer&);
};

bool is_ollama(Questions& ask, DetectedServer& out) {
  if (!ask.ask("/").body.contains("Ollama is running")) return false;
  const std::string version = text_at(ask.ask("/api/version"), "version");
  out.kind = ServerKind::ollama;
  out.version = version;
  return true;
}

bool is_llama_server(Questions& ask, DetectedServer& out) {
  const Heard& root = ask.ask("/");
  const bool named = root.server == "llama.cpp";
  if (!named && !root.server.empty() && root.server != "llamafile") return false;
  const Heard& props = ask.ask("/props");
  const bool known = props.json && (answers::member(*props.json, "build_info") != nullptr ||
                                    answers::member(*props.json, "total_slots") != nullptr);
  if (!named && !known) return false;
  out.kind = ServerKind::llama_server;
  out.version = text_at(props, "build_info");
  out.router = text_at(props, "role") == "router";
  out.loading = props.status == kUnavailable;
  if (!out.router && !known) {
    const Heard& models = ask.ask("/models");
    const Json* rows = models.json ? answers::member(*models.json, "data") : nullptr;
    out.router = rows != nullptr && rows->is_array() && !rows->empty() &&
                 answers::object_in(rows->front(), "status") != nullptr;
  }
  return true;
}

bool is_lm_studio(Questions& ask, DetectedServer& out) {
  const Heard& greeting = ask.ask("/lmstudio-greeting");
  if (!greeting.json || !answers::flag_in(*greeting.json, "lmstudio")) return false;
  out.kind = ServerKind::lm_studio;
  return true;
}

bool is_koboldcpp(Questions& ask, DetectedServer& out) {
  const Heard& version = ask.ask("/api/extra/version");
  if (text_at(version, "result") != "KoboldCpp") return false;
  out.kind = ServerKind::koboldcpp;
  out.version = text_at(version, "version");
  return true;
}

bool is_tabby_api(Questions& ask, DetectedServer& out) {
  const Heard& info = ask.ask("/.well-known/serviceinfo");
  const Json* software = info.json ? answers::object_in(*info.json, "software") : nullptr;
  if (software == nullptr || answers::text_in(*software, "name") != "TabbyAPI") return false;
  out.kind = ServerKind::tabby_api;
  out.version = answers::text_in(*software, "version");
  return true;
}

bool is_vllm(Questions& ask, DetectedServer& out) {
  const std::string version = text_at(ask.ask("/version"), "version");
  if (version.empty() || !ask.ask("/metrics").body.contains("vllm:")) return false;
  out.kind = ServerKind::vllm;
  out.version = version;
  return true;
}

bool is_sglang(Questions& ask, DetectedServer& out) {
  const Heard& info = ask.ask("/get_model_info");
  if (!info.json || answers::member(*info.json, "model_path") == nullptr) return false;
  out.kind = ServerKind::sglang;
  out.version = text_at(ask.ask("/get_server_info"), "version");
  return true;
}

bool is_webui(Questions& ask, DetectedServer& out) {
  const Heard& info = ask.ask("/v1/internal/model/info");
  if (!info.json || answers::member(*info.json, "model_name") == nullptr) return false;
  out.kind = ServerKind::text_generation_webui;
  return true;
}

bool is_openai(Questions& ask, DetectedServer& out) {
  const Heard& models = ask.ask("/v1/models");
  const Json* rows = models.json ? answers::member(*models.json, "data") : nullptr;
  if (rows == nullptr || !rows->is_array()) return false;
  out.kind = ServerKind::openai;
  // A Python server of the standard library, whose models are on the hub.
  if (models.server.contains("basehttp")) out.kind = ServerKind::mlx_lm;
  const std::string owner = rows->empty() ? "" : answers::text_in(rows->front(), "owned_by");
  if (owner == "vllm") out.kind = ServerKind::vllm;
  if (owner == "sglang") out.kind = ServerKind::sglang;
  if (owner == "organization_owner") out.kind = ServerKind::lm_studio;
  return true;
}

// What names itself at a path of its own stands before what is told by common ones.
constexpr Row kRows[] = {{is_ollama},    {is_lm_studio},    {is_koboldcpp},
                         {is_tabby_api}, {is_llama_server}, {is_vllm},
                         {is_sglang},    {is_webui},        {is_openai}};

/// llama-swap passes requests on to servers that it starts: it has no times of its own.
std::optional<Error> passes_on(Questions& ask, const std::string& base_url) {
  const Heard& running = ask.ask("/running");
  const Json* rows = running.json ? answers::member(*running.json, "running") : nullptr;
  if (rows == nullptr || !rows->is_array()) return std::nullopt;
  std::string model = "MODEL";
  if (!rows->empty()) {
    const std::string named = answers::text_in(rows->front(), "model");
    if (!named.empty()) model = named;
  }
  return with_hint(
             fail(ErrorKind::unsupported,
                  "{} is llama-swap, which passes requests on to other servers", plain(base_url)),
             fmt::format("measure the server behind it: picchio {}/upstream/{}", plain(base_url),
                         plain(model)))
      .error();
}

Error nothing_known(Questions& ask, const std::string& base_url) {
  if (const auto& failure = ask.first_failure()) return *failure;
  if (ask.wants_key()) {
    return with_hint(fail(ErrorKind::denied, "{}", ask.refused_with()),
                     ask.has_key() ? "the API key was not taken; is it this server's?"
                                   : "give its API key with --api-key or PICCHIO_API_KEY")
        .error();
  }
  return with_hint(fail(ErrorKind::unsupported,
                        "what answers at {} is no server of language models that is known",
                        plain(base_url)),
                   "is the port right? a prefix, such as http://host:8080/llm, belongs to the URL")
      .error();
}

}  // namespace

Result<DetectedServer> detect_server(os::HttpClient& client, const Endpoint& endpoint,
                                     Micros patience) {
  DetectedServer out;
  out.endpoint = endpoint;
  out.endpoint.base_url = base_of(endpoint.base_url);
  Questions ask(client, out.endpoint, patience);
  ask.ask("/");
  if (const auto& nobody = ask.nobody()) return std::unexpected(*nobody);
  if (auto proxy = passes_on(ask, out.endpoint.base_url)) return std::unexpected(*std::move(proxy));
  for (const Row& row : kRows) {
    if (row.is(ask, out)) {
      out.version = fit(plain(out.version), 40);
      return out;
    }
    // One that fell silent would be waited for at every path.
    if (const auto& nobody = ask.nobody()) return std::unexpected(*nobody);
  }
  return std::unexpected(nothing_known(ask, out.endpoint.base_url));
}

}  // namespace picchio::servers
