#include "engines/servers/passive_reader.h"

#include "base/text.h"
#include "os/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace picchio::servers {
namespace {

constexpr int kOk = 200;
constexpr int kBadRequest = 400;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kNotSupported = 501;
constexpr int kUnavailable = 503;

/// Kinds whose counters can be read, and how they are switched on.
struct Row {
  ServerKind kind;
  const char* remedy;
};
constexpr Row kRows[] = {
    {ServerKind::llama_server, "start llama-server with --metrics"},
    {ServerKind::vllm, "start vLLM without --disable-log-stats"},
    {ServerKind::sglang, "start SGLang with --enable-metrics"},
    // Behind a proxy a server may not be told apart, but its counters are.
    {ServerKind::openai, "llama-server tells them with --metrics, SGLang with --enable-metrics"},
};

const Row* row_of(ServerKind kind) {
  const auto* const row = std::ranges::find(kRows, kind, &Row::kind);
  return row == std::end(kRows) ? nullptr : row;
}

answers::PassiveReading without_look(ProbeEnd end, std::string why) {
  answers::PassiveReading out;
  out.end = end;
  out.why = std::move(why);
  return out;
}

std::unexpected<Error> switched_off(ServerKind kind, const os::HttpHead& head) {
  return with_hint(fail(ErrorKind::unsupported, "{} at {} does not tell its counters",
                        name_of(kind), plain(head.host)),
                   row_of(kind)->remedy);
}

}  // namespace

Result<PassiveReader> PassiveReader::open(const DetectedServer& detected, os::HttpClient& client,
                                          std::string model, Micros patience) {
  if (row_of(detected.kind) == nullptr) {
    return with_hint(fail(ErrorKind::unsupported,
                          "{} has no counters of what it did for others, so it cannot be watched "
                          "without requests",
                          name_of(detected.kind)),
                     "leave --passive out");
  }
  if (detected.router && model.empty()) {
    return with_hint(fail(ErrorKind::unsupported,
                          "this llama-server has several models, each with its counters"),
                     "name one of them with --model NAME");
  }
  Asker asker(client, detected.endpoint);
  asker.set_patience(patience);
  return PassiveReader(detected.kind, detected.router, std::move(asker), std::move(model));
}

std::string PassiveReader::path(std::string_view name) const {
  // A question about a router's model would load it.
  return router_ && !model_.empty()
             ? fmt::format("{}?model={}&autoload=false", name, query_escaped(model_))
             : std::string(name);
}

Result<answers::PassiveReading> PassiveReader::refused(const os::HttpResponse& answer) {
  const int status = answer.head.status;
  if (router_ && status == kBadRequest && answer.body.contains("not loaded")) {
    // The process that serves it next counts from nothing.
    if (before_) before_->told = {};
    return without_look(ProbeEnd::idle, "the model is not loaded");
  }
  Error error = refusal(answer.head, answer.body, !asker_.endpoint().api_key.empty());
  if (status == kUnauthorized || status == kForbidden) return std::unexpected(std::move(error));
  if (status == kNotSupported || status == kNotFound) return switched_off(kind_, answer.head);
  const bool loading = status == kUnavailable && kind_ == ServerKind::llama_server;
  return without_look(loading ? ProbeEnd::loading : ProbeEnd::failed, std::move(error.message));
}

void PassiveReader::add_slots(answers::CounterLook& look) {
  if (kind_ != ServerKind::llama_server || !tells_slots_) return;
  const Micros asked = os::monotonic_now();
  const Result<os::HttpResponse> slots = asker_.get(path("/slots"));
  if (!slots) return;
  if (slots->head.status == kNotSupported) tells_slots_ = false;
  if (slots->head.status != kOk) return;
  look.slots = answers::read_slots(slots->body);
  look.slots_at = asked + (os::monotonic_now() - asked) / 2;
}

Result<answers::PassiveReading> PassiveReader::look() {
  const Micros asked = os::monotonic_now();
  const Result<os::HttpResponse> answer = asker_.get(path("/metrics"));
  if (!answer) {
    const Error& error = answer.error();
    if (error.kind == ErrorKind::interrupted) return std::unexpected(error);
    const bool slow = error.kind == ErrorKind::timed_out;
    return without_look(slow ? ProbeEnd::failed : ProbeEnd::unreachable, error.message);
  }
  if (answer->head.status != kOk) return refused(*answer);
  answers::CounterLook now;
  now.told = answers::read_exposition(answer->body, model_);
  now.at = asked + (os::monotonic_now() - asked) / 2;
  now.of_one_model = !model_.empty();
  if (!answers::tells_counters(now.told)) {
    // vLLM begins to tell some of them with the first request; that it runs it tells at once.
    return switched_off(kind_, answer->head);
  }
  answers::PassiveReading out = answers::first_look(now);
  if (out.under_way.value_or(0) > 0) add_slots(now);
  if (before_) out = answers::compare_looks(*before_, now);
  before_ = std::move(now);
  return out;
}

}  // namespace picchio::servers
