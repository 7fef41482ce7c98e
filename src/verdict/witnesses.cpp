#include "verdict/witnesses.h"

#include "base/text.h"
#include "verdict/account.h"
#include "verdict/drivers.h"
#include "verdict/gpu_meter.h"
#include "verdict/lanes.h"
#include "verdict/roofline.h"
#include "verdict/schedule.h"
#include "verdict/server_claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace picchio {
namespace {

// Prefill over decode: CPU runs of a laptop were 2.3 to 5, GPU runs 20 to 50; but a small model on
// a fast GPU is low too, and a 48-thread CPU reached 15.
constexpr double kLowRatio = 5;
// Shorter prompts measure the launch of one batch, not prefill.
constexpr std::int64_t kPromptThatCounts = 64;
// All threads at work; the scheduler takes its share.
constexpr double kBusyShare = 0.8;
constexpr int kThreadsThatCount = 4;
// Over a whole pass. A CPU that computes keeps a core and more busy, on a crowded machine half of
// one; passing tokens on takes some hundredths.
constexpr double kComputingCores = 0.25;
// Of fewer threads all have to be at work, and at least two: more than waiting and printing take.
constexpr double kFewBusyShare = 0.9;
constexpr int kFewestThreads = 2;

const Pass* first_pass(const Run& run) {
  return run.passes.empty() ? nullptr : &run.passes.front();
}

const Load* first_load(const Run& run) {
  const Pass* pass = first_pass(run);
  return pass == nullptr ? nullptr : main_load(pass->log);
}

std::optional<Word> word_of(Shape shape) {
  switch (shape) {
    case Shape::gpu:
      return Word::gpu;
    case Shape::partial:
      return Word::partial;
    case Shape::cpu:
    case Shape::software_device:
      return Word::cpu;
    case Shape::remote:
    case Shape::unknown:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ", ";
    out += plain(word);
  }
  return out;
}

struct DeviceTally {
  std::vector<std::string> hardware, software, remote;
  std::vector<std::string> unnamed;  // of a backend that also drives software devices
};

std::string device_text(const std::string& name, const std::string& description) {
  return description.empty() ? plain(name)
                             : fmt::format("{} ({})", plain(name), plain(description));
}

bool drives_software(std::string_view device) {
  return device.starts_with("Vulkan") || device.starts_with("SYCL");
}

DeviceTally devices_in_use(const Run& run) {
  DeviceTally out;
  for (const DeviceAccount& device : run.placement.devices) {
    const bool used = device.weights_bytes.value_or(0) > 0 || device.kv_bytes.value_or(0) > 0;
    if (!used) continue;
    std::string text = device_text(device.name, device.description);
    // An address is nobody's business in a block that is pasted in public.
    if (device.kind == DeviceKind::remote)
      text = plain(device.name.substr(0, device.name.find('[')));
    switch (device.kind) {
      case DeviceKind::hardware_gpu:
        out.hardware.push_back(text);
        if (device.description.empty() && drives_software(device.name)) out.unnamed.push_back(text);
        break;
      case DeviceKind::software:
        out.software.push_back(text);
        break;
      case DeviceKind::remote:
        out.remote.push_back(text);
        break;
      case DeviceKind::host:
        break;
    }
  }
  return out;
}

/// An integrated GPU does the work while a discrete one of the same log stands by.
std::string passed_over(const Run& run) {
  const Pass* pass = first_pass(run);
  if (pass == nullptr) return {};
  const auto used = [&](const Device& device) {
    return std::ranges::any_of(run.placement.devices, [&](const DeviceAccount& account) {
      return account.name == device.name && account.weights_bytes.value_or(0) > 0;
    });
  };
  const Device* idle = nullptr;
  bool integrated_at_work = false;
  for (const Device& device : pass->log.devices) {
    if (device.kind != DeviceKind::hardware_gpu || !device.integrated) continue;
    if (*device.integrated && used(device)) integrated_at_work = true;
    if (!*device.integrated && !used(device)) idle = &device;
  }
  if (idle == nullptr || !integrated_at_work) return {};
  return fmt::format("; an integrated GPU works while {} is idle",
                     device_text(idle->name, idle->description));
}

/// As the log says, else as the server's command line does.
std::optional<int> threads_of(const Run& run) {
  const Pass* pass = first_pass(run);
  if (pass == nullptr) return std::nullopt;
  if (pass->log.threads || !run.raw.server) return pass->log.threads;
  const std::vector<std::string>& words = run.raw.server->command_line;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != "-t" && words[i] != "--threads") continue;
    const auto number = parse_int(words[i + 1]);
    constexpr int kMostThreads = 4096;
    if (number && *number > 0 && *number <= kMostThreads) return static_cast<int>(*number);
  }
  return std::nullopt;
}

