#include "base/text.h"
#include "results/quantities.h"
#include "results/verify_parts.h"
#include "verdict/bandwidth.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace picchio::results {
namespace {

constexpr double kPrintedShare = 0.006;  // percent are printed whole by some

std::string engaged_text(const PlacementFigures& place) {
  return std::string(name_of(place.engagement.value_or(Engagement::no_evidence)));
}

void check_layers(const PlacementFigures& place, Findings& out) {
  if (!place.layers_on_gpu || !place.layers_total) return;
  const int n = *place.layers_on_gpu;
  const int total = *place.layers_total;
  const std::string words =
      fmt::format("{} with {}/{} layers on the GPU", engaged_text(place), n, total);
  out.judge("layers", n <= total, fmt::format("{} of {} layers", n, total));
  switch (place.engagement.value_or(Engagement::no_evidence)) {
    case Engagement::engaged:
      out.judge("layers", n >= total, words);
      break;
    case Engagement::not_engaged:
      out.judge("layers", n == 0, words);
      break;
    case Engagement::partial:  // all layers, with their experts or the cache on the host
    case Engagement::no_evidence:
      break;
  }
}

void check_share(const PlacementFigures& place, Findings& out) {
  const auto share = place.gpu_share ? place.gpu_share : place.claimed_share;
  if (!share) return;
  const std::string words =
      fmt::format("{} with {:.1f}% of the weights on the GPU", engaged_text(place), 100 * *share);
  switch (place.engagement.value_or(Engagement::no_evidence)) {
    case Engagement::engaged:
      // What the established tool calls engaged begins at 95 %.
      out.judge("bytes", *share >= 0.95 - kPrintedShare, words);
      break;
    case Engagement::not_engaged:
      // A software device and a refuted claim are named with what they were said to hold.
      out.judge("bytes", !place.gpu_share || *share <= 0.05, words);
      break;
    case Engagement::partial:
      out.judge("bytes", *share < 1 || place.kv != "gpu", words);
      break;
    case Engagement::no_evidence:
      break;
  }
}

bool overrides(const PlacementFigures& place) {
  const std::string words = " " + place.arguments + " ";
  return std::ranges::any_of(std::array{"-ot", "moe", "override", "-nkvo", "..", "-ts", "-sm"},
                             [&](const char* word) { return words.contains(word); });
}

/// Layers are about alike, so their share is that of the bytes; experts kept on the host are not.
void check_share_of_layers(const PlacementFigures& place, Findings& out) {
  if (!place.gpu_share || !place.layers_on_gpu || place.layers_total.value_or(0) < 8) return;
  if (overrides(place) || place.engagement != Engagement::partial) return;
  const double of_layers =
      static_cast<double>(*place.layers_on_gpu) / place.layers_total.value_or(1);
  if (of_layers >= 1) return;
  constexpr double kApart = 0.25;  // the head is as large as several layers in small models
  out.judge("bytes", std::abs(of_layers - *place.gpu_share) <= kApart,
            fmt::format("{}/{} layers are {:.0f}%, of the weights {:.0f}% are on the GPU",
                        *place.layers_on_gpu, place.layers_total.value_or(1), 100 * of_layers,
                        100 * *place.gpu_share));
}

void check_devices(const RunFigures& run, Findings& out) {
  double on_gpu = 0;
  double on_host = 0;
  bool all_hardware = true;
  for (const DeviceBytes& device : run.placement.devices) {
    (device.device == "host" ? on_host : on_gpu) += device.bytes;
    all_hardware = all_hardware && (device.note.empty() || device.note == "embedding");
  }
  if (run.placement.devices.empty()) return;
  const double half = 0.05 * kGiB * static_cast<double>(run.placement.devices.size());
  const double total = run.weight_bytes.value_or(0);
  if (total > kGiB) {
    constexpr double kCopies = 1.03;  // a tied head lies on both sides, small tensors on each card
    out.judge(
        "bytes", on_gpu <= total * kCopies + half,
        fmt::format("{:.1f} GiB on GPUs of a model of {:.2f} GiB", on_gpu / kGiB, total / kGiB));
  }
  const auto share = run.placement.gpu_share;
  if (!share || !all_hardware || on_host <= 0 || on_gpu + on_host < kGiB) return;
  if (*share >= 1) return;  // the host has what belongs there
  const double told = on_gpu / (on_gpu + on_host);
  constexpr double kApart = 0.03;
  out.judge("bytes", std::abs(told - *share) <= kApart + half / (on_gpu + on_host),
            fmt::format("{:.1f} GiB on GPUs and {:.1f} GiB on the host are {:.0f}% on the GPU, not "
                        "{:.0f}%",
                        on_gpu / kGiB, on_host / kGiB, 100 * told, 100 * *share));
}

/// The value behind the last of `flags`; empty: none of them is there.
std::string_view value_of(std::string_view arguments, const auto& flags) {
  std::string_view found;
  const std::vector<std::string_view> words = split_blanks(arguments);
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const std::string_view flag : flags) {
      if (words[i] == flag && i + 1 < words.size()) found = words[i + 1];
      if (words[i].starts_with(std::string(flag) + "=")) found = words[i].substr(flag.size() + 1);
    }
  }
  return found;
}

