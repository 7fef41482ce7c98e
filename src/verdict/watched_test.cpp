// Watches made up here, and what they show.
#include "verdict/watched.h"

#include "verdict/watched_figures.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

namespace picchio {
namespace {

constexpr int kTarget = 4242;
constexpr int kChild = 4243;
constexpr int kOther = 77;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// Ten seconds, ten looks a second at one card and one a second at the processes.
struct Scene {
  std::function<double(double)> busy = [](double) { return 0.0; };
  bool busy_told = true;
  std::optional<double> tree_percent = {};
  std::optional<std::int64_t> tree_bytes = {};
  int tree_pid = kTarget;
  std::optional<double> other_percent = {};
  std::optional<std::int64_t> other_bytes = {};
  std::string other_name = "python3";
  std::string meter = "nvml";
  double lost_at = 1e9;
  double asleep_until = 0;
  bool has_target = true;
  double length = 10;
  std::function<void(WatchRecord&)> change = {};
};

void add_use(ProcessSample& sample, int pid, std::optional<double> percent,
             std::optional<std::int64_t> bytes) {
  if (!percent && !bytes) return;
  GpuProcessUse use;
  use.pid = pid;
  use.busy_percent = percent;
  use.memory_bytes = bytes;
  sample.use.push_back(use);
}

WatchRecord record_of(const Scene& scene) {
  WatchRecord record;
  if (scene.has_target) record.target = WatchTarget{kTarget, "llama-server", ""};
  record.length = Micros(static_cast<std::int64_t>(scene.length * 1e6));
  record.telemetry.hz = 10;
  record.telemetry.gpus.resize(1);
  record.telemetry.gpus[0].meter = scene.meter;
  record.telemetry.gpus[0].name = "GeForce RTX 4090";
  for (int i = 0; 0.1 * i < scene.length - 1e-9; ++i) {
    const double t = 0.1 * i;
    GpuSample sample{Micros(static_cast<std::int64_t>(t * 1e6)), {GpuReading{}}};
    GpuReading& reading = sample.readings[0];
    if (t >= scene.lost_at) {
      reading.lost = "NVML says GPU is lost";
    } else if (t < scene.asleep_until) {
      reading.asleep = true;
    } else {
      if (scene.busy_told) reading.busy_percent = scene.busy(t);
      reading.power_watts = 100;
    }
    record.telemetry.samples.push_back(sample);
  }
  for (double t = 0.05; t < std::min(scene.length, scene.lost_at); t += 1) {
    ProcessSample sample{Micros(static_cast<std::int64_t>(t * 1e6)), {}};
    add_use(sample, scene.tree_pid, scene.tree_percent, scene.tree_bytes);
    add_use(sample, kOther, scene.other_percent, scene.other_bytes);
    record.telemetry.processes.push_back(sample);
  }
  record.processes = {{kTarget, "llama-server", true, Micros{0}, record.length},
                      {kChild, "runner", true, Micros{0}, record.length},
                      {kOther, scene.other_name, false, Micros{0}, record.length}};
  record.cpu = {{Micros{0}, 5}, {record.length, 25}};
  record.tree_readable = true;
  record.device_nodes = {"/dev/nvidia0"};
  if (scene.change) scene.change(record);
  return record;
}

double busy(double) { return 97; }
double quiet(double) { return 1; }

void missing(WatchRecord& record, std::initializer_list<GpuFigure> figures) {
  for (const GpuFigure figure : figures) {
    record.telemetry.gpus[0].missing.push_back({figure, "this container's /proc is not enough"});
  }
}

struct Case {
  const char* name;
  Scene scene;
  Activity activity;
  const char* rule;
  std::vector<const char*> words;
};

void expect_judged(const Case& c) {
  const WatchVerdict verdict = judge_watch(record_of(c.scene));
  EXPECT_EQ(name_of(verdict.activity), name_of(c.activity)) << c.name << ": " << verdict.sentence;
  EXPECT_EQ(verdict.rule, c.rule) << c.name << ": " << verdict.sentence;
  for (const char* word : c.words) {
    EXPECT_TRUE(verdict.sentence.contains(word)) << c.name << ": " << verdict.sentence;
  }
}

const Case kTargetCases[] = {
    {"a CPU burner beside an idle card",
     {.busy = quiet, .change = [](WatchRecord& r) { r.device_nodes.clear(); }},
     Activity::idle,
     "no-device-open",
     {"llama-server (pid 4242) has no GPU device open"}},
    {"a CPU burner beside somebody else's work",
     {.busy = busy, .other_percent = 96, .change = [](WatchRecord& r) { r.device_nodes.clear(); }},
     Activity::idle,
     "no-device-open",
     {"somebody else's work: python3 (pid 77, 96%)"}},
    {"its time is told",
     {.busy = busy, .tree_percent = 96, .tree_bytes = 5400 * kMiB},
     Activity::busy,
     "attributed",
     {"llama-server (pid 4242) had 96% of the time of GPU 0 (GeForce RTX 4090)", "5.27 GiB"}},
    {"a child does it",
     {.busy = busy, .tree_percent = 96, .tree_pid = kChild},
     Activity::busy,
     "attributed",
     {"runner (pid 4243), a child of llama-server (pid 4242), had 96%"}},
    {"its time is told although its open files are none",
     {.busy = busy, .tree_percent = 96, .change = [](WatchRecord& r) { r.device_nodes.clear(); }},
     Activity::busy,
     "attributed",
     {}},
    {"a quarter is work too",
     {.busy = busy, .tree_percent = 25, .other_percent = 70},
     Activity::busy,
     "attributed",
     {"25%"}},
    {"loaded and waiting",
     {.busy = quiet, .tree_bytes = 5400 * kMiB},
     Activity::idle,
     "quiet",
     {"holds 5.27 GiB of GPU 0", "did not work"}},
    {"somebody else's, by an explicit zero",
     {.busy = busy, .tree_percent = 0, .tree_bytes = 400 * kMiB, .other_percent = 96},
     Activity::idle,
     "somebody-elses",
     {"python3 (pid 77, 96%)", "holds 400.0 MiB there and did no work"}},
    {"somebody else's, and not in the driver's list",
     {.busy = busy, .other_percent = 96},
     Activity::idle,
     "somebody-elses",
     {"llama-server (pid 4242) has nothing there"}},
    {"busy, and the driver's list is empty",
     {.busy = busy},
     Activity::not_sure,
     "busy-for-nobody",
     {"names no process"}},
    {"busy, and what it holds open cannot be seen by a DRM meter",
     {.busy = busy,
      .other_percent = 96,
      .meter = "amdgpu",
      .change = [](WatchRecord& r) { r.tree_readable = false; }},
     Activity::not_sure,
     "busy-for-nobody",
     {}},
    {"busy with hidden processes, and a DRM meter sees all of the tree",
     {.busy = busy, .meter = "amdgpu"},
     Activity::idle,
     "somebody-elses",
     {"processes that cannot be seen"}},
    {"a foreign pid namespace",
     {.busy = busy,
      .change =
          [](WatchRecord& r) {
            missing(r, {GpuFigure::process_busy, GpuFigure::process_memory});
            r.telemetry.processes.clear();
          }},
     Activity::not_sure,
     "busy-for-nobody",
     {"this container's /proc"}},
    {"a foreign pid namespace and an idle card",
     {.busy = quiet,
      .change =
          [](WatchRecord& r) { missing(r, {GpuFigure::process_busy, GpuFigure::process_memory}); }},
     Activity::idle,
     "quiet",
     {"1% busy at median"}},
    {"no times, its memory, and more in use than anybody in sight holds",
     {.busy = busy,
      .tree_bytes = 900 * kMiB,
      .change =
          [](WatchRecord& r) {
            missing(r, {GpuFigure::process_busy});
            for (GpuSample& sample : r.telemetry.samples) {
              sample.readings[0].memory_bytes = 5400 * kMiB;
            }
          }},
     Activity::not_sure,
     "busy-for-nobody",
     {"for whom, nothing tells"}},
    {"no times, but its memory, a busy card and nobody else",
     {.busy = busy,
      .tree_bytes = 5400 * kMiB,
      .change = [](WatchRecord& r) { missing(r, {GpuFigure::process_busy}); }},
     Activity::busy,
     "memory-and-alone",
     {"holds 5.27 GiB on GPU 0", "nobody else was seen there"}},
    {"no times and two with memory",
     {.busy = busy,
      .tree_bytes = 5400 * kMiB,
      .other_bytes = 900 * kMiB,
      .change = [](WatchRecord& r) { missing(r, {GpuFigure::process_busy}); }},
     Activity::not_sure,
     "shared",
     {"python3 (pid 77, 900.0 MiB)"}},
    {"no times and next to no memory",
     {.busy = busy, .tree_bytes = 2 * kMiB},
     Activity::not_sure,
     "busy-for-nobody",
     {}},
    {"a server that shares the card out",
     {.busy = busy, .other_percent = 96, .other_name = "nvidia-cuda-mps"},
     Activity::not_sure,
     "busy-for-nobody",
     {"only that is named"}},
    {"too little and too much",
     {.busy = quiet, .tree_percent = 3},
     Activity::not_sure,
     "hardly",
     {"3.0% of the time"}},
    {"the meter contradicts itself",
     {.busy = quiet, .tree_percent = 80},
     Activity::not_sure,
     "contradiction",
     {"contradicts itself"}},
    {"awake is not at work",
     {.busy = busy,
      .meter = "intel",
      .change =
          [](WatchRecord& r) {
            r.telemetry.gpus[0].busy_is_upper_bound = true;
            r.tree_readable = false;
          }},
     Activity::not_sure,
     "in-between",
     {"so long it was awake"}},
    {"awake, with the time of processes",
     {.busy = busy,
      .tree_percent = 60,
      .meter = "intel",
      .change = [](WatchRecord& r) { r.telemetry.gpus[0].busy_is_upper_bound = true; }},
     Activity::busy,
     "attributed",
     {}},
    {"awake, and the tree has none of it",
     {.busy = busy,
      .meter = "intel",
      .change = [](WatchRecord& r) { r.telemetry.gpus[0].busy_is_upper_bound = true; }},
     Activity::idle,
     "tree-idle",
     {"had nothing of GPU 0"}},
    {"asleep", {.asleep_until = 100}, Activity::idle, "asleep", {"asleep all the time"}},
    {"lost half way, and nothing was seen before",
     {.busy = quiet, .lost_at = 5},
     Activity::not_sure,
     "lost",
     {"after 5 s: NVML says GPU is lost"}},
    {"lost half way, after it worked",
     {.busy = busy, .tree_percent = 96, .lost_at = 5},
     Activity::busy,
     "attributed",
     {"until the GPU was lost after 5 s"}},
    {"some work of somebody, nobody knows whose",
     {.busy = [](double) { return 12.0; },
      .change =
          [](WatchRecord& r) { missing(r, {GpuFigure::process_busy, GpuFigure::process_memory}); }},
     Activity::not_sure,
     "in-between",
     {"12% busy"}},
    {"nothing is told at all",
     {.busy_told = false,
      .change =
          [](WatchRecord& r) {
            missing(r, {GpuFigure::busy, GpuFigure::process_busy, GpuFigure::process_memory});
          }},
     Activity::not_sure,
     "nothing-told",
     {"How busy GPU 0", "not told"}},
    {"too short",
     {.busy = busy,
      .length = 0.15,
      .change =
          [](WatchRecord& r) {
            r.telemetry.samples.resize(1);
            r.telemetry.processes.clear();
          }},
     Activity::not_sure,
     "nothing-told",
     {"too short a time"}},
    {"a card that no meter reads is left",
     {.busy = quiet, .change = [](WatchRecord& r) { r.unmetered = {"AMD 1002:744c"}; }},
     Activity::not_sure,
     "unmetered-gpu",
     {"no meter reads AMD 1002:744c"}},
    {"no card at all has a say when no device is open",
     {.busy = quiet,
      .change =
          [](WatchRecord& r) {
            r.unmetered = {"AMD 1002:744c"};
            r.device_nodes.clear();
          }},
     Activity::idle,
     "no-device-open",
     {}},
    {"no meter, and no device open",
     {.change =
          [](WatchRecord& r) {
            r.telemetry = {};
            r.telemetry.none_because = "no GPU meter on this machine";
            r.device_nodes.clear();
          }},
     Activity::idle,
     "no-device-open",
     {"no GPU meter on this machine", "no GPU device open"}},
    {"no meter, and a device open",
     {.change =
          [](WatchRecord& r) {
            r.telemetry = {};
            r.telemetry.none_because = "NVML: driver and library do not match";
          }},
     Activity::not_sure,
     "no-meter",
     {"driver and library do not match"}},
    {"no meter, nothing can be seen, and there is no GPU",
     {.change =
          [](WatchRecord& r) {
            r.telemetry = {};
            r.tree_readable = false;
            r.no_gpu = true;
          }},
     Activity::idle,
     "no-gpu",
     {"no GPU in this machine"}},
    {"no meter, and nothing can be seen",
     {.change =
          [](WatchRecord& r) {
            r.telemetry = {};
            r.device_nodes.clear();
            r.tree_readable = false;
          }},
     Activity::not_sure,
     "no-meter",
     {}},
};

const Case kMachineCases[] = {
    {"processes are told",
     {.busy = busy, .other_percent = 96, .has_target = false},
     Activity::busy,
     "attributed",
     {"python3 (pid 77) had 96%"}},
    {"the device's own figure",
     {.busy = busy, .has_target = false},
     Activity::busy,
     "kernels-run",
     {"97% busy at median", "names no process"}},
    {"idle", {.busy = quiet, .has_target = false}, Activity::idle, "quiet", {"1% busy"}},
    {"a frame now and then",
     {.busy = [](double t) { return t > 4 && t < 4.5 ? 30.0 : 2.0; }, .has_target = false},
     Activity::not_sure,
     "in-between",
     {"(30% at most)"}},
    {"awake is not at work",
     {.busy = busy,
      .has_target = false,
      .change = [](WatchRecord& r) { r.telemetry.gpus[0].busy_is_upper_bound = true; }},
     Activity::not_sure,
     "in-between",
     {}},
    {"lost", {.busy = busy, .lost_at = 5, .has_target = false}, Activity::not_sure, "lost", {}},
};

TEST(Watched, Targets) {
  for (const Case& c : kTargetCases) expect_judged(c);
}

TEST(Watched, WholeMachine) {
  for (const Case& c : kMachineCases) expect_judged(c);
}

TEST(Watched, EveryRuleFiresInSomeCase) {
  std::set<std::string, std::less<>> fired;
  for (const Case& c : kTargetCases) {
    for (const WatchedGpu& gpu : judge_watch(record_of(c.scene)).gpus) fired.insert(gpu.rule);
  }
  for (const WatchRule& rule : watch_rules(true)) {
    EXPECT_TRUE(fired.contains(rule.name)) << rule.name;
  }
}

TEST(Watched, NoMeterFigureMakesABurnerBusy) {
  // Whatever a card beside it does: without rows of its own a target is never BUSY.
  for (const double percent : {0.0, 4.0, 12.0, 50.0, 100.0}) {
    for (const char* meter : {"nvml", "amdgpu", "intel", "jetson", "drm"}) {
      for (const bool readable : {false, true}) {
        for (const bool nodes : {false, true}) {
          const WatchVerdict verdict = judge_watch(
              record_of({.busy = [percent](double) { return percent; },
                         .other_percent = percent > 20 ? std::optional(percent) : std::nullopt,
                         .meter = meter,
                         .change =
                             [&](WatchRecord& r) {
                               r.tree_readable = readable;
                               if (!nodes) r.device_nodes.clear();
                             }}));
          EXPECT_NE(verdict.activity, Activity::busy) << percent << meter << verdict.sentence;
        }
      }
    }
  }
}

TEST(Watched, OneBusyGpuDecidesAmongSeveral) {
  WatchRecord record = record_of({.busy = quiet, .tree_percent = 96});
  record.telemetry.gpus.push_back(record.telemetry.gpus[0]);
  record.telemetry.gpus[1].name = "second";
  for (GpuSample& sample : record.telemetry.samples) {
    sample.readings.push_back(sample.readings[0]);
    sample.readings[1].busy_percent = 95;
  }
  for (ProcessSample& sample : record.telemetry.processes) sample.use[0].device = 1;
  const WatchVerdict verdict = judge_watch(record);
  EXPECT_EQ(verdict.activity, Activity::busy);
  ASSERT_EQ(verdict.gpus.size(), 2U);
  EXPECT_EQ(verdict.gpus[0].activity, Activity::idle);
  EXPECT_TRUE(verdict.sentence.contains("GPU 1 (second)")) << verdict.sentence;
  EXPECT_FALSE(verdict.sentence.contains("GPU 0")) << verdict.sentence;
}

TEST(Watched, CpuCoresOfTheTree) {
  EXPECT_DOUBLE_EQ(judge_watch(record_of({})).cpu_cores.value_or(0), 2.0);
  EXPECT_FALSE(
      judge_watch(record_of({.change = [](WatchRecord& r) { r.cpu.resize(1); }})).cpu_cores);
}

TEST(Watched, FiguresAreOfTheWholeWatch) {
  const WatchedGpu figures =
      watched_figures(record_of({.busy = busy, .tree_percent = 96, .tree_bytes = 100 * kMiB}))[0];
  EXPECT_EQ(figures.looks, 100);
  EXPECT_EQ(figures.looks_working, 100);
  EXPECT_NEAR(figures.joules.value_or(0), 1000, 20);
  EXPECT_EQ(figures.tree.looks, 10);
  EXPECT_EQ(figures.tree.memory_peak, 100 * kMiB);
}

TEST(Watched, APidThatIsSomebodyElsesLaterIsNotOfTheTree) {
  WatchRecord record = record_of({});
  record.processes = {{kTarget, "a", true, Micros{0}, Micros{3'000'000}}};
  EXPECT_TRUE(was_in_tree(record, kTarget, Micros{1'000'000}));
  EXPECT_TRUE(was_in_tree(record, kTarget, Micros{4'900'000}));
  EXPECT_FALSE(was_in_tree(record, kTarget, Micros{6'000'000}));
  EXPECT_FALSE(was_in_tree(record, kOther, Micros{1'000'000}));
}

TEST(Watched, GpuSecondsBecomeShares) {
  Telemetry telemetry;
  for (int i = 0; i < 4; ++i) {
    GpuProcessUse use;
    use.pid = 5;
    use.gpu_seconds = i == 3 ? 0.1 : 0.5 * i;  // then a counter of another process
    telemetry.processes.push_back({Micros(i * 1'000'000), {use}});
  }
  fill_in_busy(telemetry);
  EXPECT_FALSE(telemetry.processes[0].use[0].busy_percent);
  EXPECT_DOUBLE_EQ(telemetry.processes[1].use[0].busy_percent.value_or(0), 50);
  EXPECT_DOUBLE_EQ(telemetry.processes[2].use[0].busy_percent.value_or(0), 50);
  EXPECT_FALSE(telemetry.processes[3].use[0].busy_percent);
}

}  // namespace
}  // namespace picchio
