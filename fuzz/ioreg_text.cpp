// Any bytes must read as ioreg's text: no crash, bounded lists, and figures in range.
#include "meters/apple/ioreg_text.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace apple = picchio::meters::apple;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const apple::IoregLook look = apple::parse_ioreg(text);
  if (look.accelerators.size() != look.statistics.size()) std::abort();
  if (look.accelerators.size() > 64 || look.clients.size() > 65536) std::abort();
  for (const apple::Accelerator& gpu : look.accelerators) {
    if (gpu.io_class.size() > 256 || gpu.model.size() > 256) std::abort();
    if (gpu.cores && *gpu.cores <= 0) std::abort();
  }
  for (const apple::Statistics& told : look.statistics) {
    if (told.busy_percent && !(*told.busy_percent >= 0 && *told.busy_percent <= 100)) std::abort();
    if (told.memory_bytes && *told.memory_bytes < 0) std::abort();
  }
  for (const apple::Client& client : look.clients) {
    const int gpus = static_cast<int>(look.accelerators.size());
    if (client.pid <= 0 || client.device < -1 || client.device >= gpus) std::abort();
    if (client.gpu_ns && *client.gpu_ns < 0) std::abort();
  }
  return 0;
}