void check_arguments(const PlacementFigures& place, Findings& out) {
  if (place.arguments.empty() || place.arguments.ends_with("..")) return;
  constexpr std::array<std::string_view, 3> kLayers = {"-ngl", "--n-gpu-layers", "--gpu-layers"};
  constexpr std::array<std::string_view, 2> kDevices = {"-dev", "--device"};
  const auto asked = parse_int(value_of(place.arguments, kLayers));
  if (asked && *asked >= 0 && place.layers_on_gpu) {
    out.judge(
        "arguments", *place.layers_on_gpu <= *asked,
        fmt::format("{} layers on the GPU though {} were asked for", *place.layers_on_gpu, *asked));
  }
  if (value_of(place.arguments, kDevices) == "none") {
    out.judge("arguments",
              place.engagement != Engagement::engaged && place.engagement != Engagement::partial,
              fmt::format("{} though no device was allowed", engaged_text(place)));
  }
}

enum class System { unknown, mac, other };

/// A name that was cut is no system's.
System system_of(std::string_view os) {
  const std::string_view name = os.substr(0, os.find(' '));
  if (name == "macOS") return System::mac;
  constexpr std::array<std::string_view, 4> kOthers = {"Linux", "Windows", "FreeBSD", "Android"};
  return std::ranges::find(kOthers, name) != kOthers.end() ? System::other : System::unknown;
}

bool names_any(const std::string& device, const auto& words) {
  return std::ranges::any_of(words, [&](const char* word) { return device.contains(word); });
}

/// Backends drive devices of some makers. Vulkan, SYCL and OpenCL drive what has a driver for them.
void check_backend(const PlacementFigures& place, Findings& out) {
  if (place.device.empty()) return;
  const std::string device = lower(place.device);
  bool possible = true;
  if (place.backend == "CUDA") {
    // A layer that runs CUDA programs on other makers' devices names itself.
    possible =
        device.contains("zluda") || !names_any(device, std::array{"radeon", "instinct", "apple m",
                                                                  "intel", "arc(tm)", "adreno"});
  } else if (place.backend == "ROCm") {
    possible = !names_any(
        device, std::array{"geforce", "nvidia", "quadro", "tesla", "apple m", "intel", "adreno"});
  } else if (place.backend == "Metal") {
    // Old Macs had cards of NVIDIA's, none of these.
    possible = !names_any(device, std::array{"rtx", "gtx 16", "arc(tm)", "intel(r) arc", "tesla",
                                             "instinct", "adreno", "a100", "h100"});
  } else {
    return;
  }
  out.judge("device", possible, fmt::format("{} does not drive a {}", place.backend, place.device));
}

/// "m2 ultra" of "Apple M2 Ultra (virtual)"; empty: it is none that is named so.
std::string apple_chip(std::string_view name) {
  const std::vector<std::string_view> words = split_blanks(name);
  if (words.size() < 2 || words[0] != "Apple") return "";
  std::string out = lower(words[1]);
  std::erase(out, ',');
  const bool family =
      out.size() >= 2 && (out[0] == 'm' || out[0] == 'a') && out[1] >= '0' && out[1] <= '9';
  if (!family) return "";
  std::string more = words.size() > 2 ? lower(words[2]) : "";
  std::erase(more, ',');
  if (more == "pro" || more == "max" || more == "ultra") out += " " + more;
  return out;
}

void check_named_devices(const RunFigures& run, Findings& out) {
  const PlacementFigures& place = run.placement;
  const System system = system_of(run.machine.os);
  if (system != System::unknown && place.backend == "Metal") {
    out.judge("device", system == System::mac, fmt::format("Metal on {}", run.machine.os));
  }
  if (system != System::unknown && (place.backend == "CUDA" || place.backend == "ROCm")) {
    out.judge("device", system != System::mac,
              fmt::format("{} on {}", place.backend, run.machine.os));
  }
  check_backend(place, out);
  const std::string worked = apple_chip(place.device);
  const std::string has = apple_chip(run.machine.chip);
  if (!worked.empty() && !has.empty()) {
    out.judge(
        "device", worked == has,
        fmt::format("the model ran on {}, the machine is {}", place.device, run.machine.chip));
  }
  if (place.device.empty() || run.machine.gpu.empty()) return;
  // A run in software names what it ran on, and the footer the card that stood by.
  if (place.engagement == Engagement::not_engaged) return;
  const std::string a = lower(place.device);
  const std::string b = lower(run.machine.gpu);
  const bool same =
      a == b || a.contains(b) || b.contains(a) || same_device_name(place.device, run.machine.gpu);
  out.judge("device", same,
            fmt::format("the model ran on {}, the machine has {}", place.device, run.machine.gpu));
}

}  // namespace

void check_placement(const RunFigures& run, Findings& out) {
  check_layers(run.placement, out);
  check_share(run.placement, out);
  check_share_of_layers(run.placement, out);
  check_devices(run, out);
  check_arguments(run.placement, out);
  check_named_devices(run, out);
}

}  // namespace picchio::results