std::string ratio_text(const Run& run) {
  const std::optional<double> prefill = prefill_rate(run);
  const std::optional<double> decode = decode_rate(run);
  if (!prefill || !decode || *decode <= 0) return {};
  const Pass* pass = first_pass(run);
  const std::int64_t prompt = pass->timings.prompt_tokens.value_or(0);
  const double ratio = *prefill / *decode;
  if (prompt < kPromptThatCounts) {
    return fmt::format(", prefill is {:.1f} times decode, of {} prompt tokens: too few to count",
                       ratio, prompt);
  }
  if (ratio < kLowRatio) return fmt::format(", prefill only {:.1f} times decode: doubtful", ratio);
  return fmt::format(", prefill {:.1f} times decode, which acquits nobody", ratio);
}

std::string clock_text(const Run& run) {
  if (const std::optional<ClockGap> gap = clock_gap(run)) {
    return fmt::format("; the clocks disagree: text arrived at {:.1f} tok/s", gap->arrived);
  }
  for (std::size_t i = 0; i < run.passes.size() && i < run.raw.passes.size(); ++i) {
    if (arrival_rate(run.raw.passes[i], run.passes[i].timings)) return "; both clocks agree";
  }
  return "; no second clock: the text came in too few pieces";
}

std::string gb_per_second(double bytes) {
  return bytes < 10e9 ? fmt::format("{:.1f} GB/s", bytes / 1e9)
                      : fmt::format("{:.0f} GB/s", bytes / 1e9);
}

std::string devices_text(const Roofline& roof) {
  if (!roof.share()) return fmt::format(" ({})", roof.device_untested);
  std::string out = fmt::format(", {}{:.0f}% of what the memory of {} can read",
                                roof.limit_is_upper_bound ? "at least " : "", 100 * *roof.share(),
                                owners_of(roof));
  if (beyond_devices(roof)) out += ": impossible";
  if (below_usual(roof)) out += ": suspicious";
  return out;
}

std::string host_text(const Roofline& roof, const Run& run) {
  const std::optional<double> ram = run.raw.machine.ram_bytes_per_second;
  if (!ram || !roof.host_limit) return {};
  if (roof.beyond_host()) {
    return fmt::format("; this machine's RAM cannot: a sum over it reads {}", gb_per_second(*ram));
  }
  return fmt::format("; this machine's RAM could: a sum over it reads {}", gb_per_second(*ram));
}

/// What decode reads, and whose memory could deliver that.
std::string bandwidth_text(const Roofline& roof, const Run& run) {
  if (!roof.bytes_uncertain.empty()) return fmt::format(" ({})", roof.bytes_uncertain);
  std::string out = " = " + gb_per_second(roof.bytes_per_second());
  switch (run.placement.shape) {
    case Shape::gpu:
    case Shape::partial:
      return out + devices_text(roof) + host_text(roof, run);
    case Shape::cpu:
    case Shape::software_device:
      return out +
             (roof.host_limit ? host_text(roof, run) : fmt::format(" ({})", roof.host_untested));
    case Shape::remote:
    case Shape::unknown:
      break;
  }
  return out;
}

