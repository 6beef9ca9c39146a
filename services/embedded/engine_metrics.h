// Metrics and health of an embedded pipeline, computed from its counters on request. No work happens between
// requests. A scrape costs about a millisecond and delays a slot by some microseconds.
//
// Threads: any, one after the other.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "services/embedded/engine.h"
#include "services/metrics/families.h"
#include "services/metrics/health.h"

namespace cobblestone::embedded {

class EngineMetrics {
 public:
  // `engine` must have been opened as `watched` and must outlive this object. Counts refused records from now on.
  explicit EngineMetrics(Engine& engine);

  // Prometheus' text (services/metrics/families.h).
  [[nodiscard]] std::string Render();
  [[nodiscard]] metrics::Health health() const;

 private:
  void AddSlots(metrics::Families* all) const;
  void AddLog(metrics::Families* all) const;
  void AddAudit(metrics::Families* all) const;
  // Follows the topic `refused`, with records from stages and from ingest.
  void CountRefused();

  Engine& engine_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::uint64_t refused_next_ = 0;
  std::map<std::pair<ProjectId, wire::RefusalReason>, std::uint64_t> refused_;
};

}  // namespace cobblestone::embedded
