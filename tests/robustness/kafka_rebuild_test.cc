// `rebuild` on a real broker. A group that has lost its committed offsets continues from its journals. A state
// that is rebuilt on one machine replaces the original, and later checkpoints are based on it.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

constexpr int kKilled = 128 + SIGKILL;
constexpr int kSlots = 5;

int Count(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++count;
  return count;
}

// Uses Kafka's own tool, which refuses while sessions last.
bool DeleteGroup(const KafkaWorld& world) {
  const std::string command =
      "java -XX:TieredStopAtLevel=1 -cp '" COBBLESTONE_SOURCE_DIR
      "/build/kafka/libs/*' org.apache.kafka.tools.consumer.group.ConsumerGroupCommand "
      "--bootstrap-server " +
      world.bootstrap() + " --delete --group " + world.prefix() + ".slots 2>&1";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::string output;
  while (std::chrono::steady_clock::now() < deadline) {
    output.clear();
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return false;
    char some[4096];
    while (const std::size_t n = std::fread(some, 1, sizeof some, pipe)) output.append(some, n);
    ::pclose(pipe);
    if (output.find("was successful") != std::string::npos) return true;
  }
  std::printf("%s\n", output.c_str());
  return false;
}

class KafkaRebuild : public ::testing::Test {
 protected:
  Finished Rebuild(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"rebuild", "--config", world_.ConfigOf("w0")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram(world_.path(""), arguments);
  }
  // The source's first `count` events; the source grows with each call.
  void IngestSome(std::size_t count) const {
    WriteTraffic({events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(count)},
                 world_.path("some.pb"));
    const Finished ingested = RunProgram(
        world_.path(""),
        {"ingest", world_.path("some.pb"), "--source", "traffic.pb", "--config", world_.ConfigOf("admin")});
    EXPECT_LE(ingested.code, 1) << ingested.err;  // 1: bad lines of the traffic were reported
  }
  static void Stop(Background& worker) {
    ASSERT_TRUE(worker.WaitFor("running")) << worker.err();
    worker.Signal(SIGTERM);
    EXPECT_EQ(worker.Wait(), 0) << worker.err();
  }

  std::unique_ptr<TestBroker> broker_ = TestBroker::Shared();
  std::vector<Event> events_ = Traffic(51, 3000);
  KafkaWorld world_{*broker_, events_};
};

TEST_F(KafkaRebuild, ADeletedGroupContinuesFromItsJournals) {
  {
    auto worker = world_.Worker("w0");
    IngestSome(events_.size() / 2);
    Stop(*worker);
  }
  // Dies with a transaction open, whose records are at the end of the journals.
  auto ingest = world_.IngestInBackground();
  auto worker = world_.Worker("w0", "K3:12");
  ASSERT_EQ(worker->Wait(), kKilled) << worker->err();
  ASSERT_TRUE(DeleteGroup(world_));

  worker = world_.Worker("w0");
  ASSERT_TRUE(worker->WaitFor("--journal` commits the end of the journal")) << worker->err();
  // The worker also reports this before it joins the group; a member has been assigned its slots.
  EXPECT_TRUE(world_.Await(
      [](const nlohmann::json& answer) {
        for (const auto& task : answer["tasks"])
          if (task.value("phase", "") != "stopped") return false;
        return true;
      },
      std::chrono::seconds(60)))
      << world_.Tasks().dump(1);
  const Finished early = Rebuild({"--journal"});
  EXPECT_EQ(early.code, 4) << early.out << early.err;
  EXPECT_NE(early.err.find("Stop all of them"), std::string::npos) << early.err;
  Stop(*worker);

  const Finished committed = Rebuild({"--journal"});
  ASSERT_EQ(committed.code, 0) << committed.err;
  EXPECT_EQ(Count(committed.out, "continues after commit"), kSlots) << committed.out;
  const Finished again = Rebuild({"--journal"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(Count(again.out, "the group already has commit"), kSlots) << again.out;

  worker = world_.Worker("w0");
  EXPECT_LE(ingest->Wait(), 1) << ingest->err();
  EXPECT_TRUE(world_.AwaitRest(std::chrono::seconds(60))) << world_.Tasks().dump(1);
  Stop(*worker);
  world_.ExpectLikeTheOracle();
}

TEST_F(KafkaRebuild, ARebuiltStateReplacesTheOriginal) {
  // No checkpoint exists so far, so the next one must contain the whole state.
  std::ifstream file(world_.ConfigOf("w0"));
  std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string often = "checkpoint_interval: 1 s";
  ASSERT_NE(text.find(often), std::string::npos);
  text.replace(text.find(often), often.size(), "checkpoint_interval: 1 h");
  const std::string seldom = world_.path("seldom.yaml");
  std::ofstream(seldom) << text;
  {
    Background first(world_.path(""), {"run", "--config", seldom});
    IngestSome(events_.size() / 2);
    Stop(first);
  }
  const Finished rebuilt = Rebuild({});
  ASSERT_EQ(rebuilt.code, 0) << rebuilt.err;
  EXPECT_GT(Count(rebuilt.out, "rebuilt as of commit"), Count(rebuilt.out, " 0 commits re-executed"))
      << rebuilt.out;
  EXPECT_EQ(Rebuild({"77"}).code, 3);

  auto worker = world_.Worker("w0");
  const Finished ingested = world_.Ingest();
  EXPECT_LE(ingested.code, 1) << ingested.err;  // 1: bad lines of the traffic were reported
  const Finished early = Rebuild({"0"});
  EXPECT_EQ(early.code, 4) << early.out << early.err;
  // Waits for checkpoints that were written from the rebuilt state.
  EXPECT_TRUE(world_.AwaitRest(std::chrono::seconds(60))) << world_.Tasks().dump(1);
  EXPECT_TRUE(world_.Await(
      [](const nlohmann::json& answer) {
        for (const auto& task : answer["tasks"])
          if (task.value("checkpoint", 0) < task.value("state_written", 1)) return false;
        return true;
      },
      std::chrono::seconds(60)))
      << world_.Tasks().dump(1);
  Stop(*worker);
  // The checkpoints hold the state that all commits from the first one give.
  const Finished verified = RunProgram(world_.path(""), {"verify", "--config", world_.ConfigOf("admin")});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  EXPECT_EQ(Count(verified.out, "give the same"), kSlots) << verified.out;
  world_.ExpectLikeTheOracle();
}

}  // namespace
}  // namespace cobblestone::testing
