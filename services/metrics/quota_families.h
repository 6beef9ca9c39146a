// Metrics of what projects send through a process, and of their quotas.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/ids.h"
#include "services/metrics/families.h"

namespace cobblestone::metrics {

struct QuotaLook {
  ProjectId project;
  // Since the process started.
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::uint64_t throttled = 0;  // refused requests
  // 0: no quota.
  std::uint64_t events_per_second = 0;
  std::uint64_t bytes_per_second = 0;
};

void AddQuotas(const std::vector<QuotaLook>& projects, Families* all);

}  // namespace cobblestone::metrics
