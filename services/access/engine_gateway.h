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

namespace cobblestone {

// Empty unless gateway.access_log is set. `log` must outlive the result.
gateway::AccessLog AccessLogOf(const settings::RunSettings& settings, RunLog& log);
// `log` must outlive the result.
gateway::Warn WarningsOf(RunLog& log);

class EngineGateway {
 public:
  // None if gateway.listen is empty. `runs`: the engine was started. `metrics`: null without metrics. All arguments
  // must outlive the gateway.
  static Result<std::unique_ptr<EngineGateway>> Start(const settings::RunSettings& settings, Engine& engine,
                                                      bool runs, EngineMetrics* metrics, RunLog& log);

  [[nodiscard]] const std::string& url() const { return gateway_->url(); }

 private:
  EngineGateway() = default;

  std::unique_ptr<gateway::Pipeline> pipeline_;
  std::unique_ptr<gateway::Gateway> gateway_;
};

}  // namespace cobblestone
