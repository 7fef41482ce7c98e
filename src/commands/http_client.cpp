#include "commands/http_client.h"

#include "version.h"

#include <fmt/format.h>

namespace picchio {

Result<os::HttpClient> open_http_client(const os::Interrupts& interrupts) {
  return os::HttpClient::open({fmt::format("picchio/{}", kVersion), {}}, &interrupts);
}

}  // namespace picchio
