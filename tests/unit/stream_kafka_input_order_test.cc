// The order of records from several inputs. A partition that two stages read is fetched once.
#include "common/stream/kafka/task/input_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/stream/kafka/task/stage_feeder.h"
#include "tests/unit/stream_kafka_task_world.h"

namespace cobblestone::stream::kafka {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct OrderWorld : TaskWorld {
  InputOrder order{context, state, inputs};
  DeathTrace trace{nullptr};
  StageFeeder feeder{context, state, inputs, order, trace};

  explicit OrderWorld(TaskOptions how, int control_readers = 1) : TaskWorld(std::move(how), control_readers) {
    feeder.Reset();
  }
  explicit OrderWorld(bool lockstep) : OrderWorld(WorldOptions(lockstep)) {}

  // The records that a round consumes.
  std::vector<std::string> Round(std::uint64_t most = 100) {
    seen.records.clear();
    EXPECT_TRUE(feeder.FeedAll(most).ok());
    EXPECT_TRUE(state.slot().Finish().ok());
    return seen.records;
  }
  bool Any() {
    bool any = false;
    EXPECT_TRUE(order.Any(&any).ok());
    return any;
  }
  std::string First() {
    std::size_t input = 0;
    const Message* head = nullptr;
    EXPECT_TRUE(order.First(&input, &head).ok());
    return head == nullptr ? "" : std::string(head->value());
  }
};

TEST(InputOrder, ByArrivalTheInputWithTheEarliestRecordTakesATurn) {
  TaskOptions options = WorldOptions(false);
  options.run_records = 2;
  OrderWorld world(options);
  for (const char* record : {"1", "5", "6"}) world.Arrive(kLeft, record);
  for (const char* record : {"2", "3", "4"}) world.Arrive(kRight, record);
  EXPECT_EQ(world.First(), "1");
  // Two records of left, then all records of right, because the next record of right is always earlier.
  EXPECT_THAT(world.Round(), ElementsAre("1", "5", "2", "3", "4", "6"));
  EXPECT_FALSE(world.Any());
}

TEST(InputOrder, ByArrivalNoInputWaitsForAnother) {
  OrderWorld world(false);
  world.Arrive(kRight, "2");
  EXPECT_TRUE(world.Any());
  EXPECT_THAT(world.Round(), ElementsAre("2"));
  world.Arrive(kLeft, "1");
  EXPECT_THAT(world.Round(), ElementsAre("1"));
}

TEST(InputOrder, AnInputThatIsNotReadyIsSkipped) {
  OrderWorld world(false);
  world.seen.closed = {kLeft};
  world.Arrive(kLeft, "1");
  EXPECT_FALSE(world.Any());
  EXPECT_EQ(world.First(), "");
  world.Arrive(kRight, "2");
  EXPECT_EQ(world.First(), "2");
  EXPECT_THAT(world.Round(), ElementsAre("2"));
  world.seen.closed = {};
  EXPECT_THAT(world.Round(), ElementsAre("1"));
}

TEST(InputOrder, InLockstepInputsAreMergedByTime) {
  TaskOptions options = WorldOptions(true);
  options.run_records = 100;
  OrderWorld world(options);
  for (const char* record : {"1", "4", "6"}) world.Arrive(kLeft, record);
  for (const char* record : {"2", "3", "5"}) world.Arrive(kRight, record);
  EXPECT_EQ(world.First(), "1");
  // Left still has "6", but an earlier record may still arrive at right.
  EXPECT_THAT(world.Round(), ElementsAre("1", "2", "3", "4", "5"));
}

TEST(InputOrder, InLockstepARecordWaitsUntilEveryInputHasOne) {
  OrderWorld world(true);
  world.Arrive(kLeft, "2");
  EXPECT_FALSE(world.Any());
  EXPECT_EQ(world.First(), "");
  EXPECT_THAT(world.Round(), IsEmpty());
  world.Arrive(kRight, "1");
  EXPECT_TRUE(world.Any());
  EXPECT_THAT(world.Round(), ElementsAre("1"));
}

TEST(InputOrder, InLockstepNoInputWaitsForAnInputThatIsNotReady) {
  OrderWorld world(true);
  world.seen.closed = {kRight};
  world.Arrive(kLeft, "2");
  EXPECT_THAT(world.Round(), ElementsAre("2"));
}

TEST(InputOrder, InLockstepRecordsOfSlotsComeFirst) {
  OrderWorld world(true);
  world.Arrive(kLeft, "1");
  world.Arrive(kRight, "2");
  world.Arrive(kControl, "9");
  EXPECT_THAT(world.Round(), ElementsAre("9", "1"));
}

TEST(InputOrder, ARoundEndsWhenTheCommitIsFull) {
  OrderWorld world(false);
  for (const char* record : {"1", "2", "3"}) world.Arrive(kLeft, record);
  EXPECT_THAT(world.Round(2), ElementsAre("1", "2"));
  EXPECT_THAT(world.Round(2), ElementsAre("3"));
}

TEST(TaskInputs, APartitionThatTwoStagesReadIsFetchedOnceForBoth) {
  OrderWorld world(WorldOptions(false), 2);
  world.Arrive(kControl, "1");
  world.Arrive(kControl, "2");
  EXPECT_THAT(world.Round(), ElementsAre("1", "2", "1", "2"));
  EXPECT_EQ(world.reader.polled({kControl, 0}), 2);
}

}  // namespace
}  // namespace cobblestone::stream::kafka
