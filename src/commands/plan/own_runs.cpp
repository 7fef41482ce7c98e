#include "commands/plan/own_runs.h"

#include "base/text.h"
#include "commands/header_source.h"
#include "commands/stored_runs.h"
#include "commands/terminal.h"
#include "engines/llama_cpp/prompt.h"
#include "gguf/memory/token_reads.h"
#include "os/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

namespace picchio {
namespace {

// Rows that are looked through, and runs that are read whole: each wants the header of its model.
constexpr std::int64_t kMostRows = 500;
constexpr std::size_t kMostRuns = 24;
constexpr std::size_t kMostOfOneModel = 3;

// What mp1's prompt makes with Gemma 3's vocabulary, for runs of before the engine's own count was
// kept.
constexpr std::int64_t kPromptTokens = 750;

// The engine prints the weights of a model with two digits.
constexpr double kSameWeight = 0.005;

/// What a look at the table's row can tell.
bool is_candidate(const StoredRow& row, const std::string& host) {
  // Between the two the weights lay in several memories.
  const bool whole = row.gpu_share && (*row.gpu_share <= 0 || *row.gpu_share >= 1);
  return row.host == host && row.protocol == llama_cpp::kProtocol && whole &&
         row.lane(Lane::decode).value;
}

class Gatherer {
 public:
  explicit Gatherer(const Machine& machine) : chip_(plain(machine.chip)) {}

  Result<RunsByMemory> gather(history::History& history) {
    const std::string host = os::host_name();
    if (host.empty()) return RunsByMemory{};  // every machine without a name would be this one
    history::RowQuery query;
    query.most = kMostRows;
    const Result<std::vector<StoredRow>> rows = history.rows(query);
    if (!rows) return std::unexpected(rows.error());
    RunsByMemory out;
    std::size_t read = 0;
    for (const StoredRow& row : *rows) {
      if (read == kMostRuns) break;
      if (!is_candidate(row, host) || of_model_[row.model_key] == kMostOfOneModel) continue;
      const Result<StoredRun> stored = history.find(fmt::format("@{}", row.id));
      if (!stored && stored.error().kind == ErrorKind::malformed) {
        return std::unexpected(stored.error());
      }
      if (!stored) continue;
      ++read;
      if (take(stored->run, out)) ++of_model_[row.model_key];
    }
    return out;
  }

 private:
  bool take(const RecordedRun& run, RunsByMemory& out) {
    const RunFigures& figures = run.figures;
    if (figures.machine.chip != chip_) return false;
    const std::optional<std::string> memory = only_memory(figures);
    // The newest run tells how many threads compute on this machine.
    if (!memory || (memory->empty() && !same_threads(figures))) return false;
    const std::optional<gguf::TokenReads> reads = reads_of(run, *memory);
    if (!reads) return false;
    const gguf::MemoryReads& read = memory->empty() ? reads->host : reads->devices.front();
    OwnRun own;
    own.model = run.model_file;
    own.bytes_per_token = read.bytes;
    own.weights_per_token = read.weights;
    own.products_per_token = read.products;
    own.prompt_weights = read.weights - read.head_weights;
    own.main_type = reads->main_type;
    own.decode = rate_of(figures, Lane::decode);
    // Large batches go to a GPU that is there even where no weights are on it.
    if (!memory->empty() || figures.state == State::cpu_only_machine) {
      own.prefill = rate_of(figures, Lane::prefill);
    }
    out[*memory].push_back(std::move(own));
    return true;
  }

  bool same_threads(const RunFigures& figures) {
    const std::optional<int> threads = figures.threads();
    if (!threads) return false;
    if (!threads_) threads_ = threads;
    return threads_ == threads;
  }

  /// On one device where `memory` names one, else on the host.
  std::optional<gguf::TokenReads> reads_of(const RecordedRun& run, const std::string& memory) {
    const ModelHeaders* model = headers(run.model_file);
    const RunFigures& figures = run.figures;
    if (model == nullptr || !figures.weight_bytes) return std::nullopt;
    const double weight = static_cast<double>(tensor_bytes(*model));
    if (std::fabs(weight - *figures.weight_bytes) > kSameWeight * weight) return std::nullopt;
    gguf::ContextSettings settings;
    settings.n_ctx = figures.context.value_or(llama_cpp::kContext);
    if (!figures.more.kv_type_k.empty()) settings.cache_type_k = figures.more.kv_type_k;
    if (!figures.more.kv_type_v.empty()) settings.cache_type_v = figures.more.kv_type_v;
    // On average half of what is generated lies there as well.
    const std::int64_t prompt = figures.more.filled_tokens.value_or(kPromptTokens);
    const std::int64_t depth =
        std::clamp<std::int64_t>(prompt, 0, settings.n_ctx) + llama_cpp::kGenerate / 2;
    gguf::Placement placement;
    if (!memory.empty()) placement.devices.push_back({.name = memory, .free_bytes = 1});
    auto reads = gguf::token_reads(model->headers, settings, placement, depth);
    if (!reads) return std::nullopt;
    return *std::move(reads);
  }

  /// Null for a file that is gone or that no engine loads.
  const ModelHeaders* headers(const std::string& path) {
    if (path.empty()) return nullptr;
    const auto [place, fresh] = headers_.try_emplace(path);
    ModelHeaders& kept = place->second;
    if (fresh) kept = headers_of_file(path, gguf::Accept::loadable).value_or(ModelHeaders{});
    return kept.headers.empty() ? nullptr : &kept;
  }

  static std::optional<double> rate_of(const RunFigures& figures, Lane which) {
    const LaneFigures& lane = figures.lane(which);
    const std::optional<double> rate = figures.only_one_pass ? lane.cold.value : lane.warm.value;
    if (!rate || !std::isfinite(*rate) || *rate <= 0) return std::nullopt;
    return rate;
  }

  std::string chip_;
  std::optional<int> threads_;
  std::map<std::string, std::size_t> of_model_;
  std::map<std::string, ModelHeaders> headers_;
};

}  // namespace

RunsByMemory own_runs(const Machine& machine) {
  Gatherer gatherer(machine);
  Result<RunsByMemory> out = with_history<RunsByMemory>(
      {}, [&](history::History& history) { return gatherer.gather(history); });
  if (out) return *std::move(out);
  print_stderr(fmt::format("picchio: the history is not used: {}\n", plain(out.error().message)));
  return {};
}

}  // namespace picchio
