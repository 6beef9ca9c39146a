// How a state reaches the committed position: the rules of docs/design/kafka.md, one by one.
#include "common/stream/kafka/task/recovery_way.h"

#include <gtest/gtest.h>

namespace cobblestone::stream::kafka {
namespace {

using Way = RecoveryWay;

struct State {
  std::uint64_t sequence = 0;
  std::uint64_t checkpoint = 0;  // the newest complete checkpoint of the position
};

constexpr std::uint64_t kCommitted = 10000;

Way From(const State& state, const RecoveryFacts& facts = {}) {
  const Position position{
      .journal_next = kCommitted, .sequence = kCommitted, .checkpoint_sequence = state.checkpoint};
  SlotMeta meta;
  meta.sequence = meta.journal_next = state.sequence;
  return WayTo(position, meta, facts);
}

TEST(RecoveryWay, WithoutACommitOnlyAMachineWithoutAStateStartsFresh) {
  SlotMeta meta;
  EXPECT_EQ(WayTo({}, meta, {}), Way::kFresh);
  EXPECT_EQ(WayTo({}, meta, {.follows = true}), Way::kFollow);
  meta.sequence = 1;
  EXPECT_EQ(WayTo({}, meta, {}), Way::kNoPosition);
  EXPECT_EQ(WayTo({}, meta, {.follows = true}), Way::kNoPosition);
}

TEST(RecoveryWay, AStateAheadOfTheClusterStops) {
  EXPECT_EQ(From({.sequence = kCommitted + 1}), Way::kAhead);
  SlotMeta meta;
  meta.sequence = kCommitted;
  meta.journal_next = kCommitted + 1;
  EXPECT_EQ(WayTo({.journal_next = kCommitted, .sequence = kCommitted}, meta, {}), Way::kAhead);
}

TEST(RecoveryWay, AStateIsReexecutedUnlessACheckpointIsFarAheadOfIt) {
  EXPECT_EQ(From({.sequence = kCommitted}), Way::kReexecute);
  EXPECT_EQ(From({.sequence = 5000, .checkpoint = 5000 + kBehindCheckpoint}), Way::kReexecute);
  EXPECT_EQ(From({.sequence = 5000, .checkpoint = 5001 + kBehindCheckpoint}), Way::kRestore);
  EXPECT_EQ(From({.sequence = 1}), Way::kReexecute);  // there is no checkpoint
}

TEST(RecoveryWay, AMachineWithoutAStateUsesTheCheckpointIfOneExists) {
  EXPECT_EQ(From({.checkpoint = 1}), Way::kRestore);
  EXPECT_EQ(From({}), Way::kReexecute);
}

TEST(RecoveryWay, AStandbyFollowsFromExactlyTheNewestCheckpoint) {
  const RecoveryFacts follows{.follows = true};
  EXPECT_EQ(From({.sequence = 700, .checkpoint = 700}, follows), Way::kFollow);
  EXPECT_EQ(From({.sequence = 699, .checkpoint = 700}, follows), Way::kRestore);
  EXPECT_EQ(From({.sequence = 701, .checkpoint = 700}, follows), Way::kRestore);
  EXPECT_EQ(From({.sequence = 701}, follows), Way::kDiscardFollow);
  EXPECT_EQ(From({}, follows), Way::kFollow);
}

TEST(RecoveryWay, ACheckpointThatMayHaveLostRowsIsNotUsedAgain) {
  EXPECT_EQ(From({.checkpoint = 700}, {.lost_checkpoint = 700}), Way::kReexecute);
  EXPECT_EQ(From({.checkpoint = 700}, {.follows = true, .lost_checkpoint = 700}), Way::kWait);
  EXPECT_EQ(From({.checkpoint = 800}, {.lost_checkpoint = 700}), Way::kRestore);
}

}  // namespace
}  // namespace cobblestone::stream::kafka
