// One HTTP GET with limits on time and size. TLS certificates are always checked.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>

#include "common/base/status.h"

namespace cobblestone::factors {

struct FetchLimits {
  std::chrono::milliseconds connect = std::chrono::seconds(10);
  std::chrono::milliseconds whole = std::chrono::seconds(30);
  std::size_t bytes = 4u << 20;  // of the body, after decompression
};

// The body of an answer with status 200; redirects are not followed. kRetry: every other outcome, with the reason.
// `ca_file`: PEM; empty: the system's authorities. `stop`: ends the transfer within about a second once it is true.
Result<std::string> Fetch(const std::string& url, const std::string& ca_file, const FetchLimits& limits,
                          const std::atomic<bool>& stop);

}  // namespace cobblestone::factors
