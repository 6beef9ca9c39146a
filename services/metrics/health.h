// Health of a process, in one word.
#pragma once

#include <string>
#include <vector>

namespace cobblestone::metrics {

enum class HealthState { kOk, kDegraded, kFailed };

// `problems`: sentences for people, without accounts and secrets, because the endpoint requires no authentication.
struct Health {
  HealthState state = HealthState::kOk;
  std::vector<std::string> problems{};
};

// {"status": "ok" | "degraded" | "failed", "problems": [...]}, on one line.
std::string HealthJson(const Health& health);
// 503 if the process has failed.
inline int HttpStatusOf(const Health& health) { return health.state == HealthState::kFailed ? 503 : 200; }

}  // namespace cobblestone::metrics