std::optional<double> rate_of_run(const Run& run, const LaneSummary& warm,
                                  std::optional<double> Lanes::* rate,
                                  std::string Lanes::* abstain) {
  if (warm.median) return warm.median;
  const Pass* pass = first_pass(run);
  if (pass == nullptr || !(pass->lanes.*abstain).empty()) return std::nullopt;
  return pass->lanes.*rate;
}

constexpr WitnessRow kWitnesses[] = {
    {Witness::claim, claim_testimony},         {Witness::allocation, allocation_testimony},
    {Witness::device, device_testimony},       {Witness::schedule, schedule_testimony},
    {Witness::process, process_testimony},     {Witness::gpu_meter, gpu_meter_testimony},
    {Witness::cpu_meter, cpu_meter_testimony}, {Witness::timing, timing_testimony},
};

}  // namespace

std::span<const WitnessRow> witnesses() { return kWitnesses; }

std::vector<Testimony> hear_all(const Run& run) {
  std::vector<Testimony> out;
  for (const WitnessRow& row : kWitnesses) out.push_back(row.hear(run));
  return out;
}

Testimony claim_testimony(const Run& run) {
  // A line of the server's log is the engine's, as of any other run.
  if (run.raw.server && !run.placement.layers_claimed) return server_claim_testimony(run);
  Testimony out{Witness::claim, std::nullopt, "the engine printed no offloaded line"};
  if (!run.placement.layers_claimed || !run.placement.layers_total) return out;
  const int claimed = *run.placement.layers_claimed;
  const int total = *run.placement.layers_total;
  out.word = claimed <= 0 ? Word::cpu : claimed < total ? Word::partial : Word::gpu;
  out.sentence = fmt::format("the engine says {}/{} layers on the GPU", claimed, total);
  return out;
}

Testimony allocation_testimony(const Run& run) {
  Testimony out{Witness::allocation, word_of(run.placement.shape),
                run.placement.reason.empty() ? "no pass left a log" : run.placement.reason};
  const auto& server = run.raw.server;
  if (server && server->log_source.empty()) {
    out.sentence = "the server's log was not read: " + server->no_log_because;
  }
  return out;
}

Testimony device_testimony(const Run& run) {
  Testimony out{Witness::device, std::nullopt, {}};
  const DeviceTally used = devices_in_use(run);
  if (!used.remote.empty()) {
    out.sentence =
        fmt::format("{} is remote: what it is cannot be seen from here", join(used.remote));
    const bool told = run.placement.shape == Shape::gpu || run.placement.shape == Shape::cpu;
    if (told) {
      // Only a worker's own log brings a remote load to either shape.
      out.word = word_of(run.placement.shape);
      out.sentence =
          fmt::format("{} is remote, and its worker says what it computes on", join(used.remote));
    }
    return out;
  }
  if (!used.software.empty()) {
    out.word = used.hardware.empty() ? Word::cpu : Word::partial;
    out.sentence = fmt::format("{} is this machine's CPU, not a GPU", join(used.software));
    return out;
  }
  if (!used.unnamed.empty()) {
    // Only the name tells llvmpipe or the SYCL CPU from a card.
    out.sentence =
        fmt::format("{} is not named in the log: it may be a software device", join(used.unnamed));
    return out;
  }
  if (!used.hardware.empty()) {
    out.word = Word::gpu;
    out.sentence = fmt::format("{} is hardware{}", join(used.hardware), passed_over(run));
    return out;
  }
  const Pass* pass = first_pass(run);
  const std::size_t seen = pass == nullptr ? 0 : pass->log.devices.size();
  out.sentence = seen == 0 ? "the engine enumerated no device"
                           : fmt::format("{} enumerated, none of them holds weights or cache",
                                         device_text(pass->log.devices.front().name,
                                                     pass->log.devices.front().description));
  return out;
}

