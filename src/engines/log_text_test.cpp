#include "engines/log_text.h"

#include "engines/log_devices.h"
#include "engines/log_markers.h"
#include "engines/log_rules.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace picchio {
namespace {

constexpr std::string_view kLine = "load_tensors: offloaded 33/33 layers to GPU";

TEST(LogText, EveryWrapperIsStripped) {
  struct Case {
    const char* name;
    std::string prefix;
    char level = 0;
  };
  const Case cases[] = {
      {"nothing", ""},
      {"engine clock", "0.00.061.339 I ", 'I'},
      {"engine clock, hours on", "312.59.061.339 W ", 'W'},
      {"level without a clock", "I ", 'I'},
      {"fork's wall clock", "2025-11-15 14:23:35.060 E ", 'E'},
      {"llama-box", "[2025-07-21 10:37:49.269985] I ", 'I'},
      {"router child", "[33781] 0.00.030.118 D ", 'D'},
      {"router child in docker", "[llama-cpp] 2026-05-31T16:40:59.794145305Z [33781] "},
      {"kubernetes", "2026-05-31T16:40:59.782975459Z "},
      {"docker compose", "ollama-1  | "},
      {"journald", "Sep 05 09:20:35 host ollama[1391]: "},
      {"journald, Chinese", "2\xE6\x9C\x88 02 19:28:37 host ollama[20609]: "},
      {"journald, Portuguese", "fev 17 10:02:11 host llama-server[174008]: "},
      {"journald, snap", "mai 17 10:02:11 host ollama.listener[1163]: "},
      {"journald iso", "2025-11-25T10:02:11+0100 host ollama[1]: "},
      {"cortex", "2024-10-11T12:45:53.660Z [CORTEX]::Error: "},
      {"Jan", "[2025-10-11][12:00:00][INFO][app_lib] [llamacpp] "},
      {"LocalAI", "5:52PM DBG GRPC(model.gguf-127.0.0.1:33445): stderr "},
      {"early ollama", "2023/11/27 16:54:54 llama.go:430: "},
      {"quoted in an issue", "> "},
      {"progress dots", ".............................."},
      {"indented", "    "},
  };
  for (const Case& c : cases) {
    const std::string line = c.prefix + std::string(kLine) + "  ";
    const StrippedLine stripped = strip_wrappers(line);
    EXPECT_EQ(stripped.text, kLine) << c.name;
    EXPECT_EQ(stripped.level, c.level) << c.name;
  }
}

TEST(LogText, WhatOnlyLooksLikeAWrapperStays) {
  for (const std::string_view line :
       {"|   - Host               |                  304 =   281 |",
        "llama_context: n_ctx = [4096]", "| 0| [level_zero:gpu:0]| Arc|", "...", "[no end", "x",
        "main: build = 3618 (3ba780e2)", "2023/11/27 without a clock", "0.1.2.3 I think"}) {
    EXPECT_EQ(strip_wrappers(line).text, line);
  }
  EXPECT_EQ(strip_wrappers("").text, "");
}

TEST(LogText, Utf16OfPowerShell) {
  const std::string little(
      "\xFF\xFE"
      "a\0b\0\n\0",
      8);
  EXPECT_EQ(utf8_of_utf16(little), "ab\n");
  const std::string big(
      "\xFE\xFF"
      "\0a\0b\x20\xAC",
      8);
  EXPECT_EQ(utf8_of_utf16(big), "ab\xE2\x82\xAC");
  std::string bare;
  for (const char c : std::string_view("load_tensors: x")) {
    bare += c;
    bare += '\0';
  }
  EXPECT_EQ(utf8_of_utf16(bare), "load_tensors: x");
  EXPECT_EQ(utf8_of_utf16("plain text, no zeros at all"), std::nullopt);
  EXPECT_EQ(utf8_of_utf16(""), std::nullopt);
  EXPECT_EQ(utf8_of_utf16(std::string("\xFF\xFE"
                                      "\x3D\xD8\x00\xDE",
                                      6)),
            "\xF0\x9F\x98\x80");
}

TEST(LogText, JsonAndSlogFields) {
  const std::string_view json = R"({"level":"INFO","line": 12,"msg":"a \"b\"\nc\u00e9"})";
  EXPECT_EQ(json_string(json, "msg"), "a \"b\"\nc\xC3\xA9");
  EXPECT_EQ(json_number(json, "line"), "12");
  EXPECT_EQ(json_string(json, "line"), std::nullopt);
  EXPECT_EQ(json_string(R"({"msg":"cut)", "msg"), "cut");
  EXPECT_EQ(json_string("{}", "msg"), std::nullopt);

  const std::string_view slog =
      R"(time=2025-10-20T17:38:56Z level=INFO source=s.go:1 msg="loading model" "model layers"=25 cmd="a --x=1 \"q\"" requested=-1)";
  EXPECT_EQ(slog_value(slog, "model layers"), "25");
  EXPECT_EQ(slog_value(slog, "requested"), "-1");
  EXPECT_EQ(slog_value(slog, "cmd"), "a --x=1 \"q\"");
  EXPECT_EQ(slog_value(slog, "--x"), std::nullopt) << "inside a quoted value";
  EXPECT_EQ(slog_value("msg=\"never closed", "msg"), "never closed");
  EXPECT_EQ(readable(slog), R"(loading model model layers=25 cmd="a --x=1 \"q\"" requested=-1)");
  EXPECT_EQ(readable("cuInit err: 999"), "cuInit err: 999");
}

