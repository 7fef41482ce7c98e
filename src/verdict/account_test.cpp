#include "verdict/account.h"

#include "verdict/shape_rules.h"
#include "verdict/test_values.h"

#include <gtest/gtest.h>

#include <set>

namespace picchio {
namespace {

using namespace test;

struct Expected {
  Shape shape = Shape::unknown;
  std::optional<double> fraction;
  std::optional<KvPlace> kv;
  std::optional<int> layers;
};

struct Case {
  const char* name;
  EngineLog log;
  Expected expected;
};

void expect(const Case& c, const Placement& got) {
  EXPECT_EQ(name_of(got.shape), name_of(c.expected.shape)) << c.name << ": " << got.reason;
  EXPECT_EQ(got.weights_on_gpu_fraction.has_value(), c.expected.fraction.has_value()) << c.name;
  EXPECT_NEAR(got.weights_on_gpu_fraction.value_or(-1), c.expected.fraction.value_or(-1), 0.002)
      << c.name;
  EXPECT_EQ(got.kv_on, c.expected.kv) << c.name;
  EXPECT_EQ(got.layers_on_gpu, c.expected.layers) << c.name;
  EXPECT_FALSE(got.reason.empty()) << c.name;
}

EngineLog with_splits(EngineLog log, std::int64_t prefill,
                      std::optional<std::int64_t> decode = {}) {
  log.loads.back().splits = GraphSplits{prefill, decode, std::nullopt, 1, false};
  return log;
}

EngineLog with_event(EngineLog log, LogEventKind kind, const std::string& text) {
  log.events.push_back(event(kind, text));
  log.events.back().line = 99;
  return log;
}

EngineLog with_file(EngineLog log, double size) {
  log.loads.back().weight_bytes = mib(size);
  return log;
}

EngineLog software(EngineLog log, const std::string& name) {
  for (BufferLine& line : log.loads.back().buffers) {
    if (line.device == name) line.kind = DeviceKind::software;
  }
  return log;
}

EngineLog nothing() {
  EngineLog log;
  log.engine = "llama.cpp";
  return log;
}

TEST(Placement, FullOffloadsAreGpu) {
  const std::vector<Case> cases = {
      {"one card", full_cuda(), {Shape::gpu, 0.9674, KvPlace::gpu, 41}},
      {"two cards",
       log_of({weights("CPU_Mapped", 400), weights("CUDA0", 9000), weights("CUDA1", 9000),
               kv("CUDA0", 100), kv("CUDA1", 100)},
              65, 65),
       {Shape::gpu, 0.978, KvPlace::gpu, 65}},
      {"row split: the matrices have a buffer of their own",
       log_of({weights("CPU_Mapped", 417.66), weights("CUDA0", 5.27),
               weights("CUDA0_Split", 18503.68), kv("CUDA0", 2048)},
              65, 65),
       {Shape::gpu, 0.978, KvPlace::gpu, 65}},
      {"the host span covers the file, the device holds all but the embedding",
       with_file(with_splits(log_of({weights("CPU_Mapped", 21623.30), weights("CUDA0", 19201.62),
                                     kv("CUDA0", 2560)},
                                    42, 42),
                             2),
                 21626.88),
       {Shape::gpu, 0.8879, KvPlace::gpu, 42}},
      {"Metal maps the whole file, the embedding is tied",
       with_file(with_splits(log_of({weights("CPU_Mapped", 308.23), weights("MTL0_Mapped", 1914.86),
                                     kv("MTL0", 448)},
                                    29, 29),
                             2),
                 1914.88),
       {Shape::gpu, 1.0, KvPlace::gpu, 29}},
      {"a small embedding model: 17 % of it is the embedding",
       with_splits(
           log_of({weights("CUDA0", 216.15), weights("CPU_Mapped", 44.72), kv("CUDA0", 288)}, 13,
                  13),
           4, 2),
       {Shape::gpu, 0.8286, KvPlace::gpu, 13}},
      {"no claim, but a schedule that needs no CPU",
       with_splits(log_of({weights("CPU_Mapped", 281), weights("CUDA0", 8351), kv("CUDA0", 800)}),
                   2),
       {Shape::gpu, 0.9674, KvPlace::gpu, std::nullopt}},
  };
  for (const Case& c : cases) expect(c, placement_of(c.log, nullptr));
}

TEST(Placement, AContrarySignMakesItPartialWhateverTheShare) {
  EngineLog overridden = full_cuda();
  overridden.loads.back().overrides = {{"blk.0.ffn_up_exps.weight", "CUDA_Host", 5}};
  EngineLog embedding_only = full_cuda();
  embedding_only.loads.back().overrides = {{"token_embd.weight", "CPU", 5}};
  EngineLog overflow = full_cuda();
  overflow.fit = FitFacts{};
  overflow.fit->rows = {{"CUDA0", 41, 5, 0, 0}};
  EngineLog to_next_card = full_cuda();
  to_next_card.fit = FitFacts{};
  to_next_card.fit->rows = {{"CUDA0", 20, 1, 0, 0}, {"CUDA1", 21, 0, 0, 0}};
  const std::vector<Case> cases = {
      {"experts overridden", overridden, {Shape::partial, 0.9674, KvPlace::gpu, 41}},
      {"only the embedding overridden", embedding_only, {Shape::gpu, 0.9674, KvPlace::gpu, 41}},
      {"overflowing layers", overflow, {Shape::partial, 0.9674, KvPlace::gpu, 41}},
      {"overflow to the next card", to_next_card, {Shape::gpu, 0.9674, KvPlace::gpu, 41}},
      {"bouncing", with_splits(full_cuda(), 82), {Shape::partial, 0.9674, KvPlace::gpu, 41}},
      {"cache in pinned memory",
       log_of({weights("CPU_Mapped", 107), weights("CUDA0", 8694), kv("CUDA_Host", 4900)}, 41, 41),
       {Shape::partial, 0.9878, KvPlace::cpu, 41}},
      {"part of the cache on the host",
       log_of({weights("CPU_Mapped", 107), weights("CUDA0", 8694), kv("CUDA0", 900), kv("CPU", 10)},
              41, 41),
       {Shape::partial, 0.9878, KvPlace::mixed, 41}},
      {"weights in pinned memory",
       log_of({weights("CPU", 416), weights("CUDA0", 73024), weights("CUDA_Host", 7104)}, 87, 94),
       {Shape::partial, 0.9066, std::nullopt, 87}},
      {"most weights on the host under a full claim",
       log_of({weights("CPU", 15622), weights("CANN0", 1.18), kv("CANN0", 1152)}, 37, 37),
       {Shape::partial, 0.0001, KvPlace::gpu, 37}},
      {"one layer short, spans twice the file",
       with_file(log_of({weights("CPU_Mapped", 13260), weights("CUDA0", 12900), kv("CUDA0", 450),
                         kv("CPU", 9.6)},
                        48, 49),
                 13578.24),
       {Shape::partial, 0.95, KvPlace::mixed, 48}},
      {"no claim and a sizeable host share",
       with_file(log_of({weights("CPU", 15317), weights("CANN0", 13313), kv("CANN0", 1024)}),
                 15319),
       {Shape::partial, 0.869, KvPlace::gpu, std::nullopt}},
  };
  for (const Case& c : cases) expect(c, placement_of(c.log, nullptr));
}

TEST(Placement, NothingOnADeviceIsCpuWhateverTheClaim) {
  EngineLog scratch_of_2023 = log_of({weights("CPU", 5407), weights("CUDA0", 288)}, 0, 35);
  const std::vector<Case> cases = {
      {"device none claims 33/33",
       log_of({weights("CPU_Mapped", 4685), weights("CPU_REPACK", 3204), kv("CPU", 512)}, 33, 33),
       {Shape::cpu, 0.0, KvPlace::cpu, 0}},
      {"0/41 with a card listed", cpu_with_card(), {Shape::cpu, 0.0, KvPlace::cpu, 0}},
      {"no claim, no cache line",
       log_of({weights("CPU", 5600)}),
       {Shape::cpu, 0.0, KvPlace::cpu, 0}},
      {"scratch memory beside 0/35", scratch_of_2023, {Shape::cpu, 0.0, KvPlace::cpu, 0}},
      {"pinned memory is host memory",
       log_of({weights("CUDA_Host", 5000), kv("CUDA_Host", 100)}, 0, 33),
       {Shape::cpu, 0.0, KvPlace::cpu, 0}},
  };
  for (const Case& c : cases) expect(c, placement_of(c.log, nullptr));
}

TEST(Placement, SoftwareAndRemoteDevicesAreNoGpus) {
  const EngineLog llvmpipe =
      log_of({weights("CPU_Mapped", 308), weights("Vulkan0", 1918), kv("Vulkan0", 448)}, 29, 29);
  const EngineLog sycl = log_of({weights("SYCL0", 2186), weights("SYCL2", 2289), weights("CPU", 86),
                                 kv("SYCL0", 1024), kv("SYCL2", 1024)},
                                33, 33);
  const EngineLog rpc = log_of({weights("RPC0[192.0.2.1:50052]", 2700), weights("CPU_Mapped", 170),
                                kv("RPC0[192.0.2.1:50052]", 448)},
                               29, 29);
  const EngineLog both = log_of({weights("CUDA0", 1008), weights("RPC", 965), weights("CPU", 125),
                                 kv("CUDA0", 22), kv("RPC", 22)},
                                23, 23);
  const std::vector<Case> cases = {
      {"llvmpipe", software(llvmpipe, "Vulkan0"), {Shape::software_device, 0.0, KvPlace::cpu, 0}},
      {"a card and the SYCL CPU",
       software(sycl, "SYCL2"),
       {Shape::partial, 0.4793, KvPlace::mixed, std::nullopt}},
      {"remote, unseen", rpc, {Shape::remote, std::nullopt, std::nullopt, std::nullopt}},
      {"card and remote", both, {Shape::remote, std::nullopt, std::nullopt, std::nullopt}},
      {"remote CPU",
       with_event(rpc, LogEventKind::remote_is_cpu, "create_backend: using CPU backend"),
       {Shape::cpu, 0.0, KvPlace::cpu, 0}},
      {"card and remote CPU",
       with_event(both, LogEventKind::remote_is_cpu, "using CPU backend"),
       {Shape::partial, 0.4804, KvPlace::mixed, std::nullopt}},
      {"remote cache",
       log_of({weights("CUDA0", 1008), weights("CPU", 125), kv("CUDA0", 22), kv("RPC", 22)}, 23,
              23),
       {Shape::remote, std::nullopt, std::nullopt, 23}},
      {"remote GPU",
       with_event(both, LogEventKind::remote_is_gpu, "using CUDA backend"),
       {Shape::gpu, 0.9404, KvPlace::gpu, std::nullopt}},
  };
  for (const Case& c : cases) expect(c, placement_of(c.log, nullptr));
}

TEST(Placement, ALogWithoutWeightsCanConvictButNeverAcquit) {
  EngineLog plan = nothing();
  plan.plan = OffloadPlan{-1, 33, 33, "cuda", 1};
  EngineLog planned_none = nothing();
  planned_none.plan = OffloadPlan{-1, 33, 0, "cuda", 1};
  EngineLog failed = log_of({}, 33, 33);
  failed.loads.back().failure = "unable to allocate CUDA0 buffer";
  failed.loads.back().last_line = 50;
  EngineLog later_found = with_event(nothing(), LogEventKind::no_gpu_discovered, "library=cpu");
  later_found.devices.push_back(device("CUDA0", "a card"));
  later_found.devices.back().line = 120;
  EngineLog claim_and_device = log_of({}, 33, 33);
  claim_and_device.devices.push_back(device("CUDA0", "a card"));
  const std::vector<Case> cases = {
      {"nothing at all", nothing(), {Shape::unknown, {}, {}, {}}},
      {"claim and device alone", claim_and_device, {Shape::unknown, {}, {}, {}}},
      {"claim 20/33", log_of({}, 20, 33), {Shape::partial, {}, {}, 20}},
      {"claim 0/33", log_of({}, 0, 33), {Shape::cpu, 0.0, KvPlace::cpu, 0}},
      {"plan", plan, {Shape::unknown, {}, {}, {}}},
      {"plan of none", planned_none, {Shape::cpu, {}, {}, 0}},
      {"warning",
       with_event(nothing(), LogEventKind::no_usable_gpu, "no usable GPU found"),
       {Shape::cpu, {}, {}, {}}},
      {"discovery",
       with_event(nothing(), LogEventKind::no_gpu_discovered, "library=cpu"),
       {Shape::cpu, {}, {}, {}}},
      {"discovery that a later one voids", later_found, {Shape::unknown, {}, {}, {}}},
      {"failed load", failed, {Shape::unknown, {}, {}, {}}},
      {"failed load, then a CPU runner",
       with_event(failed, LogEventKind::cpu_runner, "runners/cpu_avx2"),
       {Shape::cpu, {}, {}, 0}},
      {"cache and one split",
       with_splits(log_of({kv("CPU", 512)}, 33, 33), 1),
       {Shape::cpu, {}, KvPlace::cpu, 0}},
  };
  for (const Case& c : cases) expect(c, placement_of(c.log, nullptr));
}

TEST(Placement, TheHeaderMakesItExact) {
  const ModelFile model = header();
  const ModelFile tied = header(true);
  ModelFile encoder = tied;
  encoder.architecture = "nomic-bert";
  // It weighs less than the rounding of the lines, and makes every token change backend all the
  // same.
  EngineLog one_norm = log_of({weights("CPU_Mapped", 50), weights("CUDA0", 860)}, 9, 9);
  one_norm.loads.back().overrides = {{"blk.0.ffn_norm.weight", "CPU", 5}};
  struct HeaderCase {
    const char* name;
    const ModelFile& model;
    EngineLog log;
    Shape shape;
    std::int64_t missing;
  };
  const std::vector<HeaderCase> cases = {
      {"all but the embedding", model,
       log_of({weights("CPU_Mapped", 50), weights("CUDA0", 860)}, 9, 9), Shape::gpu, 0},
      {"one tensor of 60 MiB short under a full claim", model,
       log_of({weights("CPU_Mapped", 110), weights("CUDA0", 800)}, 9, 9), Shape::partial, mib(60)},
      {"a host span over the file", model,
       log_of({weights("CPU_Mapped", 900), weights("CUDA0", 860)}, 9, 9), Shape::gpu, 0},
      {"tied, stored twice", tied, log_of({weights("CPU_Mapped", 50), weights("CUDA0", 850)}, 9, 9),
       Shape::gpu, 0},
      {"tied, stored twice, one tensor of 40 MiB on the host", tied,
       log_of({weights("CPU_Mapped", 90), weights("CUDA0", 810)}, 9, 9), Shape::partial, mib(40)},
      {"tied, the head left on the host under a full claim", tied,
       with_splits(log_of({weights("CPU_Mapped", 50), weights("CUDA0", 800)}, 9, 9), 3),
       Shape::partial, mib(50)},
      {"full but for one small tensor that a line moved", model, one_norm, Shape::partial, 0},
      {"no head at all, by name", encoder,
       log_of({weights("CPU_Mapped", 50), weights("CUDA0", 800)}, 9, 9), Shape::gpu, 0},
      {"no head at all, by the schedule", tied,
       with_splits(log_of({weights("CPU_Mapped", 50), weights("CUDA0", 800)}, 9, 9), 2), Shape::gpu,
       0},
      {"an encoder with a tensor on the host", encoder,
       log_of({weights("CPU_Mapped", 90), weights("CUDA0", 760)}, 9, 9), Shape::partial, mib(40)},
  };
  for (const HeaderCase& c : cases) {
    const Placement got = placement_of(c.log, &c.model);
    EXPECT_EQ(name_of(got.shape), name_of(c.shape)) << c.name << ": " << got.reason;
    EXPECT_NEAR(static_cast<double>(got.missing_bytes.value_or(-1)), static_cast<double>(c.missing),
                1024.0)
        << c.name;
    EXPECT_EQ(got.host_by_design_bytes, mib(50));
  }
}

/// Metal maps the file as one device span: what the planning pass weighed is better.
TEST(Placement, MappedDeviceSpansYieldToBetterFigures) {
  EngineLog log = log_of(
      {weights("CPU_Mapped", 545.62), weights("MTL0_Mapped", 5406.91), kv("MTL0", 128)}, 33, 33);
  log = with_file(log, 5406.72);
  Load probe;
  probe.role = LoadRole::probe;
  probe.claim = LayerClaim{33, 33, 1};
  MemoryRow card;
  card.name = "MTL0";
  card.model_mib = 4861;
  MemoryRow host;
  host.name = "Host";
  host.model_mib = 545;
  probe.breakdown = {card, host};
  log.loads.insert(log.loads.begin(), probe);
  const Placement planned = placement_of(log, nullptr);
  EXPECT_EQ(planned.shape, Shape::gpu) << planned.reason;
  EXPECT_NEAR(planned.weights_on_gpu_fraction.value_or(0), 4861.0 / 5406.7, 0.001);

  // The plan was for another layout: its figures are void.
  log.loads.front().claim = LayerClaim{20, 33, 1};
  EXPECT_NEAR(placement_of(log, nullptr).weights_on_gpu_fraction.value_or(0), 1.0, 0.001);

  // Layer lines priced by the header.
  const ModelFile model = header();
  EngineLog layered = log_of({weights("CPU_Mapped", 400), weights("MTL0_Mapped", 900)}, 9, 9);
  for (int i = 0; i <= 8; ++i) layered.loads.back().layers.push_back({i, "MTL0"});
  EXPECT_EQ(placement_of(layered, &model).shape, Shape::gpu);
  EXPECT_NEAR(placement_of(layered, &model).weights_on_gpu_fraction.value_or(0), 860.0 / 910,
              0.001);
  layered.loads.back().overrides = {{"blk.0.ffn_up.weight", "CPU", 4}};
  EXPECT_EQ(placement_of(layered, &model).shape, Shape::partial);
  EXPECT_NEAR(placement_of(layered, &model).weights_on_gpu_fraction.value_or(0), 800.0 / 910,
              0.001);
}

TEST(Placement, RepackedCopiesCountOnceAndOnlyWhereTheyAreTheOnlyCopy) {
  const auto host_of = [](const EngineLog& log) {
    const Placement placement = placement_of(log, nullptr);
    return placement.devices.back().weights_bytes.value_or(-1) / kMiB;
  };
  EngineLog mapped = log_of(
      {weights("CPU_Mapped", 1720), weights("CPU_REPACK", 1200), weights("CUDA0", 2965)}, 22, 33);
  EXPECT_EQ(host_of(with_file(mapped, 4685)), 1720);
  EXPECT_EQ(host_of(mapped), 1720);
  EngineLog unmapped =
      log_of({weights("CPU", 400), weights("CPU_REPACK", 1200), weights("CUDA0", 2965)}, 22, 33);
  unmapped.loads.back().mmap = false;
  EXPECT_EQ(host_of(unmapped), 1600);
  // One span per run of tensors, the repacked ones left out: only the file's size tells.
  EngineLog runs = log_of({weights("CPU_Mapped", 3.4), weights("CPU_REPACK", 11.6)}, 9, 9);
  EXPECT_EQ(placement_of(with_file(runs, 15), nullptr).devices.back().weights_bytes,
            mib(3.4) + mib(11.6));
}

/// gemma3 on a device that cannot hold its head: 19/19 claimed, the largest product on the CPU.
TEST(Placement, AThirdSplitBetraysAHeadOnTheHost) {
  EngineLog log =
      log_of({weights("CPU_Mapped", 170), weights("CUDA0", 65.16), kv("CUDA0", 9)}, 19, 19);
  log.loads.back().n_vocab = 262144;
  log.loads.back().n_embd = 640;
  log.loads.back().devices = {"CUDA0"};
  EXPECT_EQ(placement_of(with_splits(log, 3), nullptr).shape, Shape::partial);
  // Builds before March 2024 counted one more for the same graph, and said so: "(measure)".
  EngineLog old = with_splits(full_cuda(), 3);
  old.loads.back().splits->measured = true;
  EXPECT_EQ(placement_of(old, nullptr).shape, Shape::gpu);
}

TEST(Placement, AnEmbeddingIsKnownByItsSize) {
  // gpt-oss: a BF16 embedding of 1.1 GiB in a 4-bit model; one expert layer more is no embedding.
  const auto log = [](double host) {
    EngineLog out =
        log_of({weights("CPU_Mapped", host), weights("CUDA0", 4000), kv("CUDA0", 300)}, 25, 25);
    out.loads.back().n_vocab = 201088;
    out.loads.back().n_embd = 2880;
    out.loads.back().weight_bytes = mib(4000 + host);
    out.loads.back().parameters = 8e9;
    return out;
  };
  EXPECT_EQ(placement_of(log(1104.6), nullptr).shape, Shape::gpu);
  EXPECT_EQ(placement_of(log(1500), nullptr).shape, Shape::partial);
  // 1500 MiB of 5500 and a schedule for one card: nobody can tell.
  EXPECT_EQ(placement_of(with_splits(log(2500), 2), nullptr).shape, Shape::unknown);
}

TEST(Placement, EveryRuleDecidesSomething) {
  const ModelFile model = header();
  EngineLog overridden = full_cuda();
  overridden.loads.back().overrides = {{"blk.0.ffn_up_exps.weight", "CPU", 5}};
  EngineLog overflow = full_cuda();
  overflow.fit = FitFacts{};
  overflow.fit->rows = {{"CUDA0", 41, 5, 0, 0}};
  EngineLog no_claim = full_cuda();
  no_claim.loads.back().claim.reset();
  EngineLog lost = log_of({weights("CPU", 281), weights("CUDA0", 4000)}, 41, 41);
  lost.loads.back().weight_bytes = mib(8632);
  const std::pair<EngineLog, const ModelFile*> cases[] = {
      {lost, nullptr},
      {cpu_with_card(), nullptr},
      {log_of({weights("CPU", 5407), weights("CUDA0", 288)}, 0, 35), nullptr},
      {software(full_cuda(), "CUDA0"), nullptr},
      {log_of({weights("CPU", 4000), weights("CUDA0", 4000)}, 20, 41), nullptr},
      {overridden, nullptr},
      {overflow, nullptr},
      {log_of({weights("CPU", 110), weights("CUDA0", 800)}, 9, 9), &model},
      {log_of({weights("CPU", 107), weights("CUDA0", 8694), kv("CPU", 4900)}, 41, 41), nullptr},
      {with_splits(full_cuda(), 82), nullptr},
      {log_of({weights("CPU", 100), weights("RPC0", 2700)}, 29, 29), nullptr},
      {log_of({weights("CPU", 50), weights("CUDA0", 860)}, 9, 9), &model},
      {log_of({weights("CUDA0", 8351), kv("CUDA0", 800)}, 41, 41), nullptr},
      {no_claim, nullptr},
      {full_cuda(), nullptr},
  };
  std::set<std::string_view> reached;
  for (const auto& [log, file] : cases) reached.insert(deciding_rule(log, file));
  for (const ShapeRule& rule : shape_rules()) {
    EXPECT_TRUE(reached.contains(rule.name)) << "no case reaches '" << rule.name << "'";
  }
  EXPECT_EQ(reached.size(), shape_rules().size());
}

}  // namespace
}  // namespace picchio
