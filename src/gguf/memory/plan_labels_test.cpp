// What the engine itself allocated in recorded runs, against the forecasts made from their headers.
#include "base/text.h"
#include "gguf/gguf_builder.h"
#include "gguf/memory/memory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

namespace picchio::gguf {
namespace {

using nlohmann::json;

constexpr double kMiB = 1024.0 * 1024.0;
// Every RPC device of the recordings had this much; shares of layers follow it.
constexpr std::int64_t kFreeBytes = std::int64_t{24105} << 20U;
// The recordings' software Vulkan: no larger storage buffer.
constexpr std::int64_t kVulkanTensor = std::int64_t{128} << 20U;

std::filesystem::path labels() {
  return std::filesystem::path(PICCHIO_SOURCE_DIR) / ".." / "shared" / "labels";
}

struct IntegerType {
  std::string_view name;
  std::uint32_t id;
  std::string (*raw)(std::int64_t value);
};

template <class T>
std::string raw_of(std::int64_t value) {
  return raw(static_cast<T>(value));
}

constexpr IntegerType kIntegers[] = {
    {"u8", 0, raw_of<std::uint8_t>},   {"i8", 1, raw_of<std::int8_t>},
    {"u16", 2, raw_of<std::uint16_t>}, {"i16", 3, raw_of<std::int16_t>},
    {"u32", 4, raw_of<std::uint32_t>}, {"i32", 5, raw_of<std::int32_t>},
    {"bool", 7, raw_of<std::uint8_t>}, {"u64", 10, raw_of<std::uint64_t>},
    {"i64", 11, raw_of<std::int64_t>},
};

std::int64_t integer_of(const json& value) {
  return value.is_boolean() ? static_cast<std::int64_t>(value.get<bool>())
                            : value.get<std::int64_t>();
}

/// A recorded key; empty for one that the forecast does not read.
std::string pair_of(const std::string& key, const std::string& type, const json& value) {
  if (type == "str") return pair_text(key, value.get<std::string>());
  if (type == "arr[str]") {
    return pair_texts(key, value.is_array() ? value.size() : value["n"].get<std::size_t>(), "");
  }
  for (const IntegerType& row : kIntegers) {
    if (type == row.name) return raw_pair(key, row.id, row.raw(integer_of(value)));
    if (type != "arr[" + std::string(row.name) + "]" || !value.is_array()) continue;
    std::string elements;
    for (const json& element : value) elements += row.raw(integer_of(element));
    return raw_pair(key, 9, array_value(row.id, value.size(), elements));
  }
  return "";
}

Header header_of(const json& row) {
  GgufFile spec;
  for (const auto& [key, value] : row["kv"].items()) {
    std::string pair = pair_of(key, value[0].get<std::string>(), value[1]);
    if (!pair.empty()) spec.pairs.push_back(std::move(pair));
  }
  for (const json& tensor : row["tensors"]) {
    const TensorType* type = tensor_type(std::string_view(tensor[1].get_ref<const std::string&>()));
    spec.tensors.push_back(
        {tensor[0].get<std::string>(), type->id, tensor[2].get<std::vector<std::uint64_t>>()});
  }
  const std::string bytes = spec.header();
  auto header = read_header(as_bytes(bytes),
                            static_cast<std::int64_t>(bytes.size() + spec.data_bytes()));
  EXPECT_TRUE(header) << header.error().message;
  return header.value_or(Header{});
}

/// The words of a recorded command line.
class Arguments {
 public:
  explicit Arguments(const json& row) : words_(row["args"].get<std::vector<std::string>>()) {}

  [[nodiscard]] bool has(std::string_view word) const {
    return std::ranges::find(words_, word) != words_.end();
  }
  [[nodiscard]] std::optional<std::string> value(std::string_view word) const {
    const auto found = std::ranges::find(words_, word);
    if (found == words_.end() || found + 1 == words_.end()) return std::nullopt;
    return *(found + 1);
  }
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view word) const {
    const auto text = value(word);
    return text ? parse_int(*text) : std::nullopt;
  }

