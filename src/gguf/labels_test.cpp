// What the engine itself said about recorded models, against the prices made from their headers.
#include "gguf/card.h"
#include "gguf/gguf_builder.h"
#include "gguf/model.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

namespace picchio::gguf {
namespace {

using nlohmann::json;

constexpr double kMiB = 1024.0 * 1024.0;

std::filesystem::path labels() {
  return std::filesystem::path(PICCHIO_SOURCE_DIR) / ".." / "shared" / "labels";
}

// The recordings write types in upper case; ids come from our table, sizes are what is under test.
std::uint32_t type_id(const std::string& recorded) {
  const TensorType* type = tensor_type(recorded);
  EXPECT_NE(type, nullptr) << "no tensor type " << recorded;
  return type != nullptr ? type->id : 0;
}

std::vector<TensorRow> rows_of(const json& tensors) {
  std::vector<TensorRow> rows;
  for (const json& tensor : tensors) {
    rows.push_back({tensor[0].get<std::string>(), type_id(tensor[1].get<std::string>()),
                    tensor[2].get<std::vector<std::uint64_t>>()});
  }
  return rows;
}

std::vector<std::string> pairs_of(const json& recorded) {
  std::vector<std::string> pairs;
  for (const auto& [key, value] : recorded.items()) {
    const std::string type = value[0].get<std::string>();
    if (type == "str") pairs.push_back(pair_text(key, value[1].get<std::string>()));
    if (type == "u32") pairs.push_back(pair_u32(key, value[1].get<std::uint32_t>()));
    if (type == "bool")
      pairs.push_back(raw_pair(key, 7, raw<std::uint8_t>(value[1].get<bool>() ? 1 : 0)));
    if (type == "arr[str]") pairs.push_back(pair_texts(key, 3, "word"));
  }
  return pairs;
}

Result<Header> header_of(const GgufFile& spec, Accept accept = Accept::loadable) {
  const std::string bytes = spec.header();
  return read_header(as_bytes(bytes), static_cast<std::int64_t>(bytes.size() + spec.data_bytes()),
                     accept);
}

/// "12.52 MiB (16.01 BPW)", as the engine prints a model's size.
std::string size_line(std::int64_t tensor_bytes, double bits) {
  const auto bytes = static_cast<double>(tensor_bytes);
  if (bytes < 1024 * kMiB) return fmt::format("{:.2f} MiB ({:.2f} BPW)", bytes / kMiB, bits);
  return fmt::format("{:.2f} GiB ({:.2f} BPW)", bytes / kMiB / 1024, bits);
}

std::string size_line(const ModelFile& model) {
  return size_line(model.tensor_bytes, 8 * static_cast<double>(model.tensor_bytes) /
                                           static_cast<double>(model.parameters));
}

/// "6.56 M", "8.95 B".
std::string parameters_line(const ModelFile& model) {
  const auto count = static_cast<double>(model.parameters);
  if (count >= 1e12) return fmt::format("{:.2f} T", count / 1e12);
  if (count >= 1e9) return fmt::format("{:.2f} B", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.2f} M", count / 1e6);
  return fmt::format("{:.2f} K", count / 1e3);
}

std::map<std::string, int> census_of(const ModelFile& model) {
  std::map<std::string, int> census;
  for (const TensorInfo& tensor : model.tensors) ++census[tensor.type];
  return census;
}

std::map<std::string, int> census_of(const Card& card) {
  std::map<std::string, int> census;
  for (const TypeRow& row : card.types) census[row.type] = static_cast<int>(row.tensors);
  return census;
}

/// The files of one row of quant-labels.jsonl.
std::vector<GgufFile> files_of(const json& row) {
  std::vector<TensorRow> rows = rows_of(row["tensors"]);
  std::vector<GgufFile> specs;
  auto next = rows.begin();
  for (const json& file : row["files"]) {
    GgufFile spec;
    const auto end = next + static_cast<std::ptrdiff_t>(file["n_tensors"].get<std::size_t>());
    spec.tensors.assign(next, end);
    next = end;
    if (specs.empty()) {
      spec.pairs = {pair_text("general.architecture", "llama")};
      if (file["file_type"].is_number()) {
        spec.pairs.push_back(pair_u32("general.file_type", file["file_type"].get<std::uint32_t>()));
      }
    }
    for (const auto& [key, value] : file["split"].items()) {
      spec.pairs.push_back(pair_u32(key, value.get<std::uint32_t>()));
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

void expect_as_the_engine(const ModelFile& model, const json& row) {
  const json& engine = row["engine"];
  const std::string what = row["file"].get<std::string>();
  EXPECT_EQ(size_line(model), engine["file_size"].get<std::string>()) << what;
  EXPECT_EQ(parameters_line(model), engine["model_params"].get<std::string>()) << what;
  EXPECT_EQ(model.file_type, engine["file_type"].get<std::string>()) << what;
  EXPECT_EQ(census_of(model), (engine["type_census"].get<std::map<std::string, int>>())) << what;
  EXPECT_EQ(model.tensor_bytes, row["computed_from_header"]["tensor_bytes"].get<std::int64_t>())
      << what;
}

void expect_as_the_engine(const Card& card, const json& row) {
  const json& engine = row["engine"];
  const std::string what = row["file"].get<std::string>();
  EXPECT_EQ(size_line(card.tensor_bytes, bits_per_weight(card).value_or(0)),
            engine["file_size"].get<std::string>())
      << what;
  EXPECT_EQ(census_of(card), (engine["type_census"].get<std::map<std::string, int>>())) << what;
  if (card.file_type) {
    EXPECT_EQ(card.claimed, engine["file_type"].get<std::string>()) << what;
  }
  EXPECT_EQ(card.unpriced, 0) << what;
  EXPECT_TRUE(card.objections.empty()) << what;
  EXPECT_TRUE(card.audit.faults.empty()) << what;
  EXPECT_EQ(card.audit.typed_bytes, card.tensor_bytes) << what;
  EXPECT_EQ(card.audit.trailing_bytes, 0) << what;
  for (const auto& [type, counts] : row["computed_from_header"]["by_type"].items()) {
    const auto mine = std::ranges::find(card.types, tensor_type(type)->name, &TypeRow::type);
    ASSERT_NE(mine, card.types.end()) << what << " " << type;
    EXPECT_EQ(mine->elements, counts["elements"].get<std::int64_t>()) << what << " " << type;
    EXPECT_EQ(mine->bytes, counts["bytes"].get<std::int64_t>()) << what << " " << type;
  }
}

TEST(Labels, EveryQuantisedAndSplitModelAsTheEngineSaysIt) {
  std::ifstream in(labels() / "quant-labels.jsonl");
  if (!in) GTEST_SKIP() << "no shared/labels beside the source tree";
  int compared = 0;
  int splits = 0;
  for (std::string line; std::getline(in, line);) {
    const json row = json::parse(line);
    if (!row.contains("engine") || !row["engine"].is_object()) continue;  // the quantiser refused
    const std::string what = row["file"].get<std::string>();
    std::vector<std::string> paths;
    for (const json& file : row["files"]) paths.push_back(file["file"].get<std::string>());
    std::vector<Header> shards;
    std::vector<Header> readable;
    for (const GgufFile& spec : files_of(row)) {
      auto header = header_of(spec);
      ASSERT_TRUE(header) << what << ": " << header.error().message;
      if (paths.size() > 1) {
        EXPECT_EQ(shard_set_paths(paths[shards.size()], *header), paths) << what;
      }
      shards.push_back(*std::move(header));
      readable.push_back(header_of(spec, Accept::readable).value());
    }
    if (paths.size() > 1) {
      EXPECT_EQ(shard_paths(paths[0], static_cast<std::int64_t>(paths.size())), paths);
      ++splits;
    }
    const auto model = price(std::move(shards), paths);
    ASSERT_TRUE(model) << what << ": " << model.error().message;
    expect_as_the_engine(*model, row);
    const auto card = card_of(std::move(readable), paths);
    ASSERT_TRUE(card) << what << ": " << card.error().message;
    expect_as_the_engine(*card, row);
    EXPECT_EQ(card->bytes_per_token, model->bytes_per_token) << what;
    ++compared;
  }
  EXPECT_GT(compared, 100);
  EXPECT_GT(splits, 0);
  RecordProperty("models", compared);
}

std::map<std::string, ModelFile> recorded_models() {
  std::map<std::string, ModelFile> models;
  std::ifstream in(labels() / "plan-models.json");
  if (!in) return models;
  const json all = json::parse(in);
  for (const auto& [name, row] : all.items()) {
    auto header = header_of({.pairs = pairs_of(row["kv"]), .tensors = rows_of(row["tensors"])});
    EXPECT_TRUE(header) << name << ": " << header.error().message;
    if (!header) continue;
    auto model = price({*std::move(header)}, {name});
    EXPECT_TRUE(model) << name << ": " << model.error().message;
    if (model) models.emplace(name, *std::move(model));
  }
  return models;
}

TEST(Labels, EveryArchitectureAsTheEngineSaysIt) {
  std::ifstream in(labels() / "plan-labels.jsonl");
  if (!in) GTEST_SKIP() << "no shared/labels beside the source tree";
  const auto models = recorded_models();
  int compared = 0;
  for (std::string line; std::getline(in, line);) {
    const json row = json::parse(line);
    const auto file_size = row.find("file_size");
    const std::string file = row["file"].get<std::string>();
    const auto found = models.find(file.substr(0, file.rfind(".gguf")));
    if (found == models.end() || file_size == row.end() || !file_size->is_string()) continue;
    EXPECT_EQ(size_line(found->second), file_size->get<std::string>()) << file;
    EXPECT_EQ(parameters_line(found->second), row["model_params"].get<std::string>()) << file;
    EXPECT_EQ(found->second.file_type, row["file_type"].get<std::string>()) << file;
    ++compared;
  }
  EXPECT_GT(models.size(), 100U);
  EXPECT_GT(compared, 1000);
}

/// Whether the run asked for every layer on the devices and the engine put all of them there. RPC
/// devices only: they have no limits of their own, while Vulkan leaves tensors above 128 MiB
/// behind.
bool is_full_offload(const json& row) {
  const json& args = row["args"];
  const auto flag = std::ranges::find(args, json("-ngl"));
  if (flag == args.end() || flag + 1 == args.end() || *(flag + 1) != "99") return false;
  const auto given = [&](const char* word) {
    return std::ranges::find(args, json(word)) != args.end();
  };
  if (!given("--rpc") || given("-ot") || given("-cmoe") || given("-ncmoe") || given("-ncffn"))
    return false;
  return row.contains("device_layers") && !row["device_layers"].contains("CPU") &&
         row.contains("memory_breakdown") && row["memory_breakdown"].is_array();
}

// Weights on the devices = all - kept on the host - skipped + the tied head's second copy. The
// breakdown is in whole MiB, cut, one cut for each row.
TEST(Labels, AFullOffloadLeavesWhatThePriceSays) {
  std::ifstream in(labels() / "plan-labels.jsonl");
  if (!in) GTEST_SKIP() << "no shared/labels beside the source tree";
  const auto models = recorded_models();
  int compared = 0;
  std::map<std::string, int> architectures;
  for (std::string line; std::getline(in, line);) {
    const json row = json::parse(line);
    if (row.contains("error") || !is_full_offload(row)) continue;
    const std::string file = row["file"].get<std::string>();
    const auto found = models.find(file.substr(0, file.rfind(".gguf")));
    if (found == models.end()) continue;
    const ModelFile& model = found->second;
    std::int64_t on_devices = 0;
    std::int64_t on_host = 0;
    int devices = 0;
    for (const json& part : row["memory_breakdown"]) {
      const std::string device = part["device"].get<std::string>();
      const std::int64_t mib = part["model"].get<std::int64_t>();
      if (device == "Host" || device.starts_with("CPU")) {
        on_host += mib;
      } else {
        on_devices += mib;
        ++devices;
      }
    }
    if (devices == 0) continue;
    const std::string what = file + " " + row["tag"].get<std::string>();
    const double device_mib =
        static_cast<double>(model.tensor_bytes - model.always_host_bytes - model.skipped_bytes +
                            (model.tied_output ? model.token_embd_bytes : 0)) /
        kMiB;
    EXPECT_GE(device_mib, static_cast<double>(on_devices)) << what;
    EXPECT_LT(device_mib, static_cast<double>(on_devices + devices)) << what;
    EXPECT_EQ(static_cast<std::int64_t>(static_cast<double>(model.always_host_bytes) / kMiB),
              on_host)
        << what;
    ++compared;
    ++architectures[model.architecture];
  }
  EXPECT_GT(compared, 300);
  EXPECT_GT(architectures.size(), 10U);
}

}  // namespace
}  // namespace picchio::gguf
