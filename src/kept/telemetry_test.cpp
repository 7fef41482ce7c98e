#include "kept/telemetry.h"

#include "base/text.h"
#include "kept/folder.h"
#include "os/file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

namespace picchio::kept {
namespace {

namespace fs = std::filesystem;

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  bool coin() { return engine_() % 2 == 0; }
  int below(int limit) { return static_cast<int>(engine_() % static_cast<unsigned>(limit)); }
  std::optional<double> real() {
    if (coin()) return std::nullopt;
    return std::uniform_real_distribution<double>(0, 1000)(engine_);
  }
  std::optional<std::int64_t> whole() {
    if (coin()) return std::nullopt;
    return static_cast<std::int64_t>(engine_()) * 100'000;
  }
  std::string text() {
    const char* const texts[] = {"", "NVIDIA GeForce RTX 4090", "\"quoted\"\n", "\xff\xfe raw"};
    return texts[below(4)];
  }

 private:
  std::mt19937 engine_;
};

Telemetry random_recording(unsigned seed) {
  Dice dice(seed);
  Telemetry out;
  out.hz = dice.below(20);
  out.halvings = dice.below(4);
  out.none_because = dice.text();
  for (int i = dice.below(3); i > 0; --i) out.news.push_back(dice.text());
  if (dice.coin()) out.troubles.push_back({dice.text(), dice.text()});
  for (int i = dice.below(4); i > 0; --i) {
    MeteredGpu gpu;
    gpu.meter = dice.text();
    gpu.index = dice.below(9);
    gpu.address = dice.text();
    gpu.name = dice.text();
    gpu.driver = dice.text();
    gpu.memory_bytes = dice.whole();
    gpu.unified_memory = dice.coin();
    gpu.busy_window_seconds = dice.real();
    gpu.asleep = dice.coin();
    gpu.power_is_package = dice.coin();
    gpu.busy_is_upper_bound = dice.coin();
    gpu.peak_bytes_per_second = dice.real();
    if (dice.coin()) gpu.cores = dice.below(99);
    if (dice.coin()) gpu.link_max = PcieLink{dice.below(6), dice.below(17)};
    if (dice.coin()) gpu.missing.push_back({GpuFigure::process_memory, "root only"});
    out.gpus.push_back(gpu);
  }
  for (int i = dice.below(20); i > 0; --i) {
    GpuSample sample{Micros{1000 * (20 - i)}, {}};
    for (std::size_t gpu = 0; gpu < out.gpus.size(); ++gpu) {
      GpuReading& reading = sample.readings.emplace_back();
      reading.busy_percent = dice.real();
      reading.memory_bytes = dice.whole();
      reading.power_watts = dice.real();
      reading.energy_joules = dice.real();
      reading.clock_mhz = dice.real();
      reading.memory_clock_mhz = dice.real();
      reading.temperature_celsius = dice.real();
      if (dice.coin()) reading.throttling = Throttling{dice.coin(), dice.coin(), dice.coin()};
      if (dice.coin()) reading.link = PcieLink{dice.below(6), dice.below(17)};
      reading.asleep = dice.coin();
      reading.lost = dice.text();
    }
    out.samples.push_back(sample);
    if (dice.coin()) continue;
    ProcessSample processes{Micros{1000 * (20 - i)}, {}};
    for (int k = dice.below(3); k > 0; --k) {
      processes.use.push_back(
          {dice.below(99999), dice.below(4), dice.real(), dice.real(), dice.whole(), dice.whole()});
    }
    out.processes.push_back(processes);
  }
  return out;
}

TEST(Telemetry, EveryFieldComesBack) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    const Telemetry before = random_recording(seed);
    const std::string text = telemetry_to_text(before);
    const Result<Telemetry> after = telemetry_from_text(text);
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(telemetry_to_text(*after), text);
    EXPECT_EQ(after->gpus.size(), before.gpus.size());
    EXPECT_EQ(after->troubles.size(), before.troubles.size());
    for (std::size_t i = 0; i < before.gpus.size(); ++i) {
      EXPECT_EQ(after->gpus[i].cores, before.gpus[i].cores);
      EXPECT_EQ(after->gpus[i].name, before.gpus[i].name);
      EXPECT_EQ(after->gpus[i].peak_bytes_per_second, before.gpus[i].peak_bytes_per_second);
    }
    ASSERT_EQ(after->samples.size(), before.samples.size());
    ASSERT_EQ(after->processes.size(), before.processes.size());
    for (std::size_t i = 0; i < before.samples.size(); ++i) {
      ASSERT_EQ(after->samples[i].readings.size(), before.gpus.size());
      for (std::size_t gpu = 0; gpu < before.gpus.size(); ++gpu) {
        const GpuReading& was = before.samples[i].readings[gpu];
        const GpuReading& is = after->samples[i].readings[gpu];
        EXPECT_EQ(is.busy_percent, was.busy_percent);
        EXPECT_EQ(is.memory_bytes, was.memory_bytes);
        EXPECT_EQ(is.throttling, was.throttling);
        EXPECT_EQ(is.lost, was.lost);
        EXPECT_EQ(is.asleep, was.asleep);
      }
    }
  }
}

