// Backups of a deployment on a real broker while its workers run. Backups are killed, made while a source
// sends, restored on one machine where the source continues and the result equals the oracle's, and moved to
// new topics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/settings/run_settings.h"
#include "common/stream/kafka/librdkafka/cluster.h"
#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "common/wire/control/topics.h"
#include "services/backup/kafka_backup.h"
#include "services/cli/progress.h"
#include "services/kafka/kafka_deployment.h"
#include "tests/robustness/kafka_requests.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {

using cli::WithCommas;
using embedded::Engine;
using kafka::DeploymentOf;

namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int kBusyExitCode = 4;
constexpr int kUsageExitCode = 2;
constexpr int kKilled = 128 + SIGKILL;

// Restores the newest backup on one machine and sends the source again. Only the rest of the source is
// ingested, and the result equals the oracle's.
void ExpectThatTheSourceContinues(const KafkaWorld& world, const std::string& set,
                                  const std::vector<Event>& events, const std::string& skipped = "") {
  const std::string directory = world.path("");
  const std::string data = world.path("restored");
  const Finished restored = RunProgram(directory, {"restore", "--from", set, "--data", data});
  ASSERT_EQ(restored.code, 0) << restored.out << restored.err;
  const Finished audited = RunProgram(directory, {"audit", "--data", data});
  EXPECT_EQ(audited.code, 0) << audited.out << audited.err;
  const std::string whole = world.path("traffic.pb");
  WriteTraffic(events, whole);
  const Finished again = RunProgram(directory, {"ingest", whole, "--data", data});
  EXPECT_LE(again.code, 1) << again.out << again.err;
  EXPECT_THAT(again.out, HasSubstr(skipped));
  {
    settings::RunSettings settings;
    settings.data_directory = data;
    settings.partitions = 4;
    auto engine = Engine::Open(settings, [](const std::string&) {});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    ExpectLikeTheOracle(**engine, events);
  }
}

TEST(KafkaBackup, MadeBesideWorkersRestoresOnOneMachineAndContinues) {
  const auto broker = TestBroker::Shared();
  const std::vector<Event> events = Traffic(62, 1500);
  const KafkaWorld world(*broker, events);
  const std::string set = world.path("backups");
  const std::vector<std::string> backup = {"backup", "--to", set};
  auto worker = world.Worker("w0");
  const std::string half = world.path("half.pb");
  WriteTraffic({events.begin(), events.begin() + static_cast<std::ptrdiff_t>(events.size() / 2)}, half);
  const Finished ingested = world.Run({"ingest", half, "--source", "traffic.pb"});
  ASSERT_LE(ingested.code, 1) << ingested.err;  // 1: bad lines of the traffic were reported
  ASSERT_TRUE(world.AwaitRest(std::chrono::seconds(60))) << world.Tasks().dump(1);

  const auto with_config = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--config", world.ConfigOf("admin")});
    return words;
  };
  for (const char* point : {"B1:1", "B2:5", "B3:1"}) {
    SCOPED_TRACE(point);
    Background dying(world.path(""), with_config(backup), point);
    EXPECT_EQ(dying.Wait(), kKilled) << dying.err();
  }
  // The rest of the source is ingested between the moment of the backup and the copy.
  const auto settings = settings::LoadRunSettings(world.ConfigOf("admin"));
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  std::string reports;
  const auto ingest_the_rest = [&](const std::string& what) {
    reports += what + "\n";
    if (what.find("may continue") == std::string::npos) return;
    const Finished rest = world.Ingest();
    EXPECT_LE(rest.code, 1) << rest.err;
    EXPECT_TRUE(world.AwaitRest(std::chrono::seconds(60)));
  };
  // In a separate thread, because BackUpKafka lowers the priority of its thread.
  std::optional<Result<backup::BackupOutcome>> outcome;
  std::thread([&] {
    outcome.emplace(backup::BackUpKafka(
        *settings, {.to = set, .made_with = "partitions: 4\n", .report = ingest_the_rest}));
  }).join();
  const auto& made = *outcome;
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_THAT(reports, HasSubstr("was left by a backup that was interrupted"));
  EXPECT_THAT(reports, HasSubstr("may continue"));
  EXPECT_TRUE(fs::exists(set + "/kafka-copy"));
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();

  const Finished onto_kafka = world.Run({"restore", "--from", set});
  EXPECT_EQ(onto_kafka.code, kUsageExitCode) << onto_kafka.err;
  ExpectThatTheSourceContinues(world, set, events,
                               WithCommas(events.size() / 2) + " lines were already ingested, skipped");
  // The backup is also moved to new topics, as after the loss of the cluster, and the other half of the
  // source is ingested there.
  const KafkaWorld next_cluster(*broker, events);
  const std::string one = world.path("one.yaml");
  std::ofstream(one) << "data_directory: " << world.path("lost") << "\npartitions: 4\n";
  ASSERT_EQ(RunProgram(world.path(""), {"restore", "--from", set, "--config", one}).code, 0);
  const Finished moved =
      RunProgram(world.path(""), {"migrate", "--from", one, "--to", next_cluster.ConfigOf("admin")});
  ASSERT_EQ(moved.code, 0) << moved.out << moved.err;
  auto next = next_cluster.Worker("w0");
  EXPECT_LE(next_cluster.Ingest().code, 1);
  EXPECT_TRUE(next_cluster.AwaitRest(std::chrono::seconds(60))) << next_cluster.Tasks().dump(1);
  next->Signal(SIGTERM);
  EXPECT_EQ(next->Wait(), 0) << next->err();
  next_cluster.ExpectLikeTheOracle(false);
}