 private:
  std::vector<std::string> words_;
};

ContextSettings settings_of(const json& row) {
  const Arguments args(row);
  ContextSettings out;
  const std::string tool = row["tool"].get<std::string>();
  out.program = tool == "llama-server" ? Program::server : Program::one_shot;
  out.n_ctx = args.number("-c").value_or(0);
  out.n_batch = args.number("-b").value_or(out.n_batch);
  out.n_ubatch = args.number("-ub").value_or(out.n_ubatch);
  out.n_parallel = args.number("-np");
  if (!out.n_parallel) out.n_parallel = args.number("-npl");
  if (args.has("-kvu")) out.kv_unified = true;
  if (args.has("-no-kvu")) out.kv_unified = false;
  out.cache_type_k = args.value("-ctk").value_or("f16");
  out.cache_type_v = args.value("-ctv").value_or("f16");
  if (args.value("-fa") == "off") out.flash_attention = FlashAttention::off;
  if (args.value("-fa") == "on") out.flash_attention = FlashAttention::on;
  out.swa_full = args.has("--swa-full");
  return out;
}

Placement placement_of(const json& row) {
  const Arguments args(row);
  Placement out;
  if (const auto hosts = args.value("--rpc")) {
    for (const auto host : split(*hosts, ',')) {
      out.devices.push_back({.name = std::string(host),
                             .free_bytes = kFreeBytes,
                             .largest_tensor = std::nullopt,
                             .offloads_operations = false,
                             .pins_host_memory = false});
    }
  }
  if (row["tag"].get_ref<const std::string&>().starts_with("vk-")) {
    out.devices.push_back({.name = "Vulkan0",
                           .free_bytes = kFreeBytes,
                           .largest_tensor = kVulkanTensor,
                           .scans_mamba = false});
  }
  out.n_gpu_layers = args.number("-ngl").value_or(-1);
  if (const auto shares = args.value("-ts")) {
    for (const auto share : split(*shares, ',')) {
      out.tensor_split.push_back(parse_double(share).value_or(0));
    }
  }
  out.split_layers = args.value("-sm") != "none";
  out.offload_kv = !args.has("-nkvo");
  out.offload_operations = !args.has("--no-op-offload");
  constexpr std::int64_t kAll = 1000;
  out.n_cpu_moe = args.has("-cmoe") ? kAll : args.number("-ncmoe").value_or(0);
  out.n_cpu_ffn = args.number("-ncffn").value_or(0);
  if (args.value("-ot") == "ffn_.*=CPU") out.host_roles = {"ffn_"};
  out.repacks = true;
  return out;
}

/// Whether `bytes` are what the engine printed as `mib`, which is rounded to `digits`.
bool prints_as(double bytes, double mib, double slack) {
  return std::abs(bytes / kMiB - mib) <= slack + 1e-6;
}

struct Mismatch {
  std::string what;
};

class Comparison {
 public:
  Comparison(const json& row, const MemoryForecast& mine) : row_(row), mine_(mine) {}

  void compare() {
    context();
    caches();
    breakdown();
    mapped();
  }
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