Testimony schedule_testimony(const Run& run) {
  Testimony out{Witness::schedule, std::nullopt, "the engine printed no graph splits"};
  const Load* load = first_load(run);
  if (load == nullptr) return out;
  const std::string refused =
      load->refused_ops.empty() ? "" : fmt::format("; refused: {}", join(load->refused_ops));
  if (load->flash_attention_on_cpu && load->flash_attention.value_or(false)) {
    out.word = Word::partial;
    out.sentence = "flash attention was forced on and its operation sits on the CPU" + refused;
    return out;
  }
  if (!load->splits) {
    out.sentence += refused;
    return out;
  }
  const int gpus = std::max(1, gpus_in_use(run.placement));
  const std::int64_t splits = decode_splits(*load->splits);
  switch (shape_of(*load->splits, gpus, run.placement.layers_total)) {
    case SplitShape::one_backend:
      if (gpus_in_use(run.placement) == 0) out.word = Word::cpu;
      out.sentence = "1 graph split: one backend did everything";
      break;
    case SplitShape::usual:
      // After nothing was placed on a device the decode graph needs no split either.
      if (gpus_in_use(run.placement) > 0) out.word = Word::gpu;
      out.sentence = fmt::format("{} graph splits per token: no more than {} {} needs", splits,
                                 gpus, gpus == 1 ? "device" : "devices");
      break;
    case SplitShape::raised:
      out.sentence = fmt::format("{} graph splits per token, some more than {} {} needs", splits,
                                 gpus, gpus == 1 ? "device" : "devices");
      break;
    case SplitShape::bouncing:
      out.word = Word::partial;
      out.sentence =
          fmt::format("{} graph splits per token: work bounces between GPU and CPU", splits);
      break;
  }
  out.sentence += refused;
  return out;
}

std::optional<double> pass_cores(const Run& run) {
  std::optional<double> most;
  for (const RawPass& pass : run.raw.passes) {
    if (pass.cpu.size() < 2) continue;
    const double took = seconds(pass.cpu.back().at - pass.cpu.front().at);
    if (took <= 0) continue;
    const double cores = (pass.cpu.back().cpu_seconds - pass.cpu.front().cpu_seconds) / took;
    if (!most || cores > *most) most = cores;
  }
  return most;
}

bool computed_elsewhere(const Run& run) {
  const auto cores = pass_cores(run);
  return run.raw.server && cores && *cores < kComputingCores;
}

Testimony process_testimony(const Run& run) {
  Testimony out{Witness::process, std::nullopt, "no pass was watched"};
  if (run.raw.passes.empty()) return out;
  const ProcessFacts& facts = run.raw.passes.front().process;
  if (!facts.readable) {
    out.sentence = "the engine's process could not be looked into";
    if (run.raw.server && !run.raw.server->local) out.sentence = run.raw.server->unseen_because;
    return out;
  }
  // With a GPU in reach so little is what a wait for it can take.
  if (computed_elsewhere(run)) {
    out.sentence = fmt::format("its processes kept {:.2f} cores busy: no CPU computes so little",
                               pass_cores(run).value_or(0));
    if (drivers_in_reach(facts.libraries, facts.device_nodes).none()) return out;
  }
  const auto [drivers, software, nodes] = drivers_in_reach(facts.libraries, facts.device_nodes);
  if (!drivers.empty() && !nodes.empty()) {
    out.word = Word::gpu;
    out.sentence = fmt::format("{} mapped and {} open: a GPU was within reach",
                               plain(drivers.front()), plain(nodes.front()));
  } else if (drivers.empty() && nodes.empty()) {
    out.word = Word::cpu;
    if (!facts.renderer.empty()) {
      out.sentence =
          fmt::format("{}, a software renderer, is its only device", plain(facts.renderer));
      return out;
    }
    out.sentence = software.empty()
                       ? "no GPU driver mapped and no GPU device node open"
                       : fmt::format("only the software driver {} mapped, no GPU device node open",
                                     plain(software.front()));
  } else if (drivers.empty()) {
    out.sentence = fmt::format("{} open, but no GPU driver mapped", plain(nodes.front()));
  } else {
    out.sentence = fmt::format("{} mapped, but no GPU device node open", plain(drivers.front()));
  }
  return out;
}

