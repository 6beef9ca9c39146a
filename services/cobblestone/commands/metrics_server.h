// What a verb that goes on tells Prometheus.
#pragma once

#include <memory>

#include "services/cli/run_log.h"
#include "services/metrics/scrape_server.h"

namespace cobblestone {

// At metrics.listen; null where that is empty. `metrics` must outlive it.
template <class Metrics>
Result<std::unique_ptr<metrics::ScrapeServer>> ServeMetrics(const settings::RunSettings& settings,
                                                            Metrics& metrics, RunLog& log) {
  if (settings.metrics.listen.empty()) return std::unique_ptr<metrics::ScrapeServer>();
  auto server = metrics::ScrapeServer::Start({.listen = settings.metrics.listen,
                                              .render = [&metrics] { return metrics.Render(); },
                                              .health = [&metrics] { return metrics.health(); }});
  if (server.ok()) log.Info("serving metrics", {{"address", (*server)->address()}});
  return server;
}

}  // namespace cobblestone
