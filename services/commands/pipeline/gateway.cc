#include <csignal>
#include <filesystem>
#include <optional>

#include "services/access/engine_gateway.h"
#include "services/access/kafka_pipeline.h"
#include "services/cli/run_log.h"
#include "services/cli/stop_signals.h"
#include "services/commands/command.h"
#include "services/commands/pipeline/hub_factors.h"
#include "services/commands/pipeline/hub_push.h"
#include "services/commands/pipeline/metrics_server.h"
#include "services/embedded/engine.h"
#include "services/embedded/engine_metrics.h"
#include "services/gateway/listen_address.h"
#include "services/kafka/kafka_view.h"
#include "services/kafka/kafka_view_metrics.h"

namespace cobblestone::commands {

using access::AccessLogOf;
using access::EngineGateway;
using access::MakeKafkaPipeline;
using access::WarningsOf;
using cli::RunLog;
using cli::StopSignals;
using embedded::Engine;
using embedded::EngineMetrics;
using intake::Quotas;
using kafka::KafkaView;
using kafka::KafkaViewMetrics;

namespace {

constexpr const char* kUsualPlace = "127.0.0.1:8080";

struct GatewayArguments {
  DataPlace place;
  std::string listen;
};

int Serve(const StopSignals& signals, const std::function<Status()>& failure) {
  int signal = 0;
  while (signal == 0 && failure().ok()) signal = signals.Wait();
  signals.LetKill();
  if (signal == 0) return ReportError(failure());
  return kExitOk;
}

int RunOnKafka(const settings::RunSettings& settings) {
  if (Status s = gateway::CheckListening(settings.gateway); !s.ok()) return ReportError(s);
  const StopSignals signals;
  RunLog log(settings.log);
  const auto report = [&log](const std::string& what) { log.Info(what); };
  const auto view =
      KafkaView::Open(settings, settings.gateway.follow == settings::GatewayFollow::kCommits, report);
  if (!view.ok()) return ReportError(view.status());
  Quotas quotas(settings);
  KafkaViewMetrics metrics(**view, quotas, settings.data_directory);
  const auto scraped = ServeMetrics(settings, metrics, log);
  if (!scraped.ok()) return ReportError(scraped.status());
  auto pipeline = MakeKafkaPipeline(settings, **view, metrics, quotas, report);
  if (!pipeline.ok()) return ReportError(pipeline.status());
  auto gateway = gateway::Gateway::Start(settings.gateway, (*view)->questions(), **pipeline,
                                         AccessLogOf(settings, log), WarningsOf(log));
  if (!gateway.ok()) return ReportError(gateway.status());
  std::optional<HubFactors<KafkaViewMetrics>> hub;
  hub.emplace(settings, (*view)->state(), **pipeline, metrics, log);
  auto push = HubPush<KafkaViewMetrics>::Start(settings, (*view)->state(), (*view)->questions(), **pipeline,
                                               metrics, log);
  if (!push.ok()) return ReportError(push.status());
  log.Info("serving", {{"gateway", (*gateway)->url()},
                       {"cluster", settings.kafka.bootstrap},
                       {"prefix", settings.kafka.prefix},
                       {"view", settings.data_directory + "/view"}});
  const int code = Serve(signals, [&] { return (*view)->failure(); });
  (*push).reset();
  hub.reset();
  (*gateway).reset();
  (*pipeline).reset();
  log.Info("stopped");
  return code;
}

int RunGateway(const GatewayArguments& options) {
  auto settings = SettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  if (!options.listen.empty()) settings->gateway.listen = options.listen;
  if (settings->gateway.listen.empty()) settings->gateway.listen = kUsualPlace;
  if (settings->backend == settings::Backend::kKafka) return RunOnKafka(*settings);
  std::error_code ignored;  // a directory that cannot be accessed counts as absent
  if (!std::filesystem::exists(settings->data_directory + "/log", ignored))
    return ReportError(Status::NotFound("no data directory " + settings->data_directory +
                                        "; set --data or --config, or create one with `cobblestone ingest`"));
  const StopSignals signals;
  RunLog log(settings->log);
  const auto engine =
      Engine::Open(*settings, [&](const std::string& what) { log.Info(what); }, {.watched = true});
  if (engine.status().code() == StatusCode::kFenced)
    return ReportError(
        Status::Fenced(engine.status().message() +
                       "; the running pipeline can serve the page itself: use `cobblestone run --listen "
                       "HOST:PORT`, or gateway.listen in its configuration"));
  if (!engine.ok()) return ReportError(engine.status());
  EngineMetrics metrics(**engine);
  const auto scraped = ServeMetrics(*settings, metrics, log);
  if (!scraped.ok()) return ReportError(scraped.status());
  auto gateway = EngineGateway::Start(*settings, **engine, false, &metrics, log);
  if (!gateway.ok()) return ReportError(gateway.status());
  log.Info("serving", {{"gateway", (*gateway)->url()}, {"data", settings->data_directory}});
  const int code = Serve(signals, [] { return Status::Ok(); });
  (*gateway).reset();
  log.Info("stopped");
  return code;
}

}  // namespace

void AddGateway(Program& program) {
  AddVerb<GatewayArguments>(
      program, "gateway",
      "Serves the web page and the HTTP API of a deployment on Kafka, or of a data directory "
      "without a running pipeline",
      [](Verb& verb, GatewayArguments& options) {
        AddDataPlace(verb, options.place);
        verb.Add("--listen", options.listen,
                 "address to listen on; overrides gateway.listen of the configuration (default without "
                 "both: 127.0.0.1:8080)")
            .Type("HOST:PORT");
        verb.Footer(
            "With a data directory: no pipeline may run on the directory, and the gateway is read-only. To serve a\n"
            "running pipeline, use `cobblestone run --listen HOST:PORT`. docs/operations/security.md describes tokens\n"
            "and rights. metrics.listen is the address for Prometheus (deploy/monitoring). SIGTERM or SIGINT stops\n"
            "the gateway.\n\n"
            "On Kafka: the gateway follows the checkpoints or commits of all slots (gateway.follow) and keeps its\n"
            "own indexes of the ledger in `view` in its data directory. The gateway ingests events. Any number of\n"
            "gateways can run.\n\n"
            "Example:  cobblestone gateway --data cobblestone-data --listen 127.0.0.1:8080");
      },
      RunGateway);
}

}  // namespace cobblestone::commands
