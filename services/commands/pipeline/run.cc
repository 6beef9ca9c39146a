#include <csignal>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/base/last_words.h"
#include "common/base/watchdog.h"
#include "services/access/engine_gateway.h"
#include "services/access/engine_pipeline.h"
#include "services/access/server.h"
#include "services/cli/run_log.h"
#include "services/cli/stop_signals.h"
#include "services/commands/command.h"
#include "services/commands/pipeline/hub_factors.h"
#include "services/commands/pipeline/hub_push.h"
#include "services/commands/pipeline/metrics_server.h"
#include "services/embedded/engine.h"
#include "services/embedded/engine_flow.h"
#include "services/embedded/engine_metrics.h"
#include "services/kafka/kafka_flow.h"
#include "services/kafka/kafka_metrics.h"
#include "services/kafka/kafka_workers.h"

namespace cobblestone::commands {

using access::EngineGateway;
using access::kHeldPatience;
using access::Server;
using access::SocketAnswers;
using cli::ExitCodeOf;
using cli::RunLog;
using cli::StopSignals;
using embedded::Engine;
using embedded::EngineFlow;
using embedded::EngineMetrics;
using embedded::EngineOptions;
using kafka::KafkaFlow;
using kafka::KafkaMetrics;
using kafka::KafkaWorkers;

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kStopWithin = std::chrono::seconds(20);

struct RunArguments {
  DataPlace place;
  bool accept_time_jump = false;
  bool accept_loss = false;
  std::string instance;
  std::string listen;
};

// Writes the final message of a process that cannot continue to its log as well.
class LastWordsIn {
 public:
  explicit LastWordsIn(RunLog& log) {
    SetLastWords([&log](const std::string& message) { log.Error("cannot continue", {{"reason", message}}); });
  }
  ~LastWordsIn() { SetLastWords({}); }
  LastWordsIn(const LastWordsIn&) = delete;
  LastWordsIn& operator=(const LastWordsIn&) = delete;
};

int Failed(RunLog& log, const std::string& what, const Status& status) {
  log.Error(what, {{"reason", status.message()}, {"exit_code", static_cast<int>(ExitCodeOf(status))}});
  return ExitCodeOf(status);
}

// Another verb, such as an `ingest` started at the same time, may hold the directory for a moment. None: a
// signal arrived meanwhile.
std::optional<Result<std::unique_ptr<Engine>>> OpenWhenFree(const settings::RunSettings& settings,
                                                            const EngineOptions& options,
                                                            const StopSignals& signals, RunLog& log) {
  const auto deadline = Clock::now() + kHeldPatience;
  for (bool reported = false;; reported = true) {
    auto engine = Engine::Open(
        settings, [&](const std::string& what) { log.Info(what); }, options);
    // A process that answers on the socket will keep the directory.
    if (engine.status().code() != StatusCode::kFenced || Clock::now() >= deadline ||
        SocketAnswers(settings.listen.socket))
      return engine;
    if (!reported) log.Info("waiting for the data directory", {{"reason", engine.status().message()}});
    if (signals.Wait() != 0) return std::nullopt;
  }
}

// Crash-only: open work is committed or given up within a deadline, then the process ends, even if a client's
// thread is still running.
[[noreturn]] void End(int code) {
  std::fflush(nullptr);
  std::_Exit(code);
}

int RunOnKafka(const settings::RunSettings& settings, bool accept_time_jump, const StopSignals& signals,
               RunLog& log) {
  const auto begin = Clock::now();
  auto workers = KafkaWorkers::Open(settings, {.report = [&log](const std::string& what) { log.Warn(what); },
                                               .watched = !settings.metrics.listen.empty(),
                                               .accept_time_jump = accept_time_jump});
  if (!workers.ok()) return Failed(log, "cannot start", workers.status());
  KafkaMetrics metrics(**workers);
  auto scraped = ServeMetrics(settings, metrics, log);
  if (!scraped.ok()) return Failed(log, "cannot start", scraped.status());
  (*workers)->Start();
  log.Info("running", {{"cluster", settings.kafka.bootstrap},
                       {"prefix", settings.kafka.prefix},
                       {"instance", settings.kafka.instance},
                       {"state", settings.data_directory},
                       {"partitions", settings.partitions},
                       {"threads", settings.threads},
                       {"started_in_s", std::chrono::duration<double>(Clock::now() - begin).count()}});
  if (!settings.hub.url.empty())
    log.Info("a worker neither asks the hub nor sends to it; `cobblestone gateway` does",
             {{"hub", settings.hub.url}});
  if (!settings.gateway.listen.empty())
    log.Info("a worker does not serve gateway.listen; `cobblestone gateway` does",
             {{"gateway", settings.gateway.listen}});
  KafkaFlow flow(**workers);
  int signal = 0;
  while (signal == 0 && (*workers)->failure().ok()) {
    signal = signals.Wait();
    if (const auto figures = flow.Report()) log.Info("flow", *figures);
  }
  if (const Status failure = (*workers)->failure(); !failure.ok()) {
    // The error is in this program's version or configuration: its other threads still work and can stop
    // cleanly.
    if (failure.code() == StatusCode::kInvalidArgument) (void)(*workers)->Stop(kStopWithin);
    End(Failed(log, "the worker failed", failure));
  }
  log.Info("stopping; a second signal ends the process at once",
           {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
  signals.LetKill();
  const bool stopped = (*workers)->Stop(kStopWithin);
  log.Info(stopped ? "stopped" : "did not stop in time; uncommitted work was discarded");
  End(kExitOk);
}

int RunPipeline(const RunArguments& options) {
  auto settings = SettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  if (!options.instance.empty()) settings->kafka.instance = options.instance;
  if (!options.listen.empty() && settings->backend == settings::Backend::kKafka)
    return ReportError(Status::InvalidArgument(
        "--listen is for a pipeline on one machine; on Kafka `cobblestone gateway --listen HOST:PORT` serves the page"));
  if (!options.listen.empty()) settings->gateway.listen = options.listen;
  const StopSignals signals;
  RunLog log(settings->log);
  const LastWordsIn last_words(log);
  if (settings->backend == settings::Backend::kKafka)
    return RunOnKafka(*settings, options.accept_time_jump, signals, log);

  const auto begin = Clock::now();
  const bool watched = !settings->metrics.listen.empty() || !settings->gateway.listen.empty();
  auto opened = OpenWhenFree(*settings,
                             {.clock = {},
                              .steady = {},
                              .accept_time_jump = options.accept_time_jump,
                              .accept_loss = options.accept_loss,
                              .warn = [&](const std::string& what) { log.Warn(what); },
                              .watched = watched},
                             signals, log);
  if (!opened) return kExitOk;
  auto& engine = *opened;
  if (!engine.ok()) return Failed(log, "cannot start", engine.status());
  if (Status status = RememberPlace(*settings); !status.ok()) return Failed(log, "cannot start", status);
  EngineMetrics metrics(**engine);
  auto scraped = ServeMetrics(*settings, metrics, log);
  if (!scraped.ok()) return Failed(log, "cannot start", scraped.status());
  (*engine)->Start();
  auto server = Server::Start(**engine, settings->listen.socket);
  if (!server.ok()) {
    (void)(*engine)->Stop();  // nothing was done; the server's error is reported
    return Failed(log, "cannot start", server.status());
  }
  auto gateway = EngineGateway::Start(*settings, **engine, true, watched ? &metrics : nullptr, log);
  if (!gateway.ok()) {
    (*server).reset();
    (void)(*engine)->Stop();  // the gateway's error is reported
    return Failed(log, "cannot start", gateway.status());
  }
  const auto pipeline = access::MakeEnginePipeline(**engine, true, nullptr);
  std::optional<HubFactors<EngineMetrics>> hub;
  hub.emplace(*settings, (*engine)->live_state(), *pipeline, metrics, log);
  auto push = HubPush<EngineMetrics>::Start(*settings, (*engine)->stored_state(), (*engine)->questions(),
                                            *pipeline, metrics, log);
  if (!push.ok()) {
    hub.reset();
    (*gateway).reset();
    (*server).reset();
    (*scraped).reset();
    (void)(*engine)->Stop();  // the sender's error is reported
    return Failed(log, "cannot start", push.status());
  }
  nlohmann::json about{{"data", settings->data_directory},
                       {"socket", settings->listen.socket},
                       {"partitions", settings->partitions},
                       {"threads", settings->threads},
                       {"started_in_s", std::chrono::duration<double>(Clock::now() - begin).count()}};
  if (*gateway) about["gateway"] = (*gateway)->url();
  log.Info("running", about);

  EngineFlow flow(**engine);
  int signal = 0;
  while (signal == 0 && (*engine)->failure().ok()) {
    signal = signals.Wait();
    if (const auto figures = flow.Report()) log.Info("flow", *figures);
  }
  if (signal != 0) {
    log.Info("stopping; a second signal ends the process at once",
             {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
  }
  // Logged before anything that may take a while, so that the log shows why the process ends.
  const Status failure = (*engine)->failure();
  if (!failure.ok()) (void)Failed(log, "the pipeline failed", failure);
  signals.LetKill();
  {
    // A handler that does not return must not keep a failed or stopped pipeline from ending.
    const Watchdog watchdog(kStopWithin, [&] {
      log.Error("a request did not finish in time and was aborted");
      End(failure.ok() ? kExitOk : static_cast<int>(ExitCodeOf(failure)));
    });
    (*push).reset();
    hub.reset();
    (*gateway).reset();
    (*server).reset();
    (*scraped).reset();
  }
  const Status stopped = (*engine)->Stop();
  if (!failure.ok()) return ExitCodeOf(failure);
  if (!stopped.ok()) return Failed(log, "could not stop cleanly", stopped);
  log.Info("stopped");
  return kExitOk;
}

}  // namespace

void AddRun(Program& program) {
  AddVerb<RunArguments>(
      program, "run", "Runs the pipeline on a data directory until SIGTERM",
      [](Verb& verb, RunArguments& options) {
        AddDataPlace(verb, options.place);
        verb.Add("--instance", options.instance,
                 "on Kafka: name of this worker; overrides kafka.instance of the configuration")
            .Type("NAME");
        verb.Add("--listen", options.listen,
                 "address for the web page and the HTTP API; overrides gateway.listen of the configuration")
            .Type("HOST:PORT");
        verb.Flag("--accept-time-jump", options.accept_time_jump,
                  "trust this machine's clock, even if it is more than a day later than the last tick "
                  "(ticks: wall) or\n"
                  "earlier than the last append; for one start, not for a service file");
        verb.Flag(
            "--accept-loss", options.accept_loss,
            "if the log is damaged and there is no copy to restore: keep only the records before the first damage,\n"
            "permanently. Later records are lost until their sources send them again. States that include lost\n"
            "records are moved to DIR/lost and rebuilt. For one start, not for a service file");
        verb.Footer(
            "The pipeline owns the data directory while it runs. `ingest` and all queries connect to its Unix socket\n"
            "(listen.socket, by default cobblestone.sock in the data directory; only the owner of the socket may\n"
            "connect). On SIGTERM or SIGINT the pipeline finishes its current work, writes its state and exits with\n"
            "code 0. A second signal ends the process at once. Acknowledged events survive a second signal, kill -9\n"
            "and a power cut. While events flow, the log on standard error has a line on throughput every 10 s\n"
            "(log.level, log.format). metrics.listen is the HTTP address for Prometheus (deploy/monitoring).\n\n"
            "Example:  cobblestone run --config cobblestone.yaml");
      },
      RunPipeline);
}

}  // namespace cobblestone::commands
