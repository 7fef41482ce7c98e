#include "results/vet_patterns.h"

#include <array>

namespace picchio::results {
namespace {

using enum Condition;

constexpr std::string_view kNotTalk =
    "forum|forums|thread|reddit|sub|subreddit|board|discord|site|topic|post|posts|here|about|page|"
    "github|channel|comment|comments|issue|discussion|say|says|said|read|ago|claim|claims|mention|"
    "mentions";
constexpr std::string_view kRun =
    "run|runs|running|ran|inference|infer|generation|generating|generate|loaded|load|placed|works|"
    "layers|model|everything|all|only|inferencing|weights|entirely|fully|completely|<figure>";
constexpr std::string_view kParts =
    "fan|cooler|side|socket|temp|temps|temperature|usage|upgrade|"
    "market|price|prices|box|sale|shortage|heatsink|water|block|costs|cost|has|have|had|budget";

constexpr std::array kPatterns = std::to_array<Pattern>({
    // Before everything that its words would state as well.
    {draft, "draft|speculative|drafter model|decoding|decode|decoder|speculation|tokens", "", "",
     true},
    {draft, "spec decoding|decode|dec", "", "", true},
    {draft, "-md|--model-draft|--draft|--draft-max|--draft-model|--spec-type|draft-max", "", "",
     true},
    {draft, "speculation|mtp|eagle3|medusa|lookahead|ngram on|off|enabled|disabled|decoding"},
    {draft, "with|without|no|using mtp|eagle|eagle3|medusa|draft", "", kNotTalk},
    {kv_type,
     "kv|k|v|k/v cache? quant|quantized|quantised|quantization|type|dtype|precision|at|in|as? ~ "
     "<kvtype>",
     "", "", true},
    {kv_type, "kv / <kvtype>", "", "", true},
    {kv_type,
     "-ctk|-ctv|ctk|ctv|--cache-type-k|--cache-type-v|type_k|type_v|cache_type_k|cache_type_v|"
     "ollama_kv_cache_type ~ <kvtype>",
     "", "", true},
    {kv_type, "<kvtype> / <kvtype> kv", "", "", true},
    {kv_type, "<kvtype> kv|k|v cache?", "", "", true},
    {kv_type, "<kvtype> cache", "", "", true},
    {kv_type, "cache type? ~ <kvtype>", "", "", true},
    {kv_type, "<kvtype> for the? kv|cache cache?", "", "", true},
    {kv_type, "<n> bit kv", "", "", true},
    {kv_type, "no kv cache? quant|quantization|quantisation"},
    {kv_type, "kv cache? quant|quantization|quantisation|quantized ~ off|none|no|unquantized"},
    {kv_type, "unquantized|unquantised|quantized|default kv cache|quant"},

    {model, "<gguf>"},
    {model, "<family> <size>"},
    {model, "<family> <modelword> <size>"},
    {model, "<family> <modelword> <modelword> <size>"},
    {model, "<family> <modelword> <modelword> <modelword> <size>"},
    {model, "gpt oss <size>"},
    {model, "deepseek r1|v2|v2.5|v3|v3.1|v3.2"},
    {model, "kimi k2|k2.5"},
    {model, "minimax m1|m2|m2.1"},
    {model, "glm <version>"},
    {model, "mistral small|large|medium|nemo"},
    {model, "phi <n>"},
    {model, "llama <version> scout|maverick|<size>"},
    {model, "llama <n> scout|maverick"},
    {model, "command r|a plus?"},
    {model,
     "phi2|phi3|phi4|phi3.5|qwq|devstral|codestral|magistral|mixtral|tinyllama|glm4.5|glm4.6|glm4."
     "7"},

    {quant, "<quant>", "", "results|earnings|revenue|2023|2024|2025|2026|2027"},
    {quant, "<bits> bit|bits|bpw", "",
     "computer|color|colour|os|windows|system|machine|kernel|linux|game|bus|memory"},
    {quant, "<n> bpw"},
    {quant, "awq|gptq|exl2|exl3|nf4|int4|int8|fp8|fp4|hqq|unquantized|unquantised|w4a16|w8a8"},
    {quant, "full|half precision", "", "timing|timer"},

    {engine, "<engine>"},
    {engine, "lm studio"},
    {engine, "llama cpp|server|cli|bench|completion|swap"},
    {engine, "trt|tensorrt llm"},
    {engine, "text generation webui|inference"},
    {engine, "mlc llm"},
    {engine, "hf|huggingface|face transformers"},
    {engine, "docker model runner"},

    {build, "<build>"},
    {build,
     "build|release|commit|hash|rev|revision|main|master|version|engine_version <build>|<hash>"},
    {build, "build|build_number|build_commit <large>|<hash>"},
    {build, "<engine>|studio|cpp version|ver|release|build? <dotted>"},
    {build, "<dotted> of <engine>"},

    {hardware, "<gpu> ti|super|xt|xtx|pcie|sxm|nvl? super?"},
    {hardware,
     "rtx|gtx|geforce|rx|radeon|quadro|titan|arc rtx|gtx|rx|pro? <gpunumber> "
     "ti|super|xt|xtx|gre|d|laptop|mobile|ada? super|laptop|mobile|gpu?"},
    {hardware, "rtx|quadro|pro|radeon pro? <gpuname>|w7900|w7800|w6800|6000"},
    {hardware,
     "a|an|the|my|on|single|dual|two|three|four|x|his|her|this|one|and|gpu|card|hardware|hw|old|"
     "used|our <card> ti|super|xt|xtx|gre|laptop|mobile? super?",
     "", "tokens|token|ctx|context|mb|ms|%|dollars|usd|eur"},
    {hardware, "<small> <card> ti|super|xt|xtx|gre? super?"},
    {hardware, "<small> x <card> ti|super|xt|xtx|gre? super?"},
    {hardware, "<card> ti|super|xt|xtx|gre|laptop|mobile|gpu|gpus|card|cards super|laptop|mobile?"},
    {hardware, "<card> <n> gb|gib"},
    {hardware, "<card> <figure>"},
    {hardware, "<chip> pro|max|ultra|chip|mac|macbook|air|mini"},
    {hardware, "<chip> <n> gb|gib", "", "ssd|nvme|drive"},
    {hardware, "apple|mac|macbook|mini|studio|air|pro|imac|an|a|my|the|on <chip>", "",
     "drive|ssd|nvme|slot|screw|screws|motorway"},
    {hardware, "apple silicon? <chip>"},
    {hardware,
     "ryzen|threadripper|epyc|xeon|opteron|celeron|pentium|athlon "
     "<n>|<cpumodel>|ai|gold|silver|platinum|e5|w|pro|max"},
    {hardware, "core i3|i5|i7|i9|ultra"},
    {hardware, "i3|i5|i7|i9 <cpumodel>"},
    {hardware, "strix halo|point"},
    {hardware, "ai max <n>?"},
    {hardware, "raspberry pi <n>?"},
    {hardware, "dgx spark"},
    {hardware, "jetson nano|orin|agx|xavier|thor"},
    {hardware, "steam deck"},
    {hardware, "snapdragon x|8|<n>"},

    {placement,
     "-ngl|--n-gpu-layers|--gpu-layers|ngl|n_gpu_layers|gpu_layers|num_gpu|gpulayers|--gpulayers|--"
     "n-cpu-moe|-ncmoe|--ngl ~ <n>|all|auto|max"},
    {placement, "-cmoe|--cpu-moe|-ot|--override-tensor|--cpu|n_cpu_moe"},
    {placement, "<n> / <n> layers"},
    {placement, "<n> layers", "gpu|cpu|offload|offloaded|offloading|ngl|vram", "", false,
     "has|supports"},
    {placement, "all|every|no|zero the? layers|layer",
     "gpu|cpu|offload|offloaded|offloading|vram|card|cards"},
    {placement,
     "fully|full|partially|partial|partly|half|completely|entirely gpu? "
     "offloaded|offload|offloading"},
    {placement,
     "offloaded|offload|offloading|offloads everything|all|to|it|some|half|fully|partially|layers",
     "gpu|cpu|vram|card|ram|<n>"},
    {placement, "cpu|gpu only", "", kParts},
    {placement, "cpu|gpu inference|offload|offloading"},
    {placement, "only|purely|entirely|solely|fully|completely|all on|in the|my? cpu|gpu|vram|ram",
     "", kParts},
    {placement, "pure cpu|gpu", "", kParts},
    {placement, "<n> % ~ gpu|cpu", "", "usage|util|utilization|utilisation|load|busy|used", false,
     "smi|nvtop|radeontop|afterburner|manager|htop|btop|hwinfo|monitor|top|fan"},
    {placement, "<n> % / <n> % cpu / gpu"},
    {placement, "in|into|on ~ vram",
     "fits|fit|fitting|entirely|fully|completely|whole|all|loaded|everything|model"},
    {placement, "experts ~ cpu|gpu|ram"},
    {placement, "on|with the|my? cpu|gpu <clauseend>", kRun, kParts},
    {placement, "silent cpu fallback"},
    {placement, "no gpu"},

    {prompt, "<n> token|tokens? prompt|input"},
    {prompt, "<n> tokens ~ prompt|input|in|of prompt|input", "", "output"},
    {prompt, "prompt|input ~ <n> tokens|token|tok"},
    {prompt, "prompt|input length|len|size|tokens ~ <n>"},
    {prompt, "prompt_tokens|n_prompt|prompt_n|--n-prompt|pp_size|input_len ~ <n>"},
    {prompt, "<pp>"},
    {prompt, "prompt eval time <n> ms / <n> tokens"},
    {prompt, "-p <large>"},
    {prompt, "picchio mp1"},

    {context,
     "context|ctx|n_ctx|num_ctx|ctx_size|contextsize|--contextsize|-c|--ctx-size|--max-model-len|"
     "max_model_len|ctx_len|context_length|depth|n_depth|-d|--context-length ~ <ctx>",
     "", "ways|people|users|years|models|posts"},
    {context, "<ctx> tokens? ~ ctx|context|window|deep|depth"},
    {context, "<depth>"},

    {batch,
     "-b|-ub|--batch-size|--ubatch-size|n_batch|n_ubatch|ubatch|ubatch_size|batch_size|num_batch|--"
     "batch|--ubatch ~ <n>"},
    {batch, "batch|ubatch|microbatch|blasbatchsize|--blasbatchsize size|sizes? ~ <n>", "",
     "gpus|cards|posts|people|users|questions"},
    {batch, "<n> batch|ubatch size"},

    {flash_attention,
     "with|without|no|using|use|uses|used|enable|enabled|enabling|disable|disabled|disabling|"
     "turned|plus|has|have|on|off|both the? flash attention|attn|attn2|attention2|attn3"},
    {flash_attention,
     "flash attention|attn|attn2|attention2|attn3 is|was|are|=? "
     "turned|switched|set|already|not|to? "
     "~ on|off|enabled|disabled|auto|active|activated|<n>|true|false|yes|no|default|used"},
    {flash_attention, "<begin> and|plus? flash attention|attn <end>"},
    {flash_attention, "and|plus flash attention|attn <end>"},
    {flash_attention,
     "with|without|no|using|use|uses|used|enabled|disabled|plus flashattention|flashattn"},
    {flash_attention,
     "flashattention|flashattn ~ on|off|enabled|disabled|auto|active|<n>|true|false|yes|no"},
    {flash_attention, "<begin> flashattention|flashattn <end>"},
    {flash_attention,
     "flash_attn|flash_attention|ollama_flash_attention|--flash-attn|-fa|--flashattention|fa2|fa3|"
     "flashinfer"},
    {flash_attention, "fa on|off|enabled|disabled|auto|<n>"},
    {flash_attention, "fa is|was|= on|off|enabled|disabled|auto|<n>"},
    {flash_attention, "with|without|no|using fa"},

    {threads, "<small> cpu? threads", "", kNotTalk},
    {threads, "-t|--threads|n_threads|num_thread|num_threads|threads|--n-threads <small>", "",
     "posts|replies|people|comments|gpus|cards"},
    {threads, "threads|thread count|is|to|of|set|were|was to? <small>", "",
     "posts|replies|people|comments"},
    {threads, "<n> / <n> threads"},

    {lane, "prefill|prefilling|prefills|decode|decoding|decodes", "",
     "video|jpeg|base64|string|message"},
    {lane, "prompt processing|eval|evaluation|ingestion|speed|tps"},
    {lane, "token|text|tok generation|gen", "", "webui"},
    {lane, "eval rate|time|tps"},
    {lane, "pp|tg|pp/tg", "<figure>"},
    {lane, "<pp>"},
    {lane, "<tg>"},
    {lane, "generation|gen|generating|output speed|rate|throughput|tps|<figure>"},
    {lane, "generation|generating|output|generate|generates", "<figure>"},
    {lane, "<figure> generation|gen|generated|output|decode|prefill|prompt"},

    {warmth,
     "cold|warm "
     "start|started|run|runs|pass|passes|boot|cache|cached|load|loaded|mid|median|span|model"},
    {warmth, "warmup|prewarmed|warmed|warming up?",
     "run|runs|model|cache|<figure>|after|first|discarded|excluded|up|passes|pass"},
    {warmth, "warm up", "run|runs|model|after|first|pass|passes|<figure>|excluded|discarded"},
    {warmth, "first|second|third|1st|2nd|3rd run|pass|prompt|message|request",
     "after|load|loading|loaded|cold|warm|<figure>|discarded|excluded"},
    {warmth, "model already|was|is? already? loaded|warm|hot",
     "already|<figure>|measured|measurement|timed"},
    {warmth, "after ~ load|loading|reload|reloading|reboot|warmup",
     "model|<figure>|run|first|fresh"},
    {warmth, "fresh load|start|reboot|boot"},

    {spread, "<n> runs|passes|repetitions|reps|trials|repeats|iterations|measurements", "",
     "scored|baseball|ms"},
    {spread, "two|three|four|five|ten|several runs|repetitions|trials"},
    {spread, "two|three|four|five|ten|several passes",
     "<figure>|average|averaged|avg|mean|median|best|over|across|warm|cold|measured|bench|"
     "benchmark|"
     "same|prompt|each|first"},
    {spread,
     "average|averaged|avg|mean|median|best ~ <n> "
     "runs|passes|times|tries|repetitions|trials|prompts"},
    {spread,
     "average|averaged|avg|mean|median|best of|over|across two|three|four|five|ten|several|many"},
    {spread, "+/- <n>"},
    {spread, "std|stdev|stddev|stdeviation|variance|sigma <n>", "<figure>|run|runs|tok"},
    {spread, "standard deviation"},
    {spread, "-r|--repetitions|n_runs|repetitions <n>"},
    {spread, "single run|pass"},
    {spread, "measured|ran|tested|timed only? once"},
    {spread, "only|just one|a|1 run|pass"},

    {power_limit,
     "power|tdp|watt|wattage limit|limited|limits|cap|capped|target|mode|limiting ~ <n>"},
    {power_limit, "power limit|cap ~ stock|default|off|none|removed|unchanged|factory|maximum"},
    {power_limit,
     "no|without|default|stock|maximum|factory|unchanged|a|any|set|use power limit|cap|capping "
     "<end>"},
    {power_limit, "no|without|default|stock|factory power limit|limits|cap|capping"},
    {power_limit,
     "don't|dont|didn't|didnt|haven't|never|not set|use|have|touch|change|apply|touched|changed "
     "a|any|"
     "the? power limit|cap"},
    {power_limit, "limited|capped|cap|limit|limiting|locked ~ <n> w|watt|watts"},
    {power_limit, "<n> w|watt|watts power? limit|limited|cap|capped|tdp|target|mode"},
    {power_limit, "pl <n> w|watt|watts|%"},
    {power_limit, "undervolt|undervolted|undervolting|underclocked|overclocked",
     "gpu|card|power|clocks|volt|<card>|<gpu>|undervolted|mv|w"},
    {power_limit, "tdp ~ <n>"},
    {power_limit, "stock|default power|clocks|tdp"},
    {power_limit, "-pl|--power-limit <n>"},
    {power_limit, "low|high|balanced|performance power|performance mode", "",
     "of|nas|router|phone|fan|tv|car|camera|monitor|mouse|server"},
    {power_limit,
     "low|high|balanced|performance power|performance mode of my|the "
     "gpu|card|laptop|pc|machine|mac|"
     "macbook|cpu"},

    {system,
     "ubuntu|debian|fedora|nixos|manjaro|opensuse|archlinux|rhel|centos|popos|cachyos|macos|linux|"
     "wsl|wsl2|freebsd|proxmox|unraid|truenas",
     "", "foundation"},
    {system, "windows|win <osversion>"},
    {system, "<winword>"},
    {system, "on|under|using|with|in windows", "", "open|of|media"},
    {system, "mac os"},
    {system, "arch|mint|rocky|alma linux"},
    {system,
     "driver|drivers|nvidia|mesa|adrenalin|cuda|rocm|kernel|vulkan version|driver|drivers? ~ "
     "<dotted>"},
    {system, "cuda|rocm|driver|drivers|kernel|oneapi|level_zero ~ <n>", "",
     "cores|gpus|cards|devices|error|errors|layers|kernels"},
    {system, "<driverword>"},

    {sampling, "temp|temperature|--temp ~ <temp>", "", "c|celsius|degrees|degree|f|fahrenheit|deg"},
    {sampling, "top k|p ~ <n>"},
    {sampling, "min p ~ <n>"},
    {sampling,
     "top_k|top_p|min_p|topk|topp|minp|--top-k|--top-p|--min-p|repeat_penalty|--seed|seed ~ <n>"},
    {sampling, "greedy|deterministic decoding|sampling|sampler|decode"},
    {sampling,
     "default|standard|recommended sampling|sampler|samplers settings|parameters|params?"},
});

// The condition is the one that they do not state.
constexpr std::array kDecoys = std::to_array<Pattern>({
    {threads, "<n> cores|core|c and|with|or|/|plus? <n> threads|t"},
    {threads, "a|my|the|this|its cpu|processor|chip with|has|have <n> threads"},
    {threads, "has|supports ~ <n> threads"},
    {placement, "has|have|having <n> layers", "", "on|gpu|offloaded|in|cpu|to"},
    {placement, "<n> layers on paper"},
    {placement, "the|my|this|our|their|old|new cpu|gpu only"},
    {placement,
     "cpu|gpu only "
     "gives|gets|does|reaches|has|uses|shows|makes|goes|sits|hits|works|manages|draws|supports|"
     "achieves|delivers|needs"},
    {spread,
     "gpt|claude|gemini|grok|<family>|version|pi|windows|python|gen|chapter|part|step|opus|sonnet "
     "<n> runs"},
    {spread, "<large> runs"},
    {context, "context|ctx of|window|length? ~ model|family|card"},
});

}  // namespace

std::span<const Pattern> patterns() { return kPatterns; }
std::span<const Pattern> decoys() { return kDecoys; }

}  // namespace picchio::results
