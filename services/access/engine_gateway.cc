#include "services/access/engine_gateway.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "services/access/engine_pipeline.h"
#include "services/gateway/listen_address.h"

namespace cobblestone::access {

using cli::RunLog;
using embedded::Engine;
using embedded::EngineMetrics;

gateway::AccessLog AccessLogOf(const settings::RunSettings& settings, RunLog& log) {
  if (!settings.gateway.access_log) return {};
  return [&log](const nlohmann::json& request) { log.Info("request", request); };
}

gateway::Warn WarningsOf(RunLog& log) {
  return [&log](const std::string& what) { log.Warn(what); };
}

Result<std::unique_ptr<EngineGateway>> EngineGateway::Start(const settings::RunSettings& settings,
                                                            Engine& engine, bool runs, EngineMetrics* metrics,
                                                            RunLog& log) {
  if (settings.gateway.listen.empty()) return std::unique_ptr<EngineGateway>();
  // Before the ledger is indexed, which may take long.
  if (Status s = gateway::CheckListening(settings.gateway); !s.ok()) return s;
  const auto questions = engine.QuestionsForMany();
  if (!questions.ok()) return questions.status();
  std::unique_ptr<EngineGateway> made(new EngineGateway);
  made->pipeline_ = MakeEnginePipeline(engine, runs, metrics);
  auto gateway = gateway::Gateway::Start(settings.gateway, **questions, *made->pipeline_,
                                         AccessLogOf(settings, log), WarningsOf(log));
  if (!gateway.ok()) return gateway.status();
  made->gateway_ = std::move(*gateway);
  if (settings.gateway.allow_plaintext && settings.gateway.tls_certificate.empty())
    log.Warn("the gateway runs without TLS (gateway.allow_plaintext): allow connections only from a proxy",
             {{"url", made->url()}});
  return made;
}

}  // namespace cobblestone::access
