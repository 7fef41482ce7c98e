#include "commands/server_pass.h"

#include "base/text.h"
#include "engines/answers/answer.h"
#include "machine/process_facts.h"
#include "machine/server_process.h"
#include "os/clock.h"
#include "os/proc.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string_view>

namespace picchio {
namespace {

// An answer of 128 tokens is 30 KiB, its context and settings another 50.
constexpr std::int64_t kMostAnswerBytes = std::int64_t{8} << 20;
// Between two tokens of the largest model that swaps lie tens of seconds.
constexpr Micros kStall = std::chrono::seconds(90);
constexpr Micros kTick{250'000};
constexpr int kBadRequest = 400;
constexpr int kUnprocessable = 422;
constexpr int kOk = 200;

/// Everything that is watched about one request. Its callbacks run between two reads of the answer.
class ExchangeWatch {
 public:
  /// `exchange`: that of `pass`.
  ExchangeWatch(ServerKind kind, RawPass& pass, RawExchange& exchange, Progress& progress,
                MeterRecorder& meters, const ServerProcesses& processes)
      : kind_(kind),
        pass_(pass),
        exchange_(exchange),
        progress_(progress),
        meters_(meters),
        processes_(processes) {}

  void begin() {
    began_ = os::monotonic_now();
    tick();
  }

  void tick() {
    const Micros now = os::monotonic_now() - began_;
    progress_.tick(now);
    if (now - sampled_ < kTick && now > Micros{} && !pass_.cpu.empty()) return;
    sample_cpu(now);
    // The runner comes with the load; another model's runner is not to be counted for ours.
    if (!token_seen_) meters_.follow(processes_.engine());
  }

  void data(std::string_view bytes) {
    const Micros now = os::monotonic_now() - began_;
    std::size_t line_begin = line_begin_;
    exchange_.body += bytes;
    for (std::size_t end = exchange_.body.find('\n', line_begin); end != std::string::npos;
         end = exchange_.body.find('\n', line_begin)) {
      exchange_.line_stamps.push_back(now);
      if (!token_seen_) {
        const std::string_view line(exchange_.body.data() + line_begin, end - line_begin);
        if (answers::brings_text(kind_, line)) on_token(now);
      }
      line_begin = end + 1;
    }
    line_begin_ = line_begin;
    tick();
  }

  void end() {
    pass_.wall = os::monotonic_now() - began_;
    if (line_begin_ < exchange_.body.size()) exchange_.line_stamps.push_back(pass_.wall);
    sample_cpu(pass_.wall);
    if (!token_seen_) look_at_process();
  }

 private:
  void on_token(Micros now) {
    token_seen_ = true;
    // The end of prefill: without a sample right here the two phases could not be told apart.
    sample_cpu(now);
    progress_.token_arrived();
    look_at_process();
  }

  void look_at_process() {
    const int engine = processes_.engine();
    if (engine > 0) pass_.process = read_process_facts("/", engine);
  }

  void sample_cpu(Micros now) {
    if (processes_.server() == 0) return;
    sampled_ = now;
    if (const auto used = os::cpu_seconds_of_tree("/", processes_.server())) {
      pass_.cpu.push_back({now, *used});
    }
  }

  ServerKind kind_;
  RawPass& pass_;
  RawExchange& exchange_;
  Progress& progress_;
  MeterRecorder& meters_;
  const ServerProcesses& processes_;
  Micros began_{};
  Micros sampled_{};
  std::size_t line_begin_ = 0;
  bool token_seen_ = false;
};

Error ended_early(const ServerAnswer& answer, const std::string& host) {
  if (!answer.error.empty()) {
    return {ErrorKind::failed, fmt::format("{} broke off: {}", host, answer.error),
            "its own log tells more"};
  }
  if (answer.pieces == 0) {
    return {ErrorKind::malformed,
            fmt::format("the answer of {} holds no generated text and no figures", host), ""};
  }
  return {ErrorKind::failed,
          fmt::format("{} ended its answer after {} pieces of text without its figures", host,
                      answer.pieces),
          "some stop so when a model repeats one token; try another model or seed"};
}

}  // namespace

int ServerProcesses::engine() const {
  return place_.pid ? computing_process("/", *place_.pid, needle_) : 0;
}

ServerPassRunner::ServerPassRunner(PassPlan plan, servers::Server& server, os::HttpClient& client,
                                   Progress& progress, MeterRecorder& meters,
                                   const ServerProcesses& processes)
    : plan_(std::move(plan)),
      server_(server),
      client_(client),
      progress_(progress),
      meters_(meters),
      processes_(processes),
      run_id_(static_cast<std::uint32_t>(std::random_device{}())) {}

Result<RawPass> ServerPassRunner::run(int number) {
  while (true) {
    Result<RawPass> pass = run_once(number);
    if (pass || !refused_ || !server_.simplify()) return pass;
  }
}

Result<RawPass> ServerPassRunner::run_once(int number) {
  RawPass pass;
  pass.prompt_prefix = llama_cpp::prompt_prefix(run_id_, number);
  const std::string prompt = llama_cpp::prompt_text(pass.prompt_prefix, plan_.prompting);
  servers::Call call = server_.call({.prompt = prompt,
                                     .tokens = plan_.prompting.generate,
                                     .context = plan_.prompting.context,
                                     .seed = llama_cpp::kSeed});
  RawExchange& exchange = pass.exchange.emplace();
  exchange.prompt_bytes = static_cast<std::int64_t>(prompt.size());
  exchange.latency = server_.latency();
  exchange.counters_before = server_.counters();
  exchange.request = call.body;
  meters_.follow(processes_.engine());
  pass.began = meters_.now();
  Result<> sent = send(call, pass, exchange);
  meters_.follow(0);
  if (!sent) return std::unexpected(sent.error());
  exchange.counters_after = server_.counters();
  exchange.claim = server_.claim();
  return pass;
}

Result<> ServerPassRunner::send(const servers::Call& call, RawPass& pass, RawExchange& exchange) {
  refused_ = false;
  const servers::Endpoint& endpoint = server_.detected().endpoint;
  ExchangeWatch watch(server_.detected().kind, pass, exchange, progress_, meters_, processes_);
  os::HttpRequest http;
  http.url = endpoint.base_url + call.path;
  http.post = call.body;
  http.headers = servers::headers_for(endpoint);
  http.headers.emplace_back("content-type", "application/json");
  http.deadlines = {.connect = std::chrono::seconds(10),
                    .first_byte = plan_.timeout,
                    .stall = std::min(kStall, plan_.timeout),
                    .overall = plan_.timeout};
  http.max_body_bytes = kMostAnswerBytes;
  http.on_data = [&](std::string_view bytes) -> Result<> {
    watch.data(bytes);
    return {};
  };
  http.keep_going = [&](std::int64_t /*received*/) {
    watch.tick();
    return true;
  };
  watch.begin();
  const Result<os::HttpResponse> response = client_.send(http);
  watch.end();
  if (!response) return std::unexpected(failure(response.error(), exchange));
  const int status = response->head.status;
  if (status != kOk) {
    refused_ = status == kBadRequest || status == kUnprocessable;
    return std::unexpected(
        servers::refusal(response->head, exchange.body, !endpoint.api_key.empty()));
  }
  answer_ = answers::read_answer(server_.detected().kind, exchange);
  // A model may end at once: then there is no text, but a prompt that was read.
  const bool said_something =
      answer_.pieces > 0 || answer_.generated_tokens.value_or(0) > 0 || answer_.prompt_ms;
  if (!answer_.finished || !said_something) {
    return std::unexpected(ended_early(answer_, plain(response->head.host)));
  }
  return {};
}

/// A failure in the middle of an answer, with what had come until then.
Error ServerPassRunner::failure(Error error, const RawExchange& exchange) const {
  const ServerAnswer answer = answers::read_answer(server_.detected().kind, exchange);
  if (!answer.error.empty()) return ended_early(answer, "the server");
  if (error.kind == ErrorKind::interrupted) return {error.kind, "interrupted", ""};
  if (answer.pieces > 0) error.message += fmt::format(", after {} pieces of text", answer.pieces);
  if (error.kind == ErrorKind::timed_out && error.hint.empty()) {
    error.hint = "is it stopped or swapping? --timeout SECONDS gives a pass more time";
  }
  return error;
}

}  // namespace picchio
