#include "services/metrics/quota_families.h"

#include <string>

namespace cobblestone::metrics {

void AddQuotas(const std::vector<QuotaLook>& projects, Families* all) {
  auto events = all->Counter("cobblestone_project_events_total",
                             "Lines that a project has sent through this process since the process started; "
                             "project 0: lines without a project.");
  auto bytes = all->Counter("cobblestone_project_bytes_total",
                            "Bytes of these lines as envelopes, the measure of the quota bytes_per_second.");
  auto throttled = all->Counter("cobblestone_project_throttled_total",
                                "Requests that were refused because the project was beyond a quota, since "
                                "the process started.");
  auto quota = all->Gauge("cobblestone_project_quota",
                          "Quota of a project in units per second; absent without a quota.");
  for (const QuotaLook& one : projects) {
    const Labels labels{{"project", std::to_string(one.project.value)}};
    events.Add(labels, static_cast<double>(one.events));
    bytes.Add(labels, static_cast<double>(one.bytes));
    throttled.Add(labels, static_cast<double>(one.throttled));
    if (one.events_per_second > 0)
      quota.Add({labels[0], {"unit", "events"}}, static_cast<double>(one.events_per_second));
    if (one.bytes_per_second > 0)
      quota.Add({labels[0], {"unit", "bytes"}}, static_cast<double>(one.bytes_per_second));
  }
}

}  // namespace cobblestone::metrics