 private:
  void expect(bool ok, const std::string& what) {
    if (!ok) faults_.push_back(what);
  }
  void context() {
    const auto same = [&](const char* key, std::int64_t value) {
      if (!row_[key].is_number()) return;
      expect(row_[key].get<std::int64_t>() == value,
             fmt::format("{} {} is {}", key, row_[key].dump(), value));
    };
    same("ctx", mine_.context.n_ctx);
    same("ctx_seq", mine_.context.cells);
    same("np", mine_.context.sequences);
    if (row_.contains("output_buffer_mib")) {
      for (const auto& [device, mib] : row_["output_buffer_mib"].items()) {
        expect(prints_as(static_cast<double>(mine_.host.output_buffer), mib.get<double>(), 0.005),
               fmt::format("output buffer {} is {}", mib.dump(),
                           static_cast<double>(mine_.host.output_buffer) / kMiB));
      }
    }
  }
  void caches() {
    double kv = 0;
    double printed = 0;
    for (const json& part : row_["kv"]) {
      if (!part.contains("cells") || part["layers"] == 0) continue;
      printed += 1;
      kv += part["mib"].get<double>();
      const std::int64_t cells = part["cells"].get<std::int64_t>();
      expect(std::ranges::any_of(
                 mine_.caches,
                 [&](const CachePart& mine) {
                   return mine.cells == cells &&
                          mine.streams == part["streams"] &&
                          prints_as(static_cast<double>(mine.bytes), part["mib"].get<double>(),
                                    0.005);
                 }),
             "no cache like " + part.dump());
    }
    expect(prints_as(static_cast<double>(mine_.all.kv_cache), kv, 0.005 * printed),
           fmt::format("KV {} is {}", kv, static_cast<double>(mine_.all.kv_cache) / kMiB));
    double state = row_["recurrent_state_bytes"].get<double>() / kMiB;
    double parts = static_cast<double>(row_["recurrent"].size());
    if (row_.contains("dsv4_state")) {
      for (const json& part : row_["dsv4_state"]) {
        state += part["mib"].get<double>();
        parts += 1;
      }
    }
    expect(prints_as(static_cast<double>(mine_.all.recurrent_state), state, 0.005 * parts + 1e-5),
           fmt::format("state {} is {}", state,
                       static_cast<double>(mine_.all.recurrent_state) / kMiB));
  }
  void whole(const json& part, const char* key, std::int64_t bytes, std::int64_t slack = 0) {
    const std::int64_t mib = part[key].get<std::int64_t>();
    const auto mine = bytes >> 20;
    expect(mine >= mib - slack && mine <= mib + slack,
           fmt::format("{} {} {} is {}", part["device"].dump(), key, mib,
                       static_cast<double>(bytes) / kMiB));
  }
  void breakdown() {
    if (!row_.contains("memory_breakdown")) return;
    std::size_t device = 0;
    for (const json& part : row_["memory_breakdown"]) {
      const std::string name = part["device"].get<std::string>();
      if (name == "CPU_REPACK") {
        whole(part, "model", mine_.repacked);
      } else if (name == "Host") {
        whole(part, "model", mine_.host.weights - mine_.repacked);
        whole(part, "context", mine_.host.kv_cache + mine_.host.recurrent_state);
      } else if (device < mine_.devices.size()) {
        whole(part, "model", mine_.devices[device].weights);
        whole(part, "context",
              mine_.devices[device].kv_cache + mine_.devices[device].recurrent_state);
        ++device;
      }
    }
  }
  void mapped() {
    if (row_["alloc"] != "real") return;
    for (const auto& [name, mib] : row_["model_buffer_mib"].items()) {
      if (name != "CPU_Mapped") continue;
      const double parts = row_["model_buffers"].get<double>();
      expect(prints_as(static_cast<double>(mine_.host.weights), mib.get<double>(),
                       0.005 * (parts + 1)),
             fmt::format("weights {} are {}", mib.dump(),
                         static_cast<double>(mine_.host.weights) / kMiB));
    }
  }

  const json& row_;
  const MemoryForecast& mine_;
  std::vector<std::string> faults_;
};

TEST(PlanLabels, ExactParts) {
  std::ifstream in(labels() / "plan-labels.jsonl");
  std::ifstream models_in(labels() / "plan-models.json");
  if (!in || !models_in) GTEST_SKIP() << "no shared/labels beside the source tree";
  const json models = json::parse(models_in);
  std::map<std::string, std::vector<Header>> headers;
  for (const auto& [name, row] : models.items()) headers[name] = {header_of(row)};
  const bool dump = std::getenv("PLAN_DUMP") != nullptr;
  std::ofstream csv;
  if (dump) csv.open(std::getenv("PLAN_DUMP"));
  std::map<std::string, int> seen;
  int bad = 0, n = 0;
  for (std::string line; std::getline(in, line);) {
    const json row = json::parse(line);
    const std::string file = row["file"].get<std::string>();
    const auto found = headers.find(file.substr(0, file.rfind(".gguf")));
    const std::string what = file + " " + row["tag"].get<std::string>();
    ++n;
    const auto mine = forecast(found->second, settings_of(row), placement_of(row));
    const bool refused = !row.contains("compute_buffer_mib") || row["np"].is_null();
    if (!mine) {
      if (!refused) std::cout << what << ": " << mine.error().message << "\n", ++bad;
      continue;
    }
    if (refused) { std::cout << what << ": not refused\n"; continue; }
    Comparison compared(row, *mine);
    compared.compare();
    if (!compared.faults().empty()) {
      ++bad;
      if (++seen[row["arch"].get<std::string>() + compared.faults().front().substr(0, 8)] <= 2)
        for (const auto& fault : compared.faults()) std::cout << what << ": " << fault << "\n";
    }
    if (dump) {
      json out;
      out["file"] = file; out["tag"] = row["tag"];
      out["host"] = static_cast<double>(mine->host.compute_buffer) / kMiB;
      out["devices"] = json::array();
      for (const auto& d : mine->devices) out["devices"].push_back(static_cast<double>(d.compute_buffer) / kMiB);
      csv << out.dump() << "\n";
    }
  }
  std::cout << bad << " of " << n << " bad\n";
}

}  // namespace
}  // namespace picchio::gguf