TEST(LogText, Entities) {
  EXPECT_EQ(without_entities("a &lt;b&gt; &amp;c &quot;d&quot; &e; &"), "a <b> &c \"d\" &e; &");
}

TEST(LogMarkers, EveryMarkerOnceInTheOrderGiven) {
  const std::string_view markers[] = {"he", "she", "hers", "his", "e"};
  const MarkerIndex index(markers);
  std::vector<MarkerIndex::Hit> hits;
  index.find("ushers she", hits);
  ASSERT_EQ(hits.size(), 4U);
  EXPECT_EQ(hits[0].marker, 0U);
  EXPECT_EQ(hits[0].end, 4U);
  EXPECT_EQ(hits[1].marker, 1U);
  EXPECT_EQ(hits[2].marker, 2U);
  EXPECT_EQ(hits[2].end, 6U);
  EXPECT_EQ(hits[3].marker, 4U);
  index.find("nothing of it, mostly", hits);
  EXPECT_TRUE(hits.empty());
  index.find("", hits);
  EXPECT_TRUE(hits.empty());
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): a flat table under gtest's macros
TEST(LogMarkers, NoMarkerTwiceAndNoneWithoutAReader) {
  std::vector<std::string_view> markers;
  for (const auto table : {unwrapping_rules(), ollama_rules(), front_end_rules(), fit_rules(),
                           load_rules(), early_load_rules(), context_rules(), device_rules(),
                           bench_rules(), timing_rules(), event_rules()}) {
    for (const LineRule& rule : table) {
      EXPECT_NE(rule.read, nullptr) << rule.marker;
      EXPECT_EQ(std::ranges::find(markers, rule.marker), markers.end()) << rule.marker;
      markers.push_back(rule.marker);
    }
  }
  const MarkerIndex index(markers);
  std::vector<MarkerIndex::Hit> hits;
  for (std::size_t i = 0; i < markers.size(); ++i) {
    index.find(markers[i], hits);
    const bool found = std::ranges::any_of(
        hits, [&](const auto& h) { return h.marker == i && h.end == markers[i].size(); });
    EXPECT_TRUE(found) << markers[i];
  }
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): a flat table under gtest's macros
TEST(LogDevices, BufferNamesTellTheMemory) {
  struct Case {
    const char* buffer;
    const char* device;
    DeviceKind kind;
    bool repacked = false;
    bool mapped = false;
  };
  using enum DeviceKind;
  for (const Case& c : {
           Case{"CPU", "CPU", host},
           Case{"CPU_Mapped", "CPU", host, false, true},
           Case{"CPU_REPACK", "CPU", host, true},
           Case{"CPU_AARCH64", "CPU", host, true},
           Case{"CPU_KLEIDIAI", "CPU", host, true},
           Case{"AMX", "CPU", host, true},
           Case{"BLAS", "CPU", host},
           Case{"CUDA_Host", "CPU", host},
           Case{"ROCm_Host", "CPU", host},
           Case{"Vulkan_Host", "CPU", host},
           Case{"CANN_Host", "CPU", host},
           Case{"CUDA0", "CUDA0", hardware_gpu},
           Case{"CUDA0_Split", "CUDA0", hardware_gpu},
           Case{"CUDA_Split", "CUDA0", hardware_gpu},
           Case{"ROCm1_Split", "ROCm1", hardware_gpu},
           Case{"MTL0_Mapped", "MTL0", hardware_gpu, false, true},
           Case{"MTL0_Private", "MTL0", hardware_gpu},
           Case{"Metal", "Metal", hardware_gpu},
           Case{"Metal_Mapped", "Metal", hardware_gpu, false, true},
           Case{"Metal_Private", "Metal", hardware_gpu},
           Case{"OpenCL", "GPUOpenCL", hardware_gpu},
           Case{"HTP0", "HTP0", hardware_gpu},
           Case{"HTP0-REPACK", "HTP0", hardware_gpu},
           Case{"Kompute0", "Kompute0", hardware_gpu},
           Case{"MUSA0", "MUSA0", hardware_gpu},
           Case{"CANN0", "CANN0", hardware_gpu},
           Case{"RPC", "RPC", remote},
           Case{"RPC[192.0.2.1:50052]", "RPC[192.0.2.1:50052]", remote},
           Case{"RPC0[127.0.0.1:50052]", "RPC0[127.0.0.1:50052]", remote},
       }) {
    const BufferPlace place = place_of_buffer(c.buffer);
    EXPECT_EQ(place.device, c.device) << c.buffer;
    EXPECT_EQ(place.kind, c.kind) << c.buffer;
    EXPECT_EQ(place.repacked, c.repacked) << c.buffer;
    EXPECT_EQ(place.mapped, c.mapped) << c.buffer;
  }
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): a flat table under gtest's macros
TEST(LogDevices, SoftwareIsToldFromHardware) {
  struct Case {
    const char* device;
    const char* description;
    bool software;
  };
  for (const Case& c : {
           Case{"Vulkan0", "llvmpipe (LLVM 22.1.8, 256 bits)", true},
           Case{"Vulkan0", "SwiftShader Device (LLVM 10.0.0)", true},
           Case{"Vulkan0", "Microsoft Basic Render Driver", true},
           Case{"Vulkan0", "AMD Ryzen 7 5700G with Radeon Graphics (RADV RENOIR)", false},
           Case{"Vulkan0", "Intel(R) Xeon(R) iGPU", false},
           Case{"SYCL0", "Intel(R) Arc(TM) A770 Graphics", false},
           Case{"SYCL0", "Intel(R) Core(TM) i5-13600K", true},
           Case{"SYCL1", "Intel(R) FPGA Emulation Device", true},
           Case{"GPUOpenCL", "cpu-haswell-AMD EPYC", true},
           Case{"GPUOpenCL", "QUALCOMM Adreno(TM) 750", false},
           Case{"CUDA0", "NVIDIA GeForce RTX 4090", false},
           Case{"CUDA0", "", false},
       }) {
    EXPECT_EQ(!software_words(c.device, c.description).empty(), c.software) << c.description;
  }
  EXPECT_EQ(backend_of_library("libggml-cuda.so"), "CUDA");
  EXPECT_EQ(backend_of_library("ggml-hip.dll"), "ROCm");
  EXPECT_EQ(backend_of_library("cuda_v12_avx"), "CUDA");
  EXPECT_EQ(backend_of_library("libggml-cpu-haswell.so"), "CPU");
  EXPECT_EQ(backend_of_library("libfoo.so"), "");
}

}  // namespace
}  // namespace picchio
