#include "verdict/shape_rules.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace picchio {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1024} * 1024;

// Full offloads without a header: the input embedding was 2 to 18 % of the bytes in the logs seen,
// the smallest forced share that looked alike 23 %.
constexpr double kEmbeddingShare = 0.20;
// The same where the schedule needs no more splits than one per device: nothing that a layer uses
// can then lie on the host, so only an unusually large embedding is left (30 %: a 0.6B model at
// Q8).
constexpr double kEmbeddingShareOneGraph = 0.30;
// Without a claim and without a schedule there is no second witness at all.
constexpr double kEmbeddingShareNoClaim = 0.01;

std::string percent(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "0%";
  const double share = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return share > 0 && share < 1 ? fmt::format("{:.2f}%", share) : fmt::format("{:.0f}%", share);
}

double host_share(const Account& a) {
  // Where device spans cover the file the trimmed host share is zero by construction.
  const std::int64_t host = a.weights.spans ? a.weights.host_printed : a.weights.host;
  const std::int64_t all = a.weights.hardware + host;
  return all > 0 ? static_cast<double>(host) / static_cast<double>(all) : 0;
}

bool is_input_tensor(std::string_view name) {
  for (std::string_view head :
       {"token_embd", "position_embd", "token_types", "per_layer_token_embd"}) {
    if (name.starts_with(head)) return true;
  }
  return false;
}

std::int64_t moved_to_host(const Load& load) {
  return std::ranges::count_if(load.overrides, [](const TensorOverride& moved) {
    const bool host = moved.buffer.starts_with("CPU") || moved.buffer.ends_with("_Host");
    return host && !is_input_tensor(moved.tensor);
  });
}

/// Layers that the automatic fit left in part on the host: the last device's overflow has no next
/// one.
int overflowing(const EngineLog& log) {
  if (!log.fit || log.fit->rows.empty()) return 0;
  return log.fit->rows.back().overflowing;
}

/// Bytes that a printed figure may be off by without a tensor being elsewhere: the rounding of the
/// lines, and 0.1 % for what a quantizer's odd small tensors (scales, rope factors) weigh.
std::int64_t tolerance(const Weights& weights) {
  return weights.rounding + weights.total.value_or(weights.all()) / 1000;
}

/// Encoders end in a pooled vector: nothing of their embedding is a head.
bool is_encoder(std::string_view architecture) {
  return architecture.contains("bert") || architecture.contains("t5encoder");
}

std::int64_t needed_by_header(const Account& a) {
  // A head left on the host costs a third split: host (embedding), device, host (head). Seen with
  // gemma3 on a device whose buffers are too small for it, under a claim of 19/19.
  const bool ends_on_device =
      a.full_claim && a.load.splits && decode_splits(*a.load.splits) <= std::max(a.gpus, 1) + 1;
  return needed_on_device(*a.model, !is_encoder(a.model->architecture) && !ends_on_device);
}

/// The size of the embedding in one of the types that files use, to the MiB.
bool equals_embedding(const Account& a, std::int64_t host) {
  if (!a.load.n_vocab || !a.load.n_embd) return false;
  // Bits per weight of ggml's types that an embedding is stored in.
  constexpr std::array kBits = {32.0, 16.0, 8.5, 6.5625, 6.0, 5.5, 5.0, 4.5, 4.25, 3.4375, 2.625};
  const double weights = static_cast<double>(*a.load.n_vocab) * static_cast<double>(*a.load.n_embd);
  const double slack = static_cast<double>(kMiB + (a.weights.trimmed ? a.weights.total_error : 0));
  return std::ranges::any_of(kBits, [&](double bits) {
    const double bytes = weights * bits / 8;
    return std::fabs(static_cast<double>(host) - bytes) <= slack + bytes / 100;
  });
}

/// What the embedding may weigh at most when priced with twice the file's mean bits per weight.
std::optional<std::int64_t> priced_embedding(const Load& load) {
  if (!load.n_vocab || !load.n_embd || !load.weight_bytes || !load.parameters) return std::nullopt;
  if (*load.parameters <= 0) return std::nullopt;
  const double per_weight = static_cast<double>(*load.weight_bytes) / *load.parameters;
  return static_cast<std::int64_t>(2 * per_weight * static_cast<double>(*load.n_vocab) *
                                   static_cast<double>(*load.n_embd));
}

// Rules in order of precedence; the first that decides wins.

std::optional<Decision> nothing_off_the_host(const Account& a) {
  const Weights& w = a.weights;
  const bool remote_cpu = w.remote > 0 && a.remote == RemoteTruth::cpu;
  if (w.hardware > 0 || w.software > 0 || (w.remote > 0 && !remote_cpu)) return std::nullopt;
  if (remote_cpu) {
    return Decision{Shape::cpu,
                    fmt::format("{} of {} of weights lie on a remote worker that computes "
                                "on its CPU, the rest in host memory",
                                format_bytes(w.remote), format_bytes(w.all()))};
  }
  return Decision{Shape::cpu,
                  fmt::format("all {} of weights are in host memory, no device holds any",
                              format_bytes(w.host))};
}