TEST(Telemetry, ALineThatWasCutOffIsLeftOut) {
  Telemetry recording;
  recording.gpus.resize(1);
  for (int i = 0; i < 3; ++i) {
    GpuReading reading;
    reading.busy_percent = 50 + i;
    recording.samples.push_back({Micros{i}, {reading}});
  }
  const std::string whole = telemetry_to_text(recording);
  const Result<Telemetry> cut = telemetry_from_text(whole.substr(0, whole.size() - 4));
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_EQ(cut->samples.size(), 2U);
}

TEST(Telemetry, AFigureOfANewerPicchioIsNotTakenForAnother) {
  const Result<Telemetry> read = telemetry_from_text(
      R"({"schema":"picchio.telemetry.v1","gpus":[{"missing":[{"figure":"smell","reason":"no nose"},{"figure":"power","reason":"root only"}]}]})"
      "\n");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->gpus.at(0).missing.size(), 1U);
  EXPECT_EQ(read->gpus[0].missing[0].figure, GpuFigure::power);
}

TEST(Telemetry, SpoiledTextsAreNamedWithTheReason) {
  const std::string head = R"({"schema":"picchio.telemetry.v1","gpus":[{}]})";
  const std::pair<std::string, std::string_view> rows[] = {
      {"", "it is empty"},
      {"{}\n", "its schema is not 'picchio.telemetry.v1'"},
      {"[]\n", "line 1 is not a JSON object"},
      {head + "\n7\n", "line 2 is not a JSON object"},
      {head + "\n{\"at_us\"\n", "line 2: it is not JSON"},
      {head + "\n{\"at_us\":\"now\",\"gpus\":[]}\n", "line 2: field 'at_us' is not a whole number"},
      {head + "\n{\"at_us\":1,\"gpus\":[{\"busy_percent\":\"all\"}]}\n",
       "line 2: field 'gpus[0].busy_percent' is not a number"},
      {head + "\n{\"at_us\":2,\"gpus\":[]}\n{\"at_us\":1,\"gpus\":[]}\n",
       "its times do not ascend"},
      {head + "\n{\"at_us\":9223372036854775807,\"gpus\":[]}\n",
       "line 2: it holds a figure that cannot be"},
      {head + "\n{\"at_us\":1,\"gpus\":[{\"memory_bytes\":-1}]}\n",
       "line 2: it holds a figure that cannot be"},
      {head + "\n{\"at_us\":1,\"use\":[{\"memory_bytes\":9223372036854775807}]}\n",
       "line 2: it holds a figure that cannot be"},
      {head + "\n{\"at_us\":1,\"gpus\":[{\"busy_percent\":-1}]}\n",
       "line 2: it holds a figure that cannot be"},
      {head + "\n{\"at_us\":1,\"gpus\":[{\"power_watts\":1e300}]}\n",
       "line 2: it holds a figure that cannot be"},
      {R"({"schema":"picchio.telemetry.v1","gpus":[{"peak_bytes_per_second":1e300}]})"
       "\n",
       "line 1: it holds a figure that cannot be"},
      {R"({"schema":"picchio.telemetry.v1","gpus":7})"
       "\n",
       "line 1: field 'gpus' is not an array"},
  };
  for (const auto& [text, reason] : rows) {
    const Result<Telemetry> read = telemetry_from_text(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().message, reason);
  }
}

RawRun run_of(std::size_t passes) {
  RawRun run;
  run.passes.resize(passes);
  return run;
}

TEST(ForeignTelemetry, HasMarksForEachPass) {
  RawRun run = run_of(2);
  const Result<> read = read_foreign_telemetry(
      R"({"summary":{"hz":4.0,"src":"nvml"},
          "marks":[{"t_end":110.5,"wall_s":8.5},{"t_end":120,"wall_s":9}],
          "samples":[{"t":100,"dev":1,"mem":500},{"t":100.25,"dev":null,"gpu_w":7.5}]})",
      run);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(run.telemetry.gpus.size(), 1U);
  EXPECT_EQ(run.telemetry.gpus[0].meter, "nvml");
  EXPECT_EQ(run.telemetry.hz, 4);
  EXPECT_EQ(run.passes[0].began, Micros{2'000'000});
  EXPECT_EQ(run.passes[1].began, Micros{11'000'000});
  ASSERT_EQ(run.telemetry.samples.size(), 2U);
  EXPECT_EQ(run.telemetry.samples[0].readings[0].memory_bytes, 500);
  EXPECT_EQ(run.telemetry.samples[1].at, Micros{250'000});
  EXPECT_EQ(run.telemetry.samples[1].readings[0].busy_percent, std::nullopt);
  EXPECT_EQ(run.telemetry.samples[1].readings[0].power_watts, 7.5);
}

TEST(ForeignTelemetry, SaysWhyThereIsNone) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {R"({"summary":{"off":"not macos"}})", "not macos"},
      {R"({"summary":{"off":true}})", "switched off"},
      {R"({"summary":{},"samples":[]})", "the recording holds no sample"},
      {R"({})", "the recording holds no sample"},
  };
  for (const auto& [text, why] : rows) {
    RawRun run = run_of(1);
    ASSERT_TRUE(read_foreign_telemetry(text, run)) << text;
    EXPECT_EQ(run.telemetry.none_because, why);
    EXPECT_EQ(run.passes[0].began, std::nullopt);
  }
}

