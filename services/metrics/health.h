// How a process is doing, in one word.
#pragma once

#include <string>
#include <vector>

namespace cobblestone::metrics {

enum class HealthState { kOk, kDegraded, kFailed };

// Sentences for people that name no account and no secret: who asks need not prove who he is.
struct Health {
  HealthState state = HealthState::kOk;
  std::vector<std::string> problems{};
};

// {"status": "ok" | "degraded" | "failed", "problems": [...]}, a line.
std::string HealthJson(const Health& health);
// 503 where it has failed.
inline int HttpStatusOf(const Health& health) { return health.state == HealthState::kFailed ? 503 : 200; }

}  // namespace cobblestone::metrics
