// Metrics server of a long-running verb.
#pragma once

#include <memory>

#include "services/cli/run_log.h"
#include "services/metrics/scrape_server.h"

namespace cobblestone::commands {

// Serves at metrics.listen; null if that is empty. `metrics` must outlive the server.
template <class Metrics>
Result<std::unique_ptr<metrics::ScrapeServer>> ServeMetrics(const settings::RunSettings& settings,
                                                            Metrics& metrics, cli::RunLog& log) {
  if (settings.metrics.listen.empty()) return std::unique_ptr<metrics::ScrapeServer>();
  auto server = metrics::ScrapeServer::Start({.listen = settings.metrics.listen,
                                              .render = [&metrics] { return metrics.Render(); },
                                              .health = [&metrics] { return metrics.health(); }});
  if (server.ok()) log.Info("serving metrics", {{"address", (*server)->address()}});
  return server;
}

}  // namespace cobblestone::commands