TEST(ForeignTelemetry, NoTextCrashesIt) {
  for (const char* text :
       {"", "[]", "7", R"({"summary":[]})", R"({"summary":{},"samples":[7]})",
        R"({"summary":{},"samples":[{"t":1e300}]})", R"({"samples":[{"t":2},{"t":1}]})"}) {
    RawRun run = run_of(1);
    EXPECT_FALSE(read_foreign_telemetry(text, run)) << text;
  }
  RawRun run = run_of(1);
  EXPECT_TRUE(read_foreign_telemetry(
      R"({"summary":{"src":7,"hz":"x"},"marks":[7,{"t_end":"x"}],"samples":[{"t":1,"mem":1e300,"dev":"x"}]})",
      run));
  EXPECT_EQ(run.telemetry.samples[0].readings[0].memory_bytes, std::nullopt);
}

TEST(ForeignSamples, BeginWhereTheMemoryGrew) {
  RawRun run = run_of(1);
  const Result<> read = read_foreign_samples(
      "{\"symbols\": {\"nvmlInit_v2\": true}}\n{\"driver\": \"550.54.14\"}\n"
      "{\"t\": 0.0, \"util_gpu\": 0, \"mem_used_mib\": 354, \"power_w\": 17.5, \"temp_c\": 29}\n"
      "{\"t\": 1.5, \"util_gpu\": 0, \"mem_used_mib\": 354, \"power_w\": 17.5}\n"
      "{\"t\": 2.0, \"util_gpu\": 2, \"mem_used_mib\": 745, \"power_w\": 27.8}\n",
      run);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(run.passes[0].began, Micros{1'500'000});
  EXPECT_EQ(run.telemetry.gpus.at(0).driver, "550.54.14");
  EXPECT_EQ(run.telemetry.samples.at(2).readings[0].memory_bytes, std::int64_t{745} << 20);
  RawRun flat = run_of(1);
  ASSERT_TRUE(read_foreign_samples("{\"t\": 0, \"mem_used_mib\": 354}\n", flat));
  EXPECT_EQ(flat.passes[0].began, Micros{0});
  // Cut off within a line, and with an empty one at the end.
  RawRun cut = run_of(1);
  ASSERT_TRUE(read_foreign_samples("{\"t\": 0, \"util_gpu\": 1}\n{\"t\": 1, \"uti", cut));
  EXPECT_EQ(cut.telemetry.samples.size(), 1U);
  RawRun blank = run_of(1);
  ASSERT_TRUE(read_foreign_samples("{\"t\": 0, \"util_gpu\": -50}\n\n", blank));
  EXPECT_EQ(blank.telemetry.samples.at(0).readings[0].busy_percent, std::nullopt);
  RawRun spoiled = run_of(1);
  const Result<> bad = read_foreign_samples("{\"t\": 0}\n{\"t\n{\"t\": 2}\n", spoiled);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "line 2: it is not JSON");
}

TEST(ForeignTelemetry, RecordedRunsHaveTheirRecordings) {
  const fs::path corpus = fs::path(PICCHIO_CORPUS_DIR) / "raw";
  if (!fs::exists(corpus)) GTEST_SKIP() << "no recorded runs at " << corpus;
  const std::tuple<const char*, std::size_t, const char*> rows[] = {
      {"healthy-metal", 107, "apple"},
      {"cpu-fallback", 532, "apple"},
      {"linux-5090-cuda", 34, "nvml"},
      {"linux-4090/cuda-healthy.stderr.txt", 36, "nvml"},
  };
  for (const auto& [name, samples, meter] : rows) {
    const Result<RawRun> run = read_run((corpus / name).string());
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->telemetry.samples.size(), samples) << name;
    EXPECT_EQ(run->telemetry.gpus.at(0).meter, meter) << name;
    for (const RawPass& pass : run->passes) EXPECT_TRUE(pass.began) << name;
  }
  const Result<RawRun> off = read_run((corpus / "linux-4090").string());
  ASSERT_TRUE(off) << off.error().message;
  EXPECT_EQ(off->telemetry.none_because, "not macos");
}

}  // namespace
}  // namespace picchio::kept