Testimony gpu_meter_testimony(const Run& run) {
  const MeterFinding finding = read_gpu_meter(run);
  return {Witness::gpu_meter, finding.word, finding.sentence};
}

Testimony cpu_meter_testimony(const Run& run) {
  Testimony out{Witness::cpu_meter, std::nullopt, "CPU time during decode was not measured"};
  const std::optional<double> cores = decode_cores(run);
  if (!cores) return out;
  const std::optional<int> threads = threads_of(run);
  if (!threads) {
    out.sentence =
        fmt::format("{:.1f} cores busy in decode; the thread count is not known", *cores);
    const int all = run.raw.machine.logical_cores.value_or(0);
    if (all >= kFewestThreads && *cores >= kFewBusyShare * all && *cores > kWaitingCores) {
      out.word = Word::cpu;
      out.sentence = fmt::format("{:.1f} of {} cores busy in decode: all of them", *cores, all);
    }
    return out;
  }
  out.sentence = fmt::format("{:.1f} cores busy in decode, {} threads", *cores, *threads);
  const bool all_of_few =
      *threads >= kFewestThreads && *cores >= kFewBusyShare * *threads && *cores > kWaitingCores;
  if (*threads < kThreadsThatCount && !all_of_few) {
    out.sentence += ": too few threads to tell work from waiting";
  } else if (all_of_few || *cores >= kBusyShare * *threads) {
    out.word = Word::cpu;
    out.sentence += ": every thread was at work";
  } else if (*cores > kWaitingCores) {
    out.sentence += ": between waiting and working";
  } else if (run.placement.shape == Shape::remote || run.placement.shape == Shape::unknown) {
    out.sentence += ": this process only waited, which does not say for whom";
  } else {
    out.word = Word::gpu;
    out.sentence += ": the CPU only waited";
  }
  return out;
}

Testimony timing_testimony(const Run& run) {
  Testimony out{Witness::timing, std::nullopt, "the engine printed no rates"};
  const std::optional<double> decode = decode_rate(run);
  if (!decode) return out;
  out.sentence = fmt::format("decode {:.1f} tok/s", *decode);
  if (run.roofline) {
    const Roofline& roof = *run.roofline;
    out.sentence += bandwidth_text(roof, run);
    const bool card_alone = run.placement.shape == Shape::gpu && all_own_memory(roof);
    if (card_alone && roof.beyond_host() && !beyond_devices(roof)) out.word = Word::gpu;
  } else {
    out.sentence += " (no header tells what a token reads)";
  }
  out.sentence += ratio_text(run);
  out.sentence += clock_text(run);
  return out;
}

std::optional<double> decode_cores(const Run& run) {
  std::optional<double> least;
  for (std::size_t i = run.passes.size() > 1 ? 1 : 0; i < run.passes.size(); ++i) {
    const std::optional<double> cores = run.passes[i].cpu.decode_cores;
    if (cores && (!least || *cores < *least)) least = cores;
  }
  return least;
}

std::optional<double> decode_rate(const Run& run) {
  return rate_of_run(run, run.warm_decode, &Lanes::decode, &Lanes::decode_abstain);
}

std::optional<double> prefill_rate(const Run& run) {
  return rate_of_run(run, run.warm_prefill, &Lanes::prefill, &Lanes::prefill_abstain);
}

std::optional<ClockGap> clock_gap(const Run& run) {
  constexpr Micros kLongEnough{1'000'000};
  for (std::size_t i = 0; i < run.passes.size() && i < run.raw.passes.size(); ++i) {
    const RawPass& raw = run.raw.passes[i];
    const std::optional<double> engine = run.passes[i].lanes.decode;
    const std::optional<double> arrived = arrival_rate(raw, run.passes[i].timings);
    if (!engine || !arrived || arrival_span(raw, 0) < kLongEnough) continue;
    if (*arrived < *engine / 2 || *arrived > *engine * 2) return ClockGap{*engine, *arrived};
  }
  return std::nullopt;
}

}  // namespace picchio
