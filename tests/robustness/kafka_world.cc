#include "tests/robustness/kafka_world.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/settings/run_settings.h"
#include "common/stream/record.h"
#include "common/wire/events/event_codec.h"
#include "services/access/client.h"
#include "services/embedded/engine.h"
#include "tests/robustness/kafka_requests.h"

namespace cobblestone::testing {

using embedded::Engine;
using traffic::GenerateOptions;
using traffic::Generator;

namespace {

constexpr std::size_t kBlockEvents = 5000;
constexpr std::size_t kStreamEvents = 100;
constexpr std::chrono::milliseconds kStreamPause{30};
constexpr int kIngestAttempts = 20;  // brokers may be down

std::string Output(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no shell");
  char some[4096];
  while (const std::size_t n = std::fread(some, 1, sizeof some, pipe)) text.append(some, n);
  if (::pclose(pipe) != 0) throw std::runtime_error("'" + command + "' failed: " + text);
  return text;
}

std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
}

std::string KafkaLocal() { return std::string(COBBLESTONE_SOURCE_DIR) + "/deploy/kafka/kafka-local"; }

}  // namespace

std::unique_ptr<TestBroker> TestBroker::Shared() {
  const char* path = std::getenv("COBBLESTONE_TEST_BROKER");
  if (path == nullptr) return Dedicated(1);
  std::unique_ptr<TestBroker> broker(new TestBroker);
  broker->path_ = path;
  broker->bootstrap_ = LastLine(
      Output(KafkaLocal() + " start --dir " + broker->path_));  // already running: prints its address
  return broker;
}

std::unique_ptr<TestBroker> TestBroker::Dedicated(int brokers) { return Start(brokers, ""); }

std::unique_ptr<TestBroker> TestBroker::DedicatedBehind(const std::string& proxy) {
  return Start(1, " --proxy " + proxy);
}

std::unique_ptr<TestBroker> TestBroker::DedicatedSecured() { return Start(1, " --tls --sasl"); }

std::unique_ptr<TestBroker> TestBroker::Start(int brokers, const std::string& more) {
  std::unique_ptr<TestBroker> broker(new TestBroker);
  broker->directory_ = std::make_unique<TempDir>();
  broker->path_ = *broker->directory_ / "kafka";
  broker->brokers_ = brokers;
  broker->bootstrap_ = LastLine(Output(KafkaLocal() + " start --brokers " + std::to_string(brokers) + more +
                                       " --dir " + broker->path_));
  return broker;
}

// The last of the broker's four ports (kafka-local --help).
std::string TestBroker::behind_proxy() const {
  const std::size_t colon = bootstrap_.rfind(':');
  return bootstrap_.substr(0, colon + 1) + std::to_string(std::stoi(bootstrap_.substr(colon + 1)) + 3);
}

