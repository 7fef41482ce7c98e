#include "verdict/causes/test_cases.h"

namespace picchio::test {

namespace {

MeasuredRun& with_card(MeasuredRun& run) {
  MeteredGpu gpu;
  gpu.name = "NVIDIA GeForce RTX 4070";
  gpu.link_max = PcieLink{4, 16};
  run.raw.telemetry.gpus = {gpu};
  GpuUse use;
  use.in_use = true;
  run.gpu_use = {use};
  return run;
}

void at_work_on(MeasuredRun& run, PcieLink link) {
  with_card(run);
  GpuReading idle;
  idle.link = PcieLink{1, 1};
  GpuReading busy;
  busy.link = link;
  run.raw.telemetry.samples = {{Micros(0), {idle}}, {Micros(1'000'000), {busy}}};
}

}  // namespace

std::vector<Case> speed_cases() {
  using Run = MeasuredRun;
  const auto plain = [](std::function<void(Run&)> change) { return change; };
  return {
      {"heat",
       "gpu_throttled",
       full_cuda(),
       true,
       {},
       {},
       [](Run& r) { with_card(r).gpu_use[0].throttled_share = 0.4; }},
      {"a moment of heat",
       "none",
       full_cuda(),
       true,
       {},
       {},
       [](Run& r) { with_card(r).gpu_use[0].throttled_share = 0.2; }},
      {"power",
       "power_limited",
       full_cuda(),
       true,
       {},
       {},
       [](Run& r) { with_card(r).gpu_use[0].power_capped_share = 0.95; }},
      {"memory pushed out",
       "vram_overcommit",
       full_cuda(),
       true,
       {},
       {},
       [](Run& r) { with_card(r).gpu_use[0].tree_evicted = mib(900); }},
      {"narrow link beside experts on the host",
       "pcie_link_low",
       partial(),
       true,
       {},
       {},
       [](Run& r) { at_work_on(r, {4, 4}); }},
      {"a link that only sleeps",
       "none",
       partial(),
       true,
       {},
       {},
       [](Run& r) { at_work_on(r, {4, 16}); }},
      {"a narrow link that nothing crosses",
       "none",
       full_cuda(),
       true,
       {},
       {},
       [](Run& r) { at_work_on(r, {4, 4}); }},
      {"more weights than RAM", "model_larger_than_ram", partial(), true, {}, {}, plain([](Run& r) {
         r.raw.machine.ram_bytes = mib(1024);
       })},
      {"one module", "ram_single_channel", partial(), true, {}, {}, plain([](Run& r) {
         r.raw.machine.memory_modules = MemoryModules{4, 1};
       })},
      {"one module in the only slot", "none", partial(), true, {}, {}, plain([](Run& r) {
         r.raw.machine.memory_modules = MemoryModules{1, 1};
       })},
      {"one module, and nothing on the host", "none", full_cuda(), true, {}, {}, plain([](Run& r) {
         r.raw.machine.memory_modules = MemoryModules{4, 1};
       })},
      {"threads",
       "too_many_threads",
       change(partial(), [](EngineLog& l) { l.threads = 64; }),
       true,
       {},
       {},
       plain([](Run& r) { r.raw.machine.logical_cores = 8; })},
  };
}

}  // namespace picchio::test