/// "offloaded 0/N" is the one claim that is believed, for it is against the engine's own interest.
/// Logs of 2023 print scratch memory in the place of weights beside it.
std::optional<Decision> claims_nothing(const Account& a) {
  if (!a.load.claim || a.load.claim->on_gpu != 0 || a.weights.hardware == 0) return std::nullopt;
  if (a.weights.hardware * 10 >= a.weights.all()) return std::nullopt;
  return Decision{Shape::cpu,
                  fmt::format("the engine put 0 of {} layers on a GPU", a.load.claim->total)};
}

std::optional<Decision> software(const Account& a) {
  const Weights& w = a.weights;
  if (w.software == 0) return std::nullopt;
  if (w.hardware == 0 && w.remote == 0) {
    return Decision{Shape::software_device,
                    fmt::format("{} of {} of weights are on a device that is this machine's CPU",
                                format_bytes(w.software), format_bytes(w.all()))};
  }
  return Decision{Shape::partial,
                  fmt::format("{} of {} of weights are on devices that are this machine's CPU",
                              format_bytes(w.software), format_bytes(w.all()))};
}

std::optional<Decision> overridden(const Account& a) {
  const std::int64_t moved = moved_to_host(a.load);
  if (moved == 0) return std::nullopt;
  return Decision{Shape::partial, fmt::format("{} tensors were overridden to host memory, {} of "
                                              "weights ({}) in all",
                                              moved, format_bytes(a.weights.host),
                                              percent(a.weights.host, a.weights.all()))};
}

std::optional<Decision> claims_less(const Account& a) {
  if (!a.partial_claim) return std::nullopt;
  const LayerClaim claim = a.load.claim.value_or(LayerClaim{});
  if (a.weights.host == 0) {
    return Decision{Shape::partial,
                    fmt::format("{} of {} layers on the GPU", claim.on_gpu, claim.total)};
  }
  return Decision{Shape::partial,
                  fmt::format("{} of {} layers on the GPU, {} of weights ({}) in host "
                              "memory",
                              claim.on_gpu, claim.total, format_bytes(a.weights.host),
                              percent(a.weights.host, a.weights.all()))};
}

std::optional<Decision> overflows(const Account& a) {
  const int layers = overflowing(a.log);
  if (layers == 0) return std::nullopt;
  return Decision{
      Shape::partial,
      fmt::format("the memory fit left parts of {} layers in host memory, "
                  "{} of weights ({})",
                  layers, format_bytes(a.weights.host), percent(a.weights.host, a.weights.all()))};
}

std::optional<Decision> short_of_header(const Account& a) {
  if (a.model == nullptr) return std::nullopt;
  const std::int64_t missing = needed_by_header(a) - a.weights.hardware - a.weights.remote;
  if (missing <= tolerance(a.weights)) return std::nullopt;
  return Decision{Shape::partial,
                  fmt::format("{} of weights beyond the input embedding are not on a device, of {}",
                              format_bytes(missing), format_bytes(needed_by_header(a)))};
}

std::optional<Decision> host_cache(const Account& a) {
  if (a.kv.other == 0) return std::nullopt;
  const std::int64_t all = a.kv.other + a.kv.hardware + a.kv.remote;
  return Decision{Shape::partial, fmt::format("{} of {} of KV cache are in host memory",
                                              format_bytes(a.kv.other), format_bytes(all))};
}

std::optional<Decision> bouncing(const Account& a) {
  if (a.schedule != SplitShape::bouncing) return std::nullopt;
  return Decision{Shape::partial,
                  fmt::format("{} graph splits per token: work changes between GPU and "
                              "CPU in the layers",
                              decode_splits(a.load.splits.value_or(GraphSplits{})))};
}

std::optional<Decision> remote_unseen(const Account& a) {
  if (a.remote == RemoteTruth::gpu) return std::nullopt;
  if (a.weights.remote == 0 && a.kv.remote > 0) {
    return Decision{Shape::remote,
                    fmt::format("{} of KV cache lie on a remote device that cannot be seen "
                                "from here",
                                format_bytes(a.kv.remote))};
  }
  if (a.weights.remote == 0) return std::nullopt;
  if (a.remote == RemoteTruth::cpu) {
    return Decision{Shape::partial,
                    fmt::format("{} of {} of weights lie on a remote CPU",
                                format_bytes(a.weights.remote), format_bytes(a.weights.all()))};
  }
  return Decision{Shape::remote,
                  fmt::format("{} of {} of weights lie on a remote device that cannot "
                              "be seen from here",
                              format_bytes(a.weights.remote), format_bytes(a.weights.all()))};
}

/// Every load keeps its input embedding on the host: a log without that line was cut.
std::optional<Decision> host_line_missing(const Account& a) {
  const Weights& w = a.weights;
  if (a.model != nullptr || w.host_printed > 0) return std::nullopt;
  if (w.total && w.all() + tolerance(w) + w.total_error >= *w.total) return std::nullopt;
  return Decision{
      Shape::unknown,
      fmt::format("{} of weights on the GPU, and no line about host memory: a part of the "
                  "log is missing",
                  format_bytes(w.hardware))};
}