// Makes a backup. Returns how many records it read from the topics.
std::uint64_t BackUp(const KafkaWorld& world, backup::BackupOptions options,
                     std::uint64_t* linked = nullptr) {
  const auto settings = settings::LoadRunSettings(world.ConfigOf("admin"));
  EXPECT_TRUE(settings.ok()) << settings.status().message();
  std::uint64_t read = 0;
  options.made_with = "partitions: 4\n";
  options.reading = [&](std::uint64_t records) { read = records; };
  std::thread([&] {  // because BackUpKafka lowers the priority of its thread
    const auto made = backup::BackUpKafka(*settings, options);
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (made.ok() && linked != nullptr) *linked = made->linked_files;
  })
      .join();
  return read;
}

TEST(KafkaBackup, TheNextOneReadsOnlyNewRecordsAndNoneThatTheBrokersTrimmed) {
  const auto broker = TestBroker::Shared();
  const std::vector<Event> events = Traffic(65, 1500);
  const KafkaWorld world(*broker, events);
  const std::string set = world.path("backups");
  auto worker = world.Worker("w0");
  const std::string half = world.path("half.pb");
  WriteTraffic({events.begin(), events.begin() + static_cast<std::ptrdiff_t>(events.size() / 2)}, half);
  ASSERT_LE(world.Run({"ingest", half, "--source", "traffic.pb"}).code, 1);
  ASSERT_TRUE(world.AwaitRest(std::chrono::seconds(60))) << world.Tasks().dump(1);
  EXPECT_GT(BackUp(world, {.to = set}), events.size() / 2);
  std::uint64_t linked = 0;
  EXPECT_EQ(BackUp(world, {.to = set}, &linked), 0u);
  EXPECT_GT(linked, 4u);

  ASSERT_LE(world.Ingest().code, 1);
  ASSERT_TRUE(world.AwaitRest(std::chrono::seconds(60))) << world.Tasks().dump(1);
  const auto settings = settings::LoadRunSettings(world.ConfigOf("admin"));
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  const auto deployment = DeploymentOf(*settings, {});
  ASSERT_TRUE(deployment.ok()) << deployment.status().message();
  const auto admin = stream::kafka::MakeTopicAdmin(deployment->cluster);
  ASSERT_TRUE(admin.ok()) << admin.status().message();
  for (const stream::TopicIndex topic : {wire::kCompletions, wire::kValidations})
    for (std::uint32_t p = 0; p < 4; ++p) {
      const auto ends = (*admin)->EndsOf({topic, p});
      ASSERT_TRUE(ends.ok()) << ends.status().message();
      TrimPartition(broker->bootstrap(), stream::kafka::TopicName(deployment->cluster, topic), p,
                    ends->stable);
    }
  EXPECT_GT(BackUp(world, {.to = set}), events.size() / 2);
  EXPECT_EQ(BackUp(world, {.to = set}), 0u);

  const KafkaWorld other(*broker, events);
  const Finished refused = other.Run({"backup", "--to", set});
  EXPECT_EQ(refused.code, kUsageExitCode) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("belong to the deployment " + world.prefix()));
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
  ExpectThatTheSourceContinues(world, set, events,
                               WithCommas(events.size()) + " lines were already ingested, skipped");
  EXPECT_GT(BackUp(world, {.to = set, .full = true}), events.size());
}

// Holds wherever the backup falls between the source's transactions.
TEST(KafkaBackup, MadeWhileASourceSendsHasItsPositionAndEvents) {
  const auto broker = TestBroker::Shared();
  const std::vector<Event> events = Traffic(63, 1500);
  const KafkaWorld world(*broker, events);
  const std::string set = world.path("backups");
  auto worker = world.Worker("w0");
  auto source = world.IngestInBackground();
  const Finished made = world.Run({"backup", "--to", set});
  ASSERT_EQ(made.code, 0) << made.out << made.err;
  EXPECT_LE(source->Wait(), 1) << source->err();
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
  ExpectThatTheSourceContinues(world, set, events);
}

TEST(KafkaBackup, WaitsForOpenTransactionsAndNamesThePartition) {
  const auto broker = TestBroker::Shared();
  const KafkaWorld world(*broker, Traffic(64, 300));
  const std::string set = world.path("backups");
  const auto settings = settings::LoadRunSettings(world.ConfigOf("admin"));
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  const auto deployment = DeploymentOf(*settings, {});
  ASSERT_TRUE(deployment.ok()) << deployment.status().message();
  const auto cluster = stream::kafka::MakeCluster(deployment->cluster);
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  const auto producer = (*cluster)->NewProducer(world.prefix() + ".source");
  ASSERT_TRUE(producer.ok()) << producer.status().message();
  std::uint64_t offset = 0;
  ASSERT_TRUE((*producer)->Init().ok());
  ASSERT_TRUE((*producer)->Begin().ok());
  ASSERT_TRUE((*producer)->Produce({wire::kCompletions, 2}, "", "event", &offset).ok());
  ASSERT_TRUE((*producer)->Flush().ok());

  const Finished waited = world.Run({"backup", "--to", set, "--wait", "1"});
  EXPECT_EQ(waited.code, kBusyExitCode) << waited.out << waited.err;
  EXPECT_THAT(waited.err, HasSubstr("within 1 s there was no moment without an open transaction"));
  EXPECT_THAT(waited.err,
              HasSubstr("a transaction is open on " + world.prefix() + ".completions, partition 2"));
  EXPECT_THAT(waited.err, HasSubstr("Pause all sources"));
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(set)) left.push_back(entry.path().filename());
  EXPECT_THAT(left, ::testing::ElementsAre("lock"));

  ASSERT_TRUE((*producer)->Abort().ok());
  const Finished made = world.Run({"backup", "--to", set});
  EXPECT_EQ(made.code, 0) << made.out << made.err;
}

}  // namespace
}  // namespace cobblestone::testing
