// The metrics and the health of a pipeline on one machine, gathered from its counters when somebody asks. Nothing runs
// meanwhile: a scrape costs about a millisecond, and holds up a slot for some microseconds.
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

namespace cobblestone {

class EngineMetrics {
 public:
  // Of an engine that was opened as `watched`; it must outlive this. Refusals are counted from now on.
  explicit EngineMetrics(Engine& engine);

  // Prometheus' text (services/metrics/families.h).
  [[nodiscard]] std::string Render();
  [[nodiscard]] metrics::Health health() const;

 private:
  void AddSlots(metrics::Families* all) const;
  void AddLog(metrics::Families* all) const;
  void AddAudit(metrics::Families* all) const;
  // Follows the topic: those of stages and of ingest alike.
  void CountRefused();

  Engine& engine_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::uint64_t refused_next_ = 0;
  std::map<std::pair<ProjectId, wire::RefusalReason>, std::uint64_t> refused_;
};

}  // namespace cobblestone
