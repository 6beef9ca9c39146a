// End to end on Kafka, exactly once: a backlog of results, worked off by the stream threads of this process. Prints
// results/s, CPU per result here and in the broker, messages written per result. Then, at a fixed rate, completion ->
// posted latency. Against a broker that is there (./dev kafka start); topics of its own, by time.
//
//   ./dev bench kafka --bootstrap HOST:PORT [--broker-pid PID] --hosts 100000 --results 500000
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/client/publisher.h"
#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "common/stream/kafka/read_all.h"
#include "common/wire/grant_codec.h"
#include "services/cobblestone/kafka_deployment.h"
#include "services/cobblestone/kafka_workers.h"
#include "tests/bench/bench_traffic.h"

namespace cobblestone {
namespace {

using Clock = std::chrono::steady_clock;
using stream::kafka::Phase;

struct Options {
  std::string bootstrap = "127.0.0.1:9092";
  std::uint64_t hosts = 100000;
  std::uint64_t results = 500000;
  std::uint32_t partitions = 8;
  std::uint32_t threads = 1;
  std::string policy = "creditnew";
  std::string directory;
  std::string client_options;
  int broker_pid = 0;
  double commit_min = 10;
  double commit_max = 50;
  double checkpoint = 30;
};

[[noreturn]] void Die(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

void Must(const Status& status) {
  if (!status.ok()) Die(status);
}

double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

double CpuSecondsOf(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(in, line);
  if (line.empty()) return 0;
  unsigned long utime = 0;
  unsigned long stime = 0;
  std::sscanf(line.c_str() + line.rfind(')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
              &utime, &stime);
  return static_cast<double>(utime + stime) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void PrintThreads() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream in(task.path() / "stat");
    std::string line;
    std::getline(in, line);
    const auto open = line.find('('), close = line.rfind(')');
    unsigned long utime = 0, stime = 0;
    std::sscanf(line.c_str() + close + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &utime,
                &stime);
    if (utime + stime > 20)
      std::fprintf(stderr, "  %-16s %.2f s user %.2f s system\n",
                   line.substr(open + 1, close - open - 1).c_str(), static_cast<double>(utime) / 100,
                   static_cast<double>(stime) / 100);
  }
}

struct Counts {
  std::uint64_t records = 0;
  std::uint64_t produced = 0;
  std::uint64_t commits = 0;
  std::uint64_t aborts = 0;
  std::uint64_t lag = 0;
  std::uint32_t running = 0;
  double commit_seconds = 0;
};

Counts Look(const KafkaWorkers& workers) {
  Counts counts;
  for (const auto& worker : workers.Look()) {
    counts.records += worker.records;
    counts.commits += worker.commits;
    counts.aborts += worker.aborts;
    counts.commit_seconds += worker.commit_seconds;
    for (const auto& task : worker.tasks) {
      counts.produced += task.produced;
      if (task.phase == Phase::kStopped) Die(Status::Fatal(task.problem));
      if (!task.owned) continue;
      counts.lag += task.lag;
      counts.running += task.phase == Phase::kRunning ? 1 : 0;
    }
  }
  return counts;
}

// Until all is processed; the time at which the last record was.
Clock::time_point AwaitDrained(const KafkaWorkers& workers, std::uint32_t slots) {
  auto moved = Clock::now();
  std::uint64_t records = 0;
  for (;;) {
    Must(workers.failure());
    const Counts now = Look(workers);
    if (now.records != records) {
      records = now.records;
      moved = Clock::now();
    }
    if (now.running == slots && now.lag == 0 && Clock::now() - moved > std::chrono::milliseconds(600))
      return moved;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

settings::RunSettings SettingsOf(const Options& options, const std::string& prefix) {
  settings::RunSettings settings;
  settings.backend = settings::Backend::kKafka;
  settings.data_directory = options.directory + "/" + prefix;
  settings.partitions = options.partitions;
  settings.threads = options.threads;
  settings.memory.objects = 4 * settings::kGiB;
  settings.kafka.bootstrap = options.bootstrap;
  settings.kafka.prefix = prefix;
  settings.kafka.instance = "bench";
  settings.kafka.replication = 1;
  settings.kafka.options = options.client_options;
  settings.kafka.commit_min = std::chrono::microseconds(static_cast<long>(options.commit_min * 1000));
  settings.kafka.commit_max = std::chrono::microseconds(static_cast<long>(options.commit_max * 1000));
  settings.kafka.checkpoint_interval = std::chrono::microseconds(static_cast<long>(options.checkpoint * 1e6));
  return settings;
}

void Append(client::Publisher& publisher, const AppendBlock& block) {
  for (const SourceLine& line : block.lines) Must(publisher.Add(line.envelope));
  Must(publisher.Commit({.events = block.first_line + block.lines.size()}));
}

void Run(const Options& options) {
  const std::string prefix = "bench-" + std::to_string(::time(nullptr)) + "-" + std::to_string(::getpid());
  const settings::RunSettings settings = SettingsOf(options, prefix);
  auto deployment = DeploymentOf(settings, {});
  if (!deployment.ok()) Die(deployment.status());
  auto admin = stream::kafka::MakeTopicAdmin(deployment->cluster);
  if (!admin.ok()) Die(admin.status());
  if (auto made = (*admin)->Create(deployment->plan, 1); !made.ok()) Die(made.status());
  auto cluster = stream::kafka::MakeCluster(deployment->cluster);
  if (!cluster.ok()) Die(cluster.status());
  const std::uint32_t slots = options.partitions + 1;
  const auto report = [](const std::string& what) { std::fprintf(stderr, "  %s\n", what.c_str()); };

  std::fprintf(stderr, "preparing %llu results of %llu hosts ...\n",
               static_cast<unsigned long long>(options.results),
               static_cast<unsigned long long>(options.hosts));
  Prepared prepared = Prepare(PlainTraffic(options.results, options.hosts, options.policy), 20000, 0);
  {
    auto publisher = client::Publisher::Open(
        **cluster, {.source = "bench", .partitions = options.partitions, .producers_topic = kProducersTopic});
    if (!publisher.ok()) Die(publisher.status());
    auto workers = KafkaWorkers::Open(settings, report);
    if (!workers.ok()) Die(workers.status());
    (*workers)->Start();
    AwaitDrained(**workers, slots);
    for (const AppendBlock& block : prepared.members) {
      Append(**publisher, block);
      if (block.barrier) AwaitDrained(**workers, slots);
    }
    AwaitDrained(**workers, slots);
    (void)(*workers)->Stop(std::chrono::seconds(30));
    const auto start = Clock::now();
    for (AppendBlock& block : prepared.blocks) {
      Append(**publisher, block);
      block = {};
    }
    std::fprintf(stderr, "  backlog of %llu results loaded in %.1f s\n",
                 static_cast<unsigned long long>(prepared.results), Seconds(Clock::now() - start));
  }

  auto workers = KafkaWorkers::Open(settings, report);
  if (!workers.ok()) Die(workers.status());
  (*workers)->Start();
  while (Look(**workers).records == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto start = Clock::now();
  const double cpu = CpuSeconds();
  const double broker_cpu = CpuSecondsOf(options.broker_pid);
  const auto end = AwaitDrained(**workers, slots);
  const double cpu_used = CpuSeconds() - cpu;
  const double broker_used = CpuSecondsOf(options.broker_pid) - broker_cpu;
  const Counts counts = Look(**workers);
  PrintThreads();
  const double n = static_cast<double>(prepared.results);
  const double seconds = Seconds(end - start);

  std::uint64_t grants = 0;
  auto reader = (*cluster)->NewReader();
  if (!reader.ok()) Die(reader.status());
  for (std::uint32_t p = 0; p < options.partitions; ++p)
    Must(stream::kafka::ReadAll(**reader, {wire::kGrants, p}, stream::kafka::kBeginning,
                                stream::kafka::Millis(30000), [&](const stream::kafka::Message& message) {
                                  stream::RecordCursor cursor(message.value());
                                  std::string_view record;
                                  wire::GrantHead head;
                                  while (cursor.Next(&record))
                                    if (wire::DecodeGrantHead(record, &head) &&
                                        head.kind == wire::GrantKind::kFinal)
                                      ++grants;
                                  return Status::Ok();
                                }));
  std::printf(
      "%8llu hosts: %9.0f results/s, %5.2f us CPU per result here, %.2f us in the broker, %.3f messages written per result, "
      "%llu commits (%.1f ms each), %llu aborts, %llu of %llu granted\n",
      static_cast<unsigned long long>(options.hosts), n / seconds, cpu_used / n * 1e6, broker_used / n * 1e6,
      static_cast<double>(counts.produced) / n, static_cast<unsigned long long>(counts.commits),
      counts.commit_seconds / static_cast<double>(std::max<std::uint64_t>(1, counts.commits)) * 1e3,
      static_cast<unsigned long long>(counts.aborts), static_cast<unsigned long long>(grants),
      static_cast<unsigned long long>(prepared.results));
  std::fflush(stdout);
  (void)(*workers)->Stop(std::chrono::seconds(30));
  std::filesystem::remove_all(settings.data_directory);
}

}  // namespace
}  // namespace cobblestone

int main(int argc, char** argv) {
  cobblestone::Options options;
  CLI::App app("Events in, totals posted, on Kafka, exactly once.");
  app.add_option("--bootstrap", options.bootstrap, "Broker")->capture_default_str();
  app.add_option("--broker-pid", options.broker_pid, "Its process on this machine, for its CPU");
  app.add_option("--hosts", options.hosts, "Hosts")->capture_default_str();
  app.add_option("--results", options.results, "Results of the backlog")->capture_default_str();
  app.add_option("--partitions", options.partitions, "Partitions")->capture_default_str();
  app.add_option("--threads", options.threads, "Stream threads")->capture_default_str();
  app.add_option("--policy", options.policy, "Policy of all apps")->capture_default_str();
  app.add_option("--commit-min", options.commit_min, "kafka.commit_min, ms")->capture_default_str();
  app.add_option("--commit-max", options.commit_max, "kafka.commit_max, ms")->capture_default_str();
  app.add_option("--checkpoint", options.checkpoint, "kafka.checkpoint_interval, s")->capture_default_str();
  app.add_option("--client", options.client_options, "kafka.options");
  app.add_option("--directory", options.directory, "Where state lies; without it one in the place for such");
  CLI11_PARSE(app, argc, argv);
  if (options.directory.empty())
    options.directory = std::filesystem::temp_directory_path() / "cobblestone-kafka-bench";
  cobblestone::Run(options);
  std::fflush(nullptr);
  std::_Exit(0);
}