TestBroker::~TestBroker() {
  if (directory_ == nullptr) return;
  try {
    Run("stop");
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

void TestBroker::Run(const std::string& verb) const {
  (void)Output(KafkaLocal() + " " + verb + " --dir " + path_);
}
void TestBroker::Kill(int broker) const { Run("kill " + std::to_string(broker)); }
void TestBroker::Restart(int broker) const { Run("restart " + std::to_string(broker)); }

KafkaWorld::KafkaWorld(const TestBroker& broker, const std::vector<Event>& events, KafkaWorldOptions options)
    : bootstrap_(broker.bootstrap()),
      replication_(broker.brokers()),
      events_(events),
      options_(std::move(options)) {
  static int worlds = 0;
  prefix_ = "t" + std::to_string(::getpid()) + "-" + std::to_string(++worlds) + "-" +
            std::to_string(::time(nullptr) % 100000);
  WriteTraffic(events_, directory_ / "traffic.pb");
  const Finished made = RunProgram(directory_ / "", {"topics", "create", "--config", ConfigOf("admin")});
  if (made.code != 0) throw std::runtime_error(made.out + made.err);
}

KafkaWorld::~KafkaWorld() = default;

namespace {

// More than any test ingests, as dense in time as the traffic of other tests.
GenerateOptions EndlessTraffic(std::uint64_t seed) {
  GenerateOptions options = TrafficOptions(seed, 2'000'000);
  options.span = 10 * static_cast<double>(options.results);
  return options;
}

}  // namespace

KafkaWorld::KafkaWorld(const TestBroker& broker, std::uint64_t seed, KafkaWorldOptions options)
    : KafkaWorld(broker, std::vector<Event>(), std::move(options)) {
  more_ = std::make_unique<Generator>(EndlessTraffic(seed));
}

std::string KafkaWorld::MoreTraffic(std::size_t events) {
  std::string bytes;
  for (std::string envelope; events > 0 && more_->Next(&envelope); --events) {
    const auto routing = wire::PeekRouting(envelope);
    events_.push_back({envelope, routing && routing->key == wire::KeyKind::kBroadcast});
    stream::AppendRecord(bytes, envelope);
  }
  return bytes;
}

KafkaWorld::Feed::Feed(KafkaWorld& world) : world_(world), thread_([this] { Run(); }) {}

KafkaWorld::Feed::~Feed() {
  if (thread_.joinable()) (void)Finish();
}

void KafkaWorld::Feed::Run() {
  while (!stopping_ && problem_.empty()) {
    std::ofstream(world_.path("traffic.pb"), std::ios::binary | std::ios::app)
        << world_.MoreTraffic(kBlockEvents);
    for (int tries = 1;; ++tries) {
      const Finished ingested = world_.Ingest();
      if (ingested.code <= 1) break;  // 1: bad lines of the traffic were reported
      if (tries == kIngestAttempts) problem_ = ingested.err;
      if (tries == kIngestAttempts) break;
    }
  }
}

std::string KafkaWorld::Feed::Finish() {
  stopping_ = true;
  thread_.join();
  return problem_;
}

KafkaWorld::Stream::Stream(KafkaWorld& world) : world_(world) {
  const std::string path = world_.path("stream");
  if (::mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("no pipe " + path);
  // Opens both ends, because opening one would wait for the other.
  pipe_ = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  source_ = std::make_unique<Background>(
      world_.path(""),
      std::vector<std::string>{"ingest", "-", "--source", "stream", "--config", world_.ConfigOf("admin")}, "",
      std::vector<std::pair<std::string, std::string>>{}, path);
  thread_ = std::thread([this] { Run(); });
}

KafkaWorld::Stream::~Stream() {
  if (thread_.joinable()) (void)Finish();
}

void KafkaWorld::Stream::Run() {
  while (!stopping_) {
    const std::string bytes = world_.MoreTraffic(kStreamEvents);
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t n = ::write(pipe_, bytes.data() + at, bytes.size() - at);
      if (n > 0) at += static_cast<std::size_t>(n);
      if (n < 0 && !source_->Runs()) return;
      std::this_thread::sleep_for(kStreamPause);  // because the oracle processes all of it at the end
    }
  }
}

std::string KafkaWorld::Stream::Finish() {
  stopping_ = true;
  thread_.join();
  ::close(pipe_);
  const int code = source_->Wait();
  return code <= 1 ? "" : source_->err();  // 1: bad lines of the traffic were reported
}

// Small transactions, frequent state writes and checkpoints, short sessions. The brokers abort
// a transaction of a dead worker after 5 s. The operator's commands, `admin`, have 60 s, because a busy machine may stop
// `ingest` for seconds.
std::string KafkaWorld::ConfigOf(const std::string& name) const {
  const std::string path = directory_ / (name + ".yaml");
  const bool through = name != "admin" && !options_.bootstrap.empty();
  const auto stages = options_.stages.find(name);
  std::ofstream(path)
      << (stages == options_.stages.end() ? "" : "stages: " + stages->second + "\n")
      << "backend: kafka\npartitions: " << options_.partitions
      << "\nthreads: 1\ndata_directory: " << state_of(name)
      << "\nstate:\n  flush_interval: 200 ms\n  max_debt_records: 20000\ncheckpoint:\n  interval: 1 s\n"
         "log:\n  level: debug\nkafka:\n  bootstrap: "
      << (through ? options_.bootstrap : bootstrap_) << "\n  prefix: " << prefix_ << "\n  instance: " << name
      << "\n  replication: " << replication_
      << "\n  session_timeout: 3 s\n  transaction_timeout: " << (name == "admin" ? "60 s" : "5 s")
      << "\n  commit_min: 2 ms\n  commit_max: 10 ms\n"
         "  checkpoint_interval: 1 s\n"
      << options_.kafka << options_.more;
  return path;
}

std::unique_ptr<Background> KafkaWorld::Worker(const std::string& name, const std::string& failpoint,
                                               std::chrono::seconds clock_off) const {
  std::vector<std::pair<std::string, std::string>> environment;
  if (clock_off != std::chrono::seconds(0))
    environment = {{"LD_PRELOAD", COBBLESTONE_OTHER_CLOCK},
                   {"COBBLESTONE_OTHER_CLOCK", std::to_string(clock_off.count())}};
  return std::make_unique<Background>(
      directory_ / "", std::vector<std::string>{"run", "--config", ConfigOf(name)}, failpoint, environment);
}

std::unique_ptr<Background> KafkaWorld::IngestInBackground() const {
  return std::make_unique<Background>(
      directory_ / "",
      std::vector<std::string>{"ingest", directory_ / "traffic.pb", "--config", ConfigOf("admin")});
}

Finished KafkaWorld::Ingest() const {
  return RunProgram(directory_ / "", {"ingest", directory_ / "traffic.pb", "--config", ConfigOf("admin")});
}

Finished KafkaWorld::Run(std::vector<std::string> words) const {
  words.insert(words.end(), {"--config", ConfigOf("admin")});
  return RunProgram(directory_ / "", words);
}

nlohmann::json KafkaWorld::Tasks() const {
  if (client_ == nullptr) {
    const auto settings = settings::LoadRunSettings(ConfigOf("admin"));
    if (!settings.ok()) throw std::runtime_error(settings.status().message());
    auto client = access::Client::Open(*settings, access::Purpose::kAsk, [](const std::string&) {});
    if (client.ok()) client_ = std::move(*client);
  }
  if (client_ != nullptr) {
    auto tasks = client_->Ask({.path = "/tasks", .parameters = {}});
    if (tasks.ok()) return *std::move(tasks);
    client_.reset();
  }
  return nlohmann::json::value_t::discarded;
}

nlohmann::json KafkaWorld::Ask(std::vector<std::string> words) const {
  words.insert(words.end(), {"--json", "--config", ConfigOf("admin")});
  return AskProgram(directory_ / "", words);
}

bool KafkaWorld::Await(const std::function<bool(const nlohmann::json&)>& predicate,
                       std::chrono::seconds at_most) const {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (std::chrono::steady_clock::now() < deadline) {
    const nlohmann::json tasks = Tasks();
    if (tasks.is_object() && predicate(tasks)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return false;
}

bool KafkaWorld::AwaitRest(std::chrono::seconds at_most) const {
  return Await(
      [](const nlohmann::json& answer) {
        std::size_t resting = 0;
        for (const auto& task : answer["tasks"])
          if (task.value("phase", "") == "running" && task.value("lag", 1) == 0) ++resting;
        return resting > 0 && resting == answer["tasks"].size();
      },
      at_most);
}

bool KafkaWorld::InTransaction(const std::string& name) const {
  return HasOpenTransaction(bootstrap_, prefix_ + "." + name + ".0");
}

bool KafkaWorld::StopInTransaction(const std::string& name, const Background& process) const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (;;) {
    if (InTransaction(name)) {
      process.Signal(SIGSTOP);
      // A request sent before the stop has been decided by now, or never will be.
      if (InTransaction(name)) return true;
      process.Signal(SIGCONT);
    }
    if (std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  process.Signal(SIGSTOP);
  return false;
}

void KafkaWorld::WithMigrated(const std::function<void(Engine&)>& look, bool from_the_beginning) const {
  const std::string embedded = directory_ / "embedded";
  const std::string config = directory_ / "embedded.yaml";
  std::ofstream(config) << "data_directory: " << embedded << "\npartitions: " << options_.partitions << "\n"
                        << options_.more;
  std::vector<std::string> migrate = {"migrate", "--from", ConfigOf("admin"), "--to", config};
  if (from_the_beginning) migrate.emplace_back("--from-the-beginning");
  const Finished moved = RunProgram(directory_ / "", migrate);
  ASSERT_EQ(moved.code, 0) << moved.out << moved.err;
  const auto settings = settings::LoadRunSettings(config);
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  {
    auto engine = Engine::Open(*settings, [](const std::string&) {});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    look(**engine);
  }
  std::filesystem::remove_all(embedded);
}

void KafkaWorld::ExpectLikeTheOracle(bool from_the_beginning) const {
  const Finished verified = Run({"verify"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  WithMigrated([this](Engine& engine) { testing::ExpectLikeTheOracle(engine, events_); }, from_the_beginning);
}

}  // namespace cobblestone::testing
