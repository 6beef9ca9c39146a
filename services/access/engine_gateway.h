// The gateway of a process with an engine: inside `run`, or over a directory on which no pipeline runs.
#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/cli/run_log.h"
#include "services/embedded/engine.h"
#include "services/embedded/engine_metrics.h"
#include "services/gateway/gateway.h"

namespace cobblestone::access {

// Empty unless gateway.access_log is set. `log` must outlive the result.
gateway::AccessLog AccessLogOf(const settings::RunSettings& settings, cli::RunLog& log);
// `log` must outlive the result.
gateway::Warn WarningsOf(cli::RunLog& log);

class EngineGateway {
 public:
  // None if gateway.listen is empty. `runs`: the engine was started. `metrics`: null without metrics. All arguments
  // must outlive the gateway.
  static Result<std::unique_ptr<EngineGateway>> Start(const settings::RunSettings& settings,
                                                      embedded::Engine& engine, bool runs,
                                                      embedded::EngineMetrics* metrics, cli::RunLog& log);

  [[nodiscard]] const std::string& url() const { return gateway_->url(); }

 private:
  EngineGateway() = default;

  std::unique_ptr<gateway::Pipeline> pipeline_;
  std::unique_ptr<gateway::Gateway> gateway_;
};

}  // namespace cobblestone::access
