// The factors of a hub in a long-running verb.
#pragma once

#include <memory>

#include "services/cli/run_log.h"
#include "services/factors/factor_taker.h"

namespace cobblestone::commands {

// Asks the hub of the settings, and shows it in `metrics`; destroy it before `state`, `pipeline`, `metrics` and `log`.
// None if the settings name no hub, or do not want its factors.
template <class Metrics>
class HubFactors {
 public:
  HubFactors(const settings::RunSettings& settings, view::State& state, gateway::Pipeline& pipeline,
             Metrics& metrics, cli::RunLog& log)
      : metrics_(metrics) {
    if (settings.hub.url.empty() || !settings.hub.factors) return;
    const bool kafka = settings.backend == settings::Backend::kKafka;
    taker_ = std::make_unique<factors::FactorTaker>(
        factors::TakerOptions{.hub = settings.hub,
                              .future_limit = std::chrono::duration<double>(settings.future_limit).count(),
                              .source = kafka ? "hub-factors:" + settings.kafka.instance : "hub-factors",
                              .info = [&log](const std::string& what) { log.Info(what); },
                              .warn = [&log](const std::string& what) { log.Warn(what); }},
        state, pipeline);
    metrics_.SetHub([this] { return taker_->Look(); });
  }
  ~HubFactors() { metrics_.SetHub({}); }
  HubFactors(const HubFactors&) = delete;
  HubFactors& operator=(const HubFactors&) = delete;

 private:
  Metrics& metrics_;
  std::unique_ptr<factors::FactorTaker> taker_;
};

}  // namespace cobblestone::commands
