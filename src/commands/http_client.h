// The client that speaks to servers in this program's name.
#pragma once

#include "base/result.h"
#include "os/http.h"
#include "os/signals.h"

namespace picchio {

[[nodiscard]] Result<os::HttpClient> open_http_client(const os::Interrupts& interrupts);

}  // namespace picchio