/// Where the log says what all tensors weigh, the buffers have to add up to it. Blocks of
/// next-token prediction are in the sum and in no buffer. The heaviest known one of a published
/// file is a q8_0 head of 243M parameters (258 MB) in 5.9 GB: 4.4 %.
std::optional<Decision> bytes_missing(const Account& a) {
  constexpr double kUnloadedShare = 0.06;
  const Weights& w = a.weights;
  if (a.model != nullptr || !w.total) return std::nullopt;
  const std::int64_t missing = *w.total - w.all() - tolerance(w) - w.total_error;
  if (static_cast<double>(missing) <= kUnloadedShare * static_cast<double>(*w.total)) {
    return std::nullopt;
  }
  return Decision{Shape::unknown,
                  fmt::format("{} of {} of weights are in no buffer line: a part of the log is "
                              "missing",
                              format_bytes(*w.total - w.all()), format_bytes(*w.total))};
}

std::string on_gpu(const Account& a) {
  return fmt::format("{} of {} of weights on the GPU", format_bytes(a.weights.hardware),
                     format_bytes(a.weights.all()));
}

std::optional<Decision> full_by_header(const Account& a) {
  if (a.model == nullptr) return std::nullopt;
  // A span can cover the file whatever lies in it: it takes a second witness.
  if (a.weights.spans && !(a.full_claim || a.layers_all)) return std::nullopt;
  if (a.weights.spans && a.schedule != SplitShape::usual &&
      a.weights.host_printed > a.model->always_host_bytes + tolerance(a.weights) + kMiB) {
    return Decision{Shape::partial, fmt::format("{} of weights are mapped for the host, the input "
                                                "embedding weighs {}",
                                                format_bytes(a.weights.host_printed),
                                                format_bytes(a.model->always_host_bytes))};
  }
  return Decision{Shape::gpu, on_gpu(a) + ", all but the input embedding"};
}

std::optional<Decision> unclaimed(const Account& a) {
  if (a.full_claim || a.layers_all) return std::nullopt;
  // The first layers and the embedding on the host are one split and the rest the second, as many
  // as a full offload needs; but then those layers have their cache on the host, and its line says
  // so.
  const bool schedule_tells = a.schedule == SplitShape::usual && a.load.splits &&
                              !a.load.splits->decode && a.kv.hardware > 0;
  const double limit = schedule_tells ? kEmbeddingShare : kEmbeddingShareNoClaim;
  const bool embedding =
      !a.weights.spans && (equals_embedding(a, a.weights.host) || host_share(a) <= limit);
  if (embedding) return Decision{Shape::gpu, on_gpu(a) + ", the rest no more than the embedding"};
  return Decision{
      Shape::partial,
      fmt::format("{} of weights ({}) are in host memory, and no line says "
                  "that every layer is on the GPU",
                  format_bytes(a.weights.host), percent(a.weights.host, a.weights.all()))};
}

std::optional<Decision> embedding_sized(const Account& a) {
  const double share = host_share(a);
  const std::int64_t host = a.weights.spans ? a.weights.host_printed : a.weights.host;
  const bool one_graph = a.schedule == SplitShape::usual;
  const bool raised = a.schedule == SplitShape::raised;
  const std::optional<std::int64_t> priced = priced_embedding(a.load);
  bool small = share <= (one_graph ? kEmbeddingShareOneGraph : kEmbeddingShare);
  if (!one_graph && priced) small = small && host <= *priced + a.weights.total_error + kMiB;
  // A few more splits than the devices need: something small runs elsewhere.
  if (raised) small = share <= kEmbeddingShareNoClaim;
  if (!small && !raised) small = equals_embedding(a, host);
  if (small) {
    return Decision{Shape::gpu,
                    fmt::format("{}, the {} on the host no more than the input embedding",
                                on_gpu(a), format_bytes(host))};
  }
  if (one_graph) {
    return Decision{Shape::unknown,
                    fmt::format("{} of weights ({}) are in host memory, too many for an "
                                "input embedding, yet the schedule needs no CPU",
                                format_bytes(host), percent(host, a.weights.all()))};
  }
  return Decision{Shape::partial,
                  fmt::format("{} of weights ({}) are in host memory, more than an input "
                              "embedding weighs",
                              format_bytes(host), percent(host, a.weights.all()))};
}

constexpr ShapeRule kRules[] = {
    {"nothing off the host", nothing_off_the_host},
    {"claims nothing", claims_nothing},
    {"software device", software},
    {"claims less", claims_less},
    {"overridden", overridden},
    {"fit overflow", overflows},
    {"short of the header", short_of_header},
    {"host cache", host_cache},
    {"bouncing", bouncing},
    {"remote", remote_unseen},
    {"host line missing", host_line_missing},
    {"bytes missing", bytes_missing},
    {"full by header", full_by_header},
    {"unclaimed", unclaimed},
    {"embedding sized", embedding_sized},
};

}  // namespace

std::span<const ShapeRule> shape_rules() { return kRules; }

std::int64_t needed(const Account& account) { return needed_by_header(account); }

}  // namespace picchio
