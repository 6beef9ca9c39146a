// Metrics and health of an embedded pipeline, computed from its counters on request. No work happens between
// requests. A scrape costs about a millisecond and delays a slot by some microseconds.
//
// Threads: any, one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "services/embedded/engine.h"
#include "services/metrics/families.h"
#include "services/metrics/health.h"
#include "services/metrics/hub_families.h"

namespace cobblestone::embedded {

class EngineMetrics {
 public:
  // `engine` must have been opened as `watched` and must outlive this object. Counts refused records from now on.
  explicit EngineMetrics(Engine& engine);

  // Prometheus' text (services/metrics/families.h).
  [[nodiscard]] std::string Render();
  [[nodiscard]] metrics::Health health() const;
  // From now on renders what `look` returns, too; empty: no more.
  void SetHub(std::function<metrics::HubLook()> look);
  void SetHubPush(std::function<std::vector<metrics::HubPushLook>()> look);

 private:
  void AddSlots(metrics::Families* all) const;
  void AddLog(metrics::Families* all) const;
  void AddAudit(metrics::Families* all) const;
  // Follows the topic `refused`, with records from stages and from ingest.
  void CountRefused();

  Engine& engine_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::function<metrics::HubLook()> hub_;
  std::function<std::vector<metrics::HubPushLook>()> hub_push_;
  std::uint64_t refused_next_ = 0;
  std::map<std::pair<ProjectId, wire::RefusalReason>, std::uint64_t> refused_;
};

}  // namespace cobblestone::embedded
