// Backups of a deployment on a real broker while its workers run: killed, made while a source sends, restored on one machine,
// where the source goes on and ends like the oracle, and brought back to new topics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/settings/run_settings.h"
#include "services/kafka/migrate.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int kBusyExitCode = 4;
constexpr int kUsageExitCode = 2;
constexpr int kKilled = 128 + SIGKILL;

TEST(KafkaBackup, MadeBesideWorkersRestoresOnOneMachineAndGoesOnWhereItStood) {
  const auto broker = TestBroker::Shared();
  const std::vector<Event> events = Traffic(62, 3000);
  const KafkaWorld world(*broker, events);
  const std::string set = world.path("backups");
  const std::vector<std::string> backup = {"backup", "--to", set};
  auto worker = world.Worker("w0");
  const std::string half = world.path("half.pb");
  WriteTraffic({events.begin(), events.begin() + static_cast<std::ptrdiff_t>(events.size() / 2)}, half);
  const Finished taken = world.Run({"ingest", half, "--source", "traffic.pb"});
  ASSERT_LE(taken.code, 1) << taken.err;  // 1: bad lines of the traffic were told
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
  const Finished made = world.Run(backup);
  ASSERT_EQ(made.code, 0) << made.out << made.err;
  EXPECT_THAT(made.err, HasSubstr("was left by a backup that was interrupted"));
  EXPECT_FALSE(fs::exists(set + "/kafka-copy"));
  EXPECT_TRUE(worker->Runs()) << worker->err();

  // The deployment goes on, and the backup stays as it is.
  const Finished rest = world.Ingest();
  ASSERT_LE(rest.code, 1) << rest.err;
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();

  const Finished onto_kafka = world.Run({"restore", "--from", set});
  EXPECT_EQ(onto_kafka.code, kUsageExitCode) << onto_kafka.err;
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
  EXPECT_THAT(again.out, HasSubstr("were already ingested, skipped"));
  {
    settings::RunSettings settings;
    settings.data_directory = data;
    settings.partitions = 4;
    auto engine = Engine::Open(settings, [](const std::string&) {});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    ExpectLikeTheOracle(**engine, events);
  }
  // Or on new topics, as after the loss of the cluster: the other half of the source goes there.
  const KafkaWorld anew(*broker, events);
  const std::string one = world.path("one.yaml");
  std::ofstream(one) << "data_directory: " << world.path("lost") << "\npartitions: 4\n";
  ASSERT_EQ(RunProgram(directory, {"restore", "--from", set, "--config", one}).code, 0);
  const Finished moved = RunProgram(directory, {"migrate", "--from", one, "--to", anew.ConfigOf("admin")});
  ASSERT_EQ(moved.code, 0) << moved.out << moved.err;
  auto next = anew.Worker("w0");
  EXPECT_LE(anew.Ingest().code, 1);
  EXPECT_TRUE(anew.AwaitRest(std::chrono::seconds(60))) << anew.Tasks().dump(1);
  next->Signal(SIGTERM);
  EXPECT_EQ(next->Wait(), 0) << next->err();
  anew.ExpectLikeTheOracle(false);
}

TEST(KafkaBackup, TopicsThatMoveGiveNoBackup) {
  const auto broker = TestBroker::Shared();
  KafkaWorld world(*broker, 63);
  const std::string set = world.path("backups");
  auto worker = world.Worker("w0");
  {
    KafkaWorld::Feed first(world);  // a catalogue, and something to copy
    ASSERT_EQ(first.Finish(), "");
  }
  KafkaWorld::Stream stream(world);
  const Finished moving = world.Run({"backup", "--to", set});
  EXPECT_EQ(moving.code, kBusyExitCode) << moving.out << moving.err;
  EXPECT_THAT(moving.err, HasSubstr("the topics keep changing"));
  EXPECT_THAT(moving.err, HasSubstr("stop all sources"));
  EXPECT_EQ(stream.Finish(), "");
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(set)) left.push_back(entry.path().filename());
  EXPECT_THAT(left, ::testing::ElementsAre("lock"));
  ASSERT_TRUE(world.AwaitRest(std::chrono::seconds(60)));
  const Finished still = world.Run({"backup", "--to", set});
  EXPECT_EQ(still.code, 0) << still.out << still.err;
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
}

// A slot or a partition whose end keeps moving is not followed without an end.
TEST(KafkaBackup, ACheckThatFailsEndsACopyInAPartitionAndInASlot) {
  const auto broker = TestBroker::Shared();
  const KafkaWorld world(*broker, Traffic(64, 300));
  auto worker = world.Worker("w0");
  ASSERT_LE(world.Ingest().code, 1);
  ASSERT_TRUE(world.AwaitRest(std::chrono::seconds(60))) << world.Tasks().dump(1);
  const auto settings = settings::LoadRunSettings(world.ConfigOf("admin"));
  ASSERT_TRUE(settings.ok()) << settings.status().message();

  const Status changed = Status::Retry("the topics have changed");
  int checks = 0;
  const auto in_partition = MigrateToEmbedded(*settings, world.path("partition"),
                                              {.checkpoint = true, .progress = {}, .check = [&] {
                                                 ++checks;
                                                 return changed;
                                               }});
  EXPECT_EQ(in_partition.status().code(), StatusCode::kRetry);
  EXPECT_EQ(in_partition.status().message(), changed.message());
  EXPECT_EQ(checks, 1);

  const std::string slot = world.path("slot");
  const auto in_slot = MigrateToEmbedded(
      *settings, slot, {.checkpoint = true, .progress = {}, .check = [&] {
                          return fs::exists(slot + "/state/slot-0") ? changed : Status::Ok();
                        }});
  EXPECT_EQ(in_slot.status().message(), changed.message());
  EXPECT_TRUE(fs::exists(slot + "/state/slot-0"));
  EXPECT_FALSE(fs::exists(slot + "/checkpoints/slot-0")) << "the slot was followed to its end";
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
}

}  // namespace
}  // namespace cobblestone::testing
