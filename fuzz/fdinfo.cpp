// Any bytes must read as a process's fdinfo: no crash, bounded names, and accounts of time and
// memory that stay in range and never step back.
#include "meters/drm/clients.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

namespace drm = picchio::meters::drm;

void look(drm::ClientBook& book, picchio::Micros at, std::string_view text) {
  const auto client = drm::parse_fdinfo(text);
  if (!client) return;
  if (client->driver.empty() || client->engines.size() > 64 || client->regions.size() > 64) {
    std::abort();
  }
  const drm::Sighting sighting{.pid = 1, .device = 0, .unified = true, .client = *client};
  book.look(at, {&sighting, 1});
}

}  // namespace

// The text is looked at in two halves, as two looks at one client.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const int pids[] = {1};
  drm::ClientBook book;
  double seconds = 0;
  std::int64_t at = 0;
  for (const std::string_view part :
       {text, text.substr(0, size / 2), text.substr(size / 2), text}) {
    look(book, picchio::Micros(at += 100'000), part);
    double now = 0;
    for (const auto& use : book.use(pids)) {
      if (use.busy_percent && !(*use.busy_percent >= 0 && *use.busy_percent <= 100)) std::abort();
      if (use.memory_bytes && *use.memory_bytes < 0) std::abort();
      if (use.evicted_bytes && *use.evicted_bytes < 0) std::abort();
      now += use.gpu_seconds.value_or(0);
    }
    if (!(now >= seconds)) std::abort();
    seconds = now;
  }
  return 0;
}
