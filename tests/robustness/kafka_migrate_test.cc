// An operator who starts small and grows, on a real broker: half of the traffic on one machine, the
// migration, the other half on Kafka, then back again. All history is preserved exactly, and an interrupted
// migration is never mistaken for a complete one.

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

constexpr int kKilled = 128 + SIGKILL;

TEST(KafkaMigrate, FromOneMachineToKafkaInTheMiddleOfTheTraffic) {
  const auto broker = TestBroker::Shared();
  const std::vector<Event> events = Traffic(61, 3000);
  const KafkaWorld world(*broker, events);
  const KafkaWorld broken_off(*broker, events);
  const std::string directory = world.path("");
  const std::string one = world.path("one.yaml");
  std::ofstream(one) << "data_directory: " << world.path("one") << "\npartitions: 4\n";
  // Named like the source that is ingested in full afterwards, so that no event is ingested twice.
  const std::string half = world.path("half.pb");
  WriteTraffic({events.begin(), events.begin() + static_cast<std::ptrdiff_t>(events.size() / 2)}, half);
  const Finished ingested =
      RunProgram(directory, {"ingest", half, "--source", "traffic.pb", "--config", one});
  ASSERT_LE(ingested.code, 1) << ingested.err;  // 1: bad lines of the traffic were reported

  const auto arguments = [&](const KafkaWorld& to) {
    return std::vector<std::string>{"migrate", "--from", one, "--to", to.ConfigOf("admin")};
  };
  {
    Background killed(directory, arguments(broken_off), "migrate:2");
    ASSERT_EQ(killed.Wait(), kKilled) << killed.err();
    auto worker = broken_off.Worker("w0");
    EXPECT_TRUE(worker->WaitFor("its journal or checkpoint is not empty")) << worker->err();
    worker->Signal(SIGTERM);
    EXPECT_EQ(worker->Wait(), 0) << worker->err();
    const Finished rebuilt =
        RunProgram(directory, {"rebuild", "--journal", "--config", broken_off.ConfigOf("admin")});
    EXPECT_EQ(rebuilt.code, 5) << rebuilt.out << rebuilt.err;
    const Finished again = RunProgram(directory, arguments(broken_off));
    EXPECT_EQ(again.code, 2) << again.out << again.err;
    EXPECT_NE(again.err.find("an interrupted migration"), std::string::npos) << again.err;
  }

  const Finished moved = RunProgram(directory, arguments(world));
  ASSERT_EQ(moved.code, 0) << moved.out << moved.err;
  auto worker = world.Worker("w0");
  const Finished rest = world.Ingest();
  EXPECT_LE(rest.code, 1) << rest.err;
  EXPECT_TRUE(world.AwaitRest(std::chrono::seconds(60))) << world.Tasks().dump(1);
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
  // From the checkpoint, because no journal here holds the commits before the migration.
  world.ExpectLikeTheOracle(false);
}

}  // namespace
}  // namespace cobblestone::testing
