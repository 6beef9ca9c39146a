// End to end on Kafka, exactly once, with a running broker (./dev kafka start). Topic names contain the time and
// the process id.
//
//   ./dev bench kafka --bootstrap HOST:PORT [--broker-pid PID] --hosts 100000 --results 500000
//
// --measure names the measurements, each of which has its own topics. A measurement at a rate uses --rate, or half
// of the rate that `throughput` measured:
//   throughput  a backlog of results, processed by the stream threads of this process: results/s, CPU per result
//               here and in the broker, records written per result
//   restore     the same, then a restore without local state: with all commits replayed, and from a checkpoint
//   latency     a worker in a separate process at a fixed rate: the time from the due time of the last event that
//               a workunit needs until a reader has the host's total with its grant
//   sweep       latency for several commit intervals
//   recovery    under load: a worker is killed and restarted, with its disk and without, and replaced by a hot
//               standby
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <librdkafka/rdkafka.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/client/publisher.h"
#include "common/stream/kafka/librdkafka/cluster.h"
#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "common/stream/kafka/read_all.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/access/kafka_client.h"
#include "services/kafka/kafka_deployment.h"
#include "services/kafka/kafka_workers.h"
#include "tests/bench/bench_traffic.h"

namespace cobblestone {

using access::ConnectKafka;
using intake::AppendBlock;
using intake::SourceLine;
using kafka::DeploymentOf;
using kafka::KafkaWorkers;
using kafka::kProducersTopic;
using traffic::GenerateOptions;

namespace {

using Clock = std::chrono::steady_clock;
using stream::kafka::Phase;

struct Options {
  std::string bootstrap = "127.0.0.1:9092";
  std::uint64_t hosts = 100000;
  std::uint64_t results = 500000;
  std::uint32_t trickles = 0;  // of each result
  std::uint32_t partitions = 1;
  std::uint32_t threads = 1;
  std::string policy = "creditnew";
  std::vector<std::string> measures = {"throughput", "latency"};
  double rate = 0;      // results/s; 0: half of the throughput
  double seconds = 20;  // of load at a rate
  double block = 0.01;  // s of load that are sent at one time
  int linger = 10;      // ms, of the source at a rate
  std::string directory;
  std::string client_options;
  int broker_pid = 0;
  double commit_min = 10;
  double commit_max = 50;
  double checkpoint = 30;
  double session = 6;
  // Set in the worker process of these measurements: the instance name and the topic prefix.
  std::string worker;
  std::string prefix;
  bool hot = false;
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
  std::uint64_t restored = 0;
  std::uint64_t reexecuted = 0;
  std::uint64_t checkpointed = 0;  // slots that have a checkpoint, or no state
  std::uint64_t records = 0;
  std::uint64_t produced = 0;
  std::uint64_t commits = 0;
  std::uint64_t aborts = 0;
  std::uint64_t lag = 0;
  std::uint32_t running = 0;
  double commit_seconds = 0;
  double flush_seconds = 0;
  double offsets_seconds = 0;
  double end_seconds = 0;
};

Counts CountsOf(const KafkaWorkers& workers) {
  Counts counts;
  for (const auto& worker : workers.Look()) {
    counts.records += worker.records;
    counts.commits += worker.commits;
    counts.aborts += worker.aborts;
    counts.commit_seconds += worker.commit_seconds;
    counts.flush_seconds += worker.flush_seconds;
    counts.offsets_seconds += worker.offsets_seconds;
    counts.end_seconds += worker.end_seconds;
    for (const auto& task : worker.tasks) {
      counts.produced += task.produced;
      if (task.phase == Phase::kStopped) Die(Status::Fatal(task.problem));
      if (!task.owned) continue;
      counts.restored += task.restored_rows;
      counts.reexecuted += task.reexecuted;
      counts.checkpointed += task.checkpoint_sequence > 0 || task.sequence == 0 ? 1 : 0;
      counts.lag += task.lag;
      counts.running += task.phase == Phase::kRunning ? 1 : 0;
    }
  }
  return counts;
}

// Waits until all records are processed. Returns the time of the last one.
Clock::time_point AwaitDrained(const KafkaWorkers& workers, std::uint32_t slots) {
  auto moved = Clock::now();
  std::uint64_t records = 0;
  for (;;) {
    Must(workers.failure());
    const Counts now = CountsOf(workers);
    if (now.records != records) {
      records = now.records;
      moved = Clock::now();
    }
    if (now.running == slots && now.lag == 0 && Clock::now() - moved > std::chrono::milliseconds(600))
      return moved;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

const char* const kInstance = "bench";

settings::RunSettings SettingsOf(const Options& options, const std::string& prefix,
                                 const std::string& instance) {
  settings::RunSettings settings;
  settings.backend = settings::Backend::kKafka;
  settings.data_directory = options.directory + "/" + prefix + "-" + instance;
  settings.partitions = options.partitions;
  settings.threads = options.threads;
  settings.memory.objects = 4 * settings::kGiB;
  settings.kafka.bootstrap = options.bootstrap;
  settings.kafka.prefix = prefix;
  settings.kafka.instance = instance;
  settings.kafka.replication = 1;
  settings.kafka.options = options.client_options;
  const auto microseconds = [](double s) { return std::chrono::microseconds(static_cast<long>(s * 1e6)); };
  settings.kafka.commit_min = microseconds(options.commit_min / 1e3);
  settings.kafka.commit_max = microseconds(options.commit_max / 1e3);
  settings.kafka.checkpoint_interval = microseconds(options.checkpoint);
  settings.kafka.session_timeout = microseconds(options.session);
  if (options.hot) settings.kafka.standby = settings::KafkaStandby::kHot;
  return settings;
}

void Report(const std::string& what) { std::fprintf(stderr, "  %s\n", what.c_str()); }

void Append(client::Publisher& publisher, const AppendBlock& block) {
  for (const SourceLine& line : block.lines) publisher.Add(line.envelope);
  Must(publisher.Commit({.events = block.first_line + block.lines.size()}));
}

std::unique_ptr<KafkaWorkers> OpenWorkers(const settings::RunSettings& settings) {
  auto workers = KafkaWorkers::Open(settings, {.report = Report});
  if (!workers.ok()) Die(workers.status());
  (*workers)->Start();
  return std::move(*workers);
}

constexpr std::uint64_t kCommitsPerReport = 60;

// New topics, with the members of the traffic processed.
class Deployment {
 public:
  Deployment(const Options& options, const std::string& measure, const Prepared& prepared)
      : options_(options) {
    prefix_ = "bench-" + measure + "-" + std::to_string(::time(nullptr)) + "-" + std::to_string(::getpid());
    settings_ = SettingsOf(options, prefix_, kInstance);
    auto deployment = DeploymentOf(settings_, {});
    if (!deployment.ok()) Die(deployment.status());
    auto admin = stream::kafka::MakeTopicAdmin(deployment->cluster);
    if (!admin.ok()) Die(admin.status());
    if (auto made = (*admin)->Create(deployment->plan, 1); !made.ok()) Die(made.status());
    cluster_options_ = deployment->cluster;
    auto cluster = stream::kafka::MakeCluster(cluster_options_);
    if (!cluster.ok()) Die(cluster.status());
    cluster_ = std::move(*cluster);
    auto publisher = client::Publisher::Open(
        *cluster_, {.source = "bench", .partitions = options.partitions, .producers_topic = kProducersTopic});
    if (!publisher.ok()) Die(publisher.status());
    publisher_ = std::move(*publisher);
    auto workers = OpenWorkers(settings_);
    AwaitDrained(*workers, slots());
    for (const AppendBlock& block : prepared.members) {
      Append(*publisher_, block);
      if (block.barrier) AwaitDrained(*workers, slots());
    }
    AwaitDrained(*workers, slots());
    (void)workers->Stop(std::chrono::seconds(30));
  }
  ~Deployment() {
    for (const auto& entry : std::filesystem::directory_iterator(options_.directory))
      if (entry.path().filename().string().rfind(prefix_, 0) == 0) std::filesystem::remove_all(entry.path());
  }

  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  [[nodiscard]] const settings::RunSettings& settings() const { return settings_; }
  [[nodiscard]] std::uint32_t slots() const { return options_.partitions + 1; }
  [[nodiscard]] const stream::kafka::ClusterOptions& cluster_options() const { return cluster_options_; }
  stream::kafka::Cluster& cluster() { return *cluster_; }
  client::Publisher& publisher() { return *publisher_; }

  // Waits until each of the two workers has owned slots for three seconds, and the first slot has a standby at
  // most kCommitsPerReport commits behind. Returns the owner of the first slot.
  std::string AwaitHotStandby() const {
    auto client = ConnectKafka(settings_, {});
    if (!client.ok()) Die(client.status());
    std::string owner;
    for (int ready_polls = 0; ready_polls < 3;) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      const auto answer = (*client)->Ask({.path = "/tasks"});
      if (!answer.ok()) Die(answer.status());
      std::set<std::string> owners;
      for (const auto& task : (*answer)["tasks"]) owners.insert(task.value("worker", ""));
      const auto& first = (*answer)["tasks"][0];
      bool ready = owners.size() == 2 && owners.count("") == 0;
      for (const auto& standby : first["standbys"])
        ready = ready && standby["commits_behind"].get<std::uint64_t>() <= kCommitsPerReport;
      ready = ready && !first["standbys"].empty() &&
              first.value("worker", "") == std::exchange(owner, first.value("worker", ""));
      ready_polls = ready ? ready_polls + 1 : 0;
    }
    return owner;
  }

  void RemoveState(const std::string& instance) const {
    std::filesystem::remove_all(SettingsOf(options_, prefix_, instance).data_directory);
  }

 private:
  const Options& options_;
  std::string prefix_;
  settings::RunSettings settings_;
  stream::kafka::ClusterOptions cluster_options_;
  std::unique_ptr<stream::kafka::Cluster> cluster_;
  std::unique_ptr<client::Publisher> publisher_;
};

Prepared PrepareTraffic(const Options& options, std::uint64_t results, std::size_t block) {
  std::fprintf(stderr, "preparing %llu results of %llu hosts ...\n", static_cast<unsigned long long>(results),
               static_cast<unsigned long long>(options.hosts));
  GenerateOptions traffic = PlainTraffic(results, options.hosts, options.policy);
  traffic.dispatches = options.trickles > 0;
  traffic.trickles = options.trickles;
  return Prepare(traffic, block, 0);
}

// ---- Throughput, restore -------------------------------------------------------------------------------------------

// The number of records in the messages of an output topic; also counts the final grants.
std::uint64_t RecordsIn(stream::kafka::Cluster& cluster, stream::TopicIndex topic, std::uint32_t partitions,
                        std::uint64_t* final_grants) {
  auto reader = cluster.NewReader(stream::kafka::kShortFetch);
  if (!reader.ok()) Die(reader.status());
  std::uint64_t records = 0;
  for (std::uint32_t p = 0; p < partitions; ++p)
    Must(stream::kafka::ReadAll(**reader, {topic, p}, stream::kafka::kBeginning, stream::kafka::Millis(30000),
                                [&](const stream::kafka::Message& message) {
                                  stream::RecordCursor cursor(message.value());
                                  std::string_view record;
                                  wire::GrantHead head;
                                  for (; cursor.Next(&record); ++records)
                                    if (topic == wire::kGrants && wire::DecodeGrantHead(record, &head) &&
                                        head.kind == wire::GrantKind::kFinal)
                                      ++*final_grants;
                                  return Status::Ok();
                                }));
  return records;
}

// Starts workers without local state, and waits until all slots run.
void RestoreOnce(const Options& options, const Deployment& deployment, std::uint64_t results,
                 const char* how) {
  deployment.RemoveState(kInstance);
  const auto start = Clock::now();
  const double cpu = CpuSeconds();
  auto workers = OpenWorkers(deployment.settings());
  while (CountsOf(*workers).running < deployment.slots())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const double seconds = Seconds(Clock::now() - start);
  const double cpu_used = CpuSeconds() - cpu;
  const Counts counts = CountsOf(*workers);
  std::printf(
      "%8llu hosts: %s: %.2f s, %llu rows restored (%.0f/s), %llu commits replayed (%.0f results/s), %.1f s CPU\n",
      static_cast<unsigned long long>(options.hosts), how, seconds,
      static_cast<unsigned long long>(counts.restored), static_cast<double>(counts.restored) / seconds,
      static_cast<unsigned long long>(counts.reexecuted),
      counts.reexecuted == 0 ? 0 : static_cast<double>(results) / seconds, cpu_used);
  std::fflush(stdout);
  (void)workers->Stop(std::chrono::seconds(30));
}

double Throughput(Options options, bool restore) {
  Prepared prepared = PrepareTraffic(options, options.results, 20000);
  if (restore) options.checkpoint = 3600;  // no checkpoint during the backlog
  Deployment deployment(options, "throughput", prepared);
  const auto load_start = Clock::now();
  for (AppendBlock& block : prepared.blocks) {
    Append(deployment.publisher(), block);
    block = {};
  }
  std::fprintf(stderr, "  backlog of %llu results loaded in %.1f s\n",
               static_cast<unsigned long long>(prepared.results), Seconds(Clock::now() - load_start));

  auto workers = OpenWorkers(deployment.settings());
  while (CountsOf(*workers).records == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto start = Clock::now();
  const double cpu = CpuSeconds();
  const double broker_cpu = CpuSecondsOf(options.broker_pid);
  const auto end = AwaitDrained(*workers, deployment.slots());
  const double cpu_used = CpuSeconds() - cpu;
  const double broker_used = CpuSecondsOf(options.broker_pid) - broker_cpu;
  const Counts counts = CountsOf(*workers);
  PrintThreads();
  const double n = static_cast<double>(prepared.results);
  const double seconds = Seconds(end - start);
  std::uint64_t grants = 0;
  std::uint64_t records = 0;
  for (const stream::TopicIndex topic : {wire::kClaims, wire::kGrants, wire::kPostings, wire::kTotals})
    records += RecordsIn(deployment.cluster(), topic, options.partitions, &grants);
  for (const stream::TopicIndex topic : {wire::kSamples, wire::kPassed})
    records += RecordsIn(deployment.cluster(), topic, 1, &grants);
  const double of_each = 1e3 / static_cast<double>(std::max<std::uint64_t>(1, counts.commits));  // ms
  std::printf(
      "%8llu hosts: %9.0f results/s, %5.2f us CPU per result here, %.2f us in the broker, %.2f records in %.4f "
      "Kafka records written per result, %llu commits (%.1f ms each: messages %.1f, offsets %.1f, end %.1f), %llu aborts, %llu of %llu granted\n",
      static_cast<unsigned long long>(options.hosts), n / seconds, cpu_used / n * 1e6, broker_used / n * 1e6,
      static_cast<double>(records) / n, static_cast<double>(counts.produced) / n,
      static_cast<unsigned long long>(counts.commits), counts.commit_seconds * of_each,
      counts.flush_seconds * of_each, counts.offsets_seconds * of_each, counts.end_seconds * of_each,
      static_cast<unsigned long long>(counts.aborts), static_cast<unsigned long long>(grants),
      static_cast<unsigned long long>(prepared.results));
  if (prepared.trickles > 0)
    std::printf("%8llu hosts: %9.0f trickles/s among them, %.0f events/s, %.2f us CPU per event here\n",
                static_cast<unsigned long long>(options.hosts),
                static_cast<double>(prepared.trickles) / seconds,
                (3 * n + static_cast<double>(prepared.trickles)) / seconds,
                cpu_used / (3 * n + static_cast<double>(prepared.trickles)) * 1e6);
  std::fflush(stdout);
  (void)workers->Stop(std::chrono::seconds(30));
  workers.reset();
  if (!restore) return n / seconds;

  RestoreOnce(options, deployment, prepared.results, "all commits replayed");
  settings::RunSettings checkpoints = deployment.settings();
  checkpoints.kafka.checkpoint_interval = std::chrono::seconds(1);
  workers = OpenWorkers(checkpoints);
  while (CountsOf(*workers).checkpointed < deployment.slots())
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  (void)workers->Stop(std::chrono::seconds(30));
  workers.reset();
  RestoreOnce(options, deployment, prepared.results, "from the checkpoint");
  return n / seconds;
}

// ---- At a rate -------------------------------------------------------------------------------------------------

// A child process of this program that runs as a worker of the deployment.
class WorkerProcess {
 public:
  WorkerProcess(const Options& options, const std::string& prefix, const std::string& instance, bool hot)
      : log_(options.directory + "/" + prefix + "-" + instance + ".log") {
    std::vector<std::string> words = {"kafka_bench",
                                      "--worker",
                                      instance,
                                      "--prefix",
                                      prefix,
                                      "--bootstrap",
                                      options.bootstrap,
                                      "--directory",
                                      options.directory,
                                      "--partitions",
                                      std::to_string(options.partitions),
                                      "--threads",
                                      std::to_string(options.threads),
                                      "--commit-min",
                                      std::to_string(options.commit_min),
                                      "--commit-max",
                                      std::to_string(options.commit_max),
                                      "--checkpoint",
                                      std::to_string(options.checkpoint),
                                      "--session",
                                      std::to_string(options.session)};
    if (!options.client_options.empty()) words.insert(words.end(), {"--client", options.client_options});
    if (hot) words.emplace_back("--hot");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int fd = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
      ::dup2(fd, 1);
      ::dup2(fd, 2);
      ::execv("/proc/self/exe", argv.data());
      std::_Exit(127);
    }
  }
  ~WorkerProcess() { End(SIGTERM); }
  void End(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  [[nodiscard]] double CpuSecondsUsed() const { return CpuSecondsOf(pid_); }
  // The rows that its slots have restored from checkpoints, from its log.
  [[nodiscard]] std::uint64_t RestoredRows() const {
    std::ifstream in(log_);
    std::uint64_t rows = 0;
    const std::string words = "restored from its checkpoint: ";
    for (std::string line; std::getline(in, line);)
      if (const auto at = line.find(words); at != std::string::npos)
        rows += std::strtoull(line.c_str() + at + words.size(), nullptr, 10);
    return rows;
  }

 private:
  std::string log_;
  pid_t pid_ = 0;
};

std::atomic<bool> termination_requested{false};

int RunAsWorker(const Options& options) {
  std::signal(SIGTERM, [](int) { termination_requested = true; });
  auto workers = OpenWorkers(SettingsOf(options, options.prefix, options.worker));
  while (!termination_requested) {
    Must(workers->failure());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  (void)workers->Stop(std::chrono::seconds(10));
  std::fflush(nullptr);
  std::_Exit(0);
}

// A project's producer with the options of examples/python: idempotent, without transactions.
class Source {
 public:
  Source(const Options& options, const stream::kafka::ClusterOptions& cluster)
      : partitions_(options.partitions) {
    char why[512] = "";
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    for (const auto& [name, value] :
         std::map<std::string, std::string>{{"bootstrap.servers", options.bootstrap},
                                            {"enable.idempotence", "true"},
                                            {"linger.ms", std::to_string(options.linger)},
                                            {"compression.type", "lz4"},
                                            {"batch.size", "1000000"}})
      if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why, sizeof why) != RD_KAFKA_CONF_OK)
        Die(Status::Fatal(why));
    rd_kafka_conf_set_opaque(conf, this);
    rd_kafka_conf_set_dr_msg_cb(conf, [](rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) Die(Status::Fatal(rd_kafka_err2str(message->err)));
      auto& slowest = static_cast<Source*>(self)->slowest_;
      slowest = std::max(slowest, static_cast<double>(rd_kafka_message_latency(message)) / 1e6);
    });
    handle_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    if (handle_ == nullptr) Die(Status::Fatal(why));
    for (std::size_t t = 0; t < cluster.topics.size(); ++t)
      topics_.push_back(rd_kafka_topic_new(
          handle_, stream::kafka::TopicName(cluster, static_cast<stream::TopicIndex>(t)).c_str(), nullptr));
  }
  ~Source() {
    rd_kafka_flush(handle_, 30000);
    for (rd_kafka_topic_t* topic : topics_) rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(handle_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  void Send(const std::string& event) {
    const stream::TopicPartition where = wire::RouteEvent(event, partitions_);
    while (rd_kafka_produce(topics_[where.topic], static_cast<std::int32_t>(where.partition),
                            RD_KAFKA_MSG_F_COPY, const_cast<char*>(event.data()), event.size(), nullptr, 0,
                            nullptr) != 0)
      rd_kafka_poll(handle_, 10);
  }
  void Poll() { rd_kafka_poll(handle_, 0); }
  // The longest time from Send() to the broker's answer, s.
  [[nodiscard]] double slowest() const { return slowest_; }

 private:
  std::uint32_t partitions_;
  rd_kafka_t* handle_ = nullptr;
  std::vector<rd_kafka_topic_t*> topics_;
  double slowest_ = 0;
};

// Load at a rate, with the times at which a reader has the resulting totals.
class Load {
 public:
  Load(const Options& options, double rate, double seconds)
      : options_(options),
        prepared_(PrepareTraffic(options, static_cast<std::uint64_t>(rate * seconds),
                                 static_cast<std::size_t>(std::max(2.0, rate * 2 * options.block)))) {
    const auto deciding = DecidingBlocks(prepared_.blocks);
    decided_.resize(prepared_.blocks.size());
    wire::HotEvent event;
    for (const AppendBlock& block : prepared_.blocks)
      for (const SourceLine& line : block.lines) {
        if (wire::DecodeHot(line.envelope, &event) != wire::HotDecode::kHot ||
            event.kind != wire::EventKind::kCompletion)
          continue;
        const std::uint64_t result = event.completion.result.value;
        if (result >= deciding.size() || deciding[result] == kNoBlock) continue;
        decided_[deciding[result]].push_back(event.completion.host.value);
        ++expected_;
      }
  }

  [[nodiscard]] const Prepared& prepared() const { return prepared_; }
  [[nodiscard]] std::size_t expected() const { return expected_; }
  [[nodiscard]] double seconds() const {
    return static_cast<double>(prepared_.blocks.size()) * options_.block;
  }
  // Ends the load early.
  void End() { ended_ = true; }

  // Sends each event when it is due, regardless of the progress of earlier events, and reads totals until all have
  // come. `beside` runs in a thread of its own.
  template <class Beside>
  void Run(Deployment& deployment, Beside beside) {
    start_ = Clock::now() + std::chrono::milliseconds(100);
    std::thread watcher([&] { Watch(deployment.cluster()); });
    std::thread concurrent([&] { beside(*this); });
    {
      Source source(options_, deployment.cluster_options());
      for (std::uint32_t k = 0; k < prepared_.blocks.size(); ++k) {
        std::this_thread::sleep_until(Due(k));
        if (ended_) {
          std::size_t sent = 0;
          for (std::uint32_t b = 0; b < k; ++b) sent += decided_[b].size();
          expected_ = sent;
          break;
        }
        for (const SourceLine& line : prepared_.blocks[k].lines) source.Send(line.envelope);
        source.Poll();
        late_ = std::max(late_, source.slowest());
      }
    }
    watcher.join();
    concurrent.join();
  }

  // Latencies in ms, ascending, without the first fifth, in which caches and connections are cold.
  [[nodiscard]] std::vector<double> Milliseconds() const {
    std::vector<double> settled(milliseconds_.begin() + static_cast<std::ptrdiff_t>(milliseconds_.size() / 5),
                                milliseconds_.end());
    std::sort(settled.begin(), settled.end());
    return settled;
  }
  [[nodiscard]] double late() const { return late_; }
  // Waits until every partition has a total of an event that was due after `since`. Returns the seconds since
  // then.
  double AwaitTotalsOfAllPartitions(Clock::time_point since) {
    for (;;) {
      if (!ended_ && since > Due(static_cast<std::uint32_t>(prepared_.blocks.size())))
        Die(Status::InvalidArgument("the load ended before the measurement; use more --seconds"));
      {
        const std::lock_guard lock(mutex_);
        bool all = !batches_.empty();
        Clock::time_point last{};
        for (const auto& batches : batches_) {
          const auto first = std::find_if(batches.begin(), batches.end(),
                                          [&](const TotalsBatch& batch) { return batch.due > since; });
          all = all && first != batches.end();
          if (first != batches.end()) last = std::max(last, first->read);
        }
        if (all) return Seconds(last - since);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

 private:
  Clock::time_point Due(std::uint32_t block) const {
    return start_ +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.block * block));
  }

  // A total has the number of its grants. The grants of a host come nearly in the order in which they were due.
  void Watch(stream::kafka::Cluster& cluster) {
    std::unordered_map<std::uint64_t, std::deque<Clock::time_point>> due;
    for (std::uint32_t b = 0; b < decided_.size(); ++b)
      for (const std::uint64_t host : decided_[b]) due[host].push_back(Due(b));
    auto reader = cluster.NewReader(stream::kafka::kLongFetch);
    if (!reader.ok()) Die(reader.status());
    for (std::uint32_t p = 0; p < options_.partitions; ++p)
      Must((*reader)->Start({wire::kTotals, p}, stream::kafka::kBeginning));
    {
      const std::lock_guard lock(mutex_);
      batches_.assign(options_.partitions, {});
    }
    std::unordered_map<std::uint64_t, std::uint64_t> grants;
    milliseconds_.reserve(expected_);
    std::deque<stream::kafka::Message> messages;
    wire::Total total;
    while (milliseconds_.size() < expected_) {
      for (std::uint32_t p = 0; p < options_.partitions; ++p) {
        Must((*reader)->Poll({wire::kTotals, p}, 1000, &messages));
        if (messages.empty()) continue;
        const auto now = Clock::now();
        TotalsBatch batch{.read = now, .due = {}};
        for (; !messages.empty(); messages.pop_front()) {
          stream::RecordCursor cursor(messages.front().value());
          std::string_view record;
          while (cursor.Next(&record)) {
            if (!wire::DecodeTotal(record, &total) || total.kind != wire::AccountKind::kHost) continue;
            auto& seen = grants[total.account];
            auto& waiting = due[total.account];
            for (; seen < total.grants && !waiting.empty(); ++seen, waiting.pop_front()) {
              milliseconds_.push_back(Seconds(now - waiting.front()) * 1e3);
              batch.due = std::max(batch.due, waiting.front());
            }
          }
        }
        if (batch.due == Clock::time_point{}) continue;
        const std::lock_guard lock(mutex_);
        batches_[p].push_back(batch);
      }
      (*reader)->Wait(stream::kafka::Millis(20));
    }
  }

  const Options& options_;
  Prepared prepared_;
  std::vector<std::vector<std::uint64_t>> decided_;  // by block: the hosts that get a grant with it
  std::atomic<std::size_t> expected_ = 0;
  std::atomic<bool> ended_ = false;
  Clock::time_point start_{};
  double late_ = 0;
  std::vector<double> milliseconds_;
  std::mutex mutex_;
  struct TotalsBatch {
    Clock::time_point read;
    Clock::time_point due;  // of the last event in it
  };
  std::vector<std::vector<TotalsBatch>> batches_;  // by partition; guarded by mutex_
};

void Latency(const Options& options, double rate) {
  Load load(options, rate, options.seconds);
  Deployment deployment(options, "latency", load.prepared());
  WorkerProcess worker(options, deployment.prefix(), kInstance, false);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const double cpu = worker.CpuSecondsUsed();
  const double broker_cpu = CpuSecondsOf(options.broker_pid);
  load.Run(deployment, [](Load&) {});
  const double cpu_used = worker.CpuSecondsUsed() - cpu;
  const double broker_used = CpuSecondsOf(options.broker_pid) - broker_cpu;
  const auto milliseconds = load.Milliseconds();
  const auto n = static_cast<double>(load.expected());
  std::printf(
      "%8llu hosts at %.0f results/s, commits each %.0f to %.0f ms: completion -> posted p50 %.0f ms, p99 %.0f ms, max %.0f "
      "ms (%zu results), %.1f us CPU per result in the worker, %.1f us in the broker; the broker acknowledged each "
      "message within %.0f ms\n",
      static_cast<unsigned long long>(options.hosts), rate, options.commit_min, options.commit_max,
      milliseconds[milliseconds.size() / 2], milliseconds[milliseconds.size() * 99 / 100],
      milliseconds.back(), milliseconds.size(), cpu_used / n * 1e6, broker_used / n * 1e6, load.late() * 1e3);
  std::fflush(stdout);
}

void Recovery(Options options, double rate) {
  options.checkpoint = std::min(options.checkpoint, 5.0);
  Load load(options, rate, std::max(options.seconds, 60 + 4 * options.session));
  Deployment deployment(options, "recovery", load.prepared());
  const auto pause = [](double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); };
  auto a = std::make_unique<WorkerProcess>(options, deployment.prefix(), "a", true);
  std::unique_ptr<WorkerProcess> b;
  pause(2);
  load.Run(deployment, [&](Load& running) {
    running.AwaitTotalsOfAllPartitions(Clock::now());
    pause(8);
    auto killed = Clock::now();
    a->End(SIGKILL);
    a = std::make_unique<WorkerProcess>(options, deployment.prefix(), "a", true);
    std::printf("killed and restarted, with its disk: all partitions continue after %.2f s\n",
                running.AwaitTotalsOfAllPartitions(killed));
    std::fflush(stdout);
    pause(8);
    killed = Clock::now();
    a->End(SIGKILL);
    deployment.RemoveState("a");
    a = std::make_unique<WorkerProcess>(options, deployment.prefix(), "a", true);
    const double without = running.AwaitTotalsOfAllPartitions(killed);
    std::printf("killed and restarted, without its disk: after %.2f s, %llu rows restored\n", without,
                static_cast<unsigned long long>(a->RestoredRows()));
    std::fflush(stdout);
    b = std::make_unique<WorkerProcess>(options, deployment.prefix(), "b", true);
    const bool first_is_of_b = deployment.AwaitHotStandby() == "b.0";
    killed = Clock::now();
    (first_is_of_b ? b : a)->End(SIGKILL);
    const double failover = running.AwaitTotalsOfAllPartitions(killed);
    std::printf("killed and replaced by a hot standby: after %.2f s (session timeout %.1f s + %.2f s)\n",
                failover, options.session, failover - options.session);
    std::fflush(stdout);
    running.End();
  });
  const auto milliseconds = load.Milliseconds();
  std::printf("every one of %zu results was posted, the last ones within %.1f s\n", load.expected(),
              milliseconds.back() / 1e3);
}

}  // namespace
}  // namespace cobblestone

int main(int argc, char** argv) {
  cobblestone::Options options;
  CLI::App app("Events in, totals posted, on Kafka, exactly once.");
  app.add_option("--bootstrap", options.bootstrap, "Broker")->capture_default_str();
  app.add_option("--broker-pid", options.broker_pid,
                 "Process id of the broker on this machine, to measure its CPU");
  app.add_option("--measure", options.measures, "throughput, restore, latency, sweep, recovery")
      ->delimiter(',')
      ->check(CLI::IsMember({"throughput", "restore", "latency", "sweep", "recovery"}))
      ->capture_default_str();
  app.add_option("--hosts", options.hosts, "Hosts")->capture_default_str();
  app.add_option("--results", options.results, "Results of the backlog")->capture_default_str();
  app.add_option("--trickles", options.trickles,
                 "Trickles of each result, in addition to its dispatch, for --measure throughput")
      ->capture_default_str();
  app.add_option("--rate", options.rate,
                 "Results/s of the measurements at a rate; 0: half of the throughput");
  app.add_option("--linger", options.linger, "linger.ms of the source at a rate")->capture_default_str();
  app.add_option("--seconds", options.seconds, "Duration of the measurements at a rate")
      ->capture_default_str();
  app.add_option("--partitions", options.partitions, "Partitions")->capture_default_str();
  app.add_option("--threads", options.threads, "Stream threads")->capture_default_str();
  app.add_option("--policy", options.policy, "Policy of all apps")->capture_default_str();
  app.add_option("--commit-min", options.commit_min, "kafka.commit_min, ms")->capture_default_str();
  app.add_option("--commit-max", options.commit_max, "kafka.commit_max, ms")->capture_default_str();
  app.add_option("--checkpoint", options.checkpoint, "kafka.checkpoint_interval, s")->capture_default_str();
  app.add_option("--session", options.session, "kafka.session_timeout, s")->capture_default_str();
  app.add_option("--client", options.client_options, "kafka.options");
  app.add_option("--directory", options.directory, "State directory (default: a temporary one)");
  const auto hidden = [&app](const std::string& name, auto& value) {
    app.add_option(name, value)->group("");
  };
  hidden("--worker", options.worker);
  hidden("--prefix", options.prefix);
  app.add_flag("--hot", options.hot)->group("");
  CLI11_PARSE(app, argc, argv);
  if (options.directory.empty())
    options.directory = std::filesystem::temp_directory_path() / "cobblestone-kafka-bench";
  std::filesystem::create_directories(options.directory);
  if (!options.worker.empty()) return cobblestone::RunAsWorker(options);
  double rate = options.rate;
  const auto rate_or_half = [&] {
    return rate > 0 ? rate : rate = cobblestone::Throughput(options, false) / 2;
  };
  for (const std::string& measure : options.measures) {
    if (measure == "throughput" || measure == "restore") {
      const double most = cobblestone::Throughput(options, measure == "restore");
      if (rate == 0) rate = most / 2;
    } else if (measure == "latency") {
      cobblestone::Latency(options, rate_or_half());
    } else if (measure == "sweep") {
      (void)rate_or_half();
      for (const auto& [least, most] : {std::pair(5.0, 20.0), {10.0, 50.0}, {20.0, 100.0}, {50.0, 200.0}}) {
        cobblestone::Options one = options;
        one.commit_min = least;
        one.commit_max = most;
        cobblestone::Latency(one, rate);
      }
    } else {
      cobblestone::Recovery(options, rate_or_half());
    }
  }
  std::fflush(nullptr);
  std::_Exit(0);
}
