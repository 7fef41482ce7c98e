#include "verdict/account.h"
#include "verdict/causes/test_cases.h"

namespace picchio::test {

std::vector<Case> memory_cases() {
  const auto fit = [](int layers, int overflow) {
    FitFacts facts;
    facts.rows = {{"CUDA0", layers, overflow, 0, 0}};
    facts.reduce_by_mib = 4926;
    return facts;
  };
  return {
      {"overflow", "fit_overflow_to_host",
       change(full_cuda(), [&](EngineLog& l) { l.fit = fit(41, 5); })},
      {"expert lines", "moe_experts_on_cpu",
       change(experts_on_host(),
              [](EngineLog& l) {
                l.loads.back().overrides = {{"blk.1.ffn_up_exps.weight", "CPU", 1}};
              })},
      {"other lines", "tensor_override_to_host",
       change(experts_on_host(),
              [](EngineLog& l) {
                l.loads.back().overrides = {{"blk.1.ffn_up.weight", "CUDA_Host", 1}};
              })},
      {"few layers, and nothing tells who chose them", "none", partial()},
      {"one layer", "ngl_too_low",
       log_of({weights("CPU", 4500), weights("CUDA0", 140), kv("CUDA0", 9)}, 1, 33)},
      {"LocalAI's YAML", "ngl_too_low",
       change(partial(), [](EngineLog& l) { l.engine = "LocalAI"; })},
      {"fit", "vram_too_small", change(partial(), [&](EngineLog& l) { l.fit = fit(22, 0); })},
      {"the engine chooses", "vram_too_small", none_of_ollama()},
      {"the card is full", "vram_too_small",
       change(partial(30),
              [](EngineLog& l) {
                l.devices.push_back(device("CUDA0", "a card"));
                l.devices.back().free_bytes = mib(3300);
              })},
      {"the card is half empty", "ngl_too_low",
       change(partial(30),
              [](EngineLog& l) {
                l.devices.push_back(device("CUDA0", "a card"));
                l.devices.back().free_bytes = mib(9000);
              })},
      {"no room, says the plan", "vram_too_small",
       plus(cpu_log(), Kind::allocation_failed, "insufficient VRAM to load any model layers",
            "plan")},
      {"none selected", "device_none",
       change(cpu_with_card(), [](EngineLog& l) { l.loads.back().claim = LayerClaim{41, 41, 1}; })},
      {"nobody asked", "ngl_not_set", cpu_with_card()},
      {"cache lines", "kv_cache_on_host", cache_on_host()},
      {"attention", "flash_attn_unsupported_kv_type", odd_kv()},
      {"attention switched off", "flash_attn_auto_off",
       plus(full_cuda(), Kind::flash_attention_off, "Flash Attention was auto, set to disabled")},
      {"common types bounce for another reason", "none",
       change(odd_kv(),
              [](EngineLog& l) { l.loads.back().kv_type_k = l.loads.back().kv_type_v = "f16"; })},
      {"kept on the host", "moe_experts_on_cpu", experts_on_host()},
      {"tied head",
       "output_head_on_host",
       tied_head_on_host(),
       true,
       {},
       {},
       [](MeasuredRun& r) {
         r.raw.model = header(true);
         r.placement = placement_of(r.passes[0].log, &*r.raw.model);
       }},
      {"a dense model has no experts to blame",
       "none",
       log_of({weights("CPU_Mapped", 450), weights("CUDA0", 460), kv("CUDA0", 9)}, 9, 9),
       true,
       {},
       {},
       [](MeasuredRun& r) {
         r.raw.model = header();
         r.placement = placement_of(r.passes[0].log, &*r.raw.model);
       }},
      {"no kernels for the type", "backend_type_unsupported",
       log_of({weights("CPU", 15622), weights("CANN0", 1.18), kv("CANN0", 1152)}, 37, 37)},
      {"draft", "draft_model_on_cpu", with_side_model(LoadRole::draft)},
      {"projector", "mmproj_on_cpu", with_side_model(LoadRole::projector)},
      {"overbooked", "vram_overcommit",
       change(full_cuda(), [](EngineLog& l) { l.devices[0].free_bytes = mib(8192); })},
      {"overbooked row", "vram_overcommit",
       change(full_cuda(),
              [](EngineLog& l) {
                MemoryRow row;
                row.name = "CUDA0";
                row.free_mib = -831;
                l.loads.back().breakdown = {row};
              })},
      {"rows split over two cards", "none",
       change(
           log_of({weights("CPU", 417), weights("CUDA0_Split", 18503), kv("CUDA0", 2048)}, 65, 65),
           [](EngineLog& l) {
             l.loads.back().buffers[1].device = "CUDA0";
             for (const char* name : {"CUDA0", "CUDA1"}) {
               l.devices.push_back(device(name, "Quadro"));
               l.devices.back().free_bytes = mib(15902);
             }
           })},
      {"silence", "log_lacks_evidence", EngineLog{}},
      {"remote", "log_lacks_evidence", log_of({weights("RPC0", 2700)}, 29, 29)},
      {"remote beside a card of this machine", "none",
       log_of({weights("CUDA0", 1008), weights("RPC0", 965)}, 23, 23)},
      {"full", "none", full_cuda()},
  };
}

}  // namespace picchio::test
