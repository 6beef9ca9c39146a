// A wave processes every slot once per stage. The stages follow one another, and the threads share the slots.
#include "common/stream/embedded/runner/waves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cobblestone::stream::embedded {
namespace {

using Change = Waves::Change;
using ::testing::ElementsAre;

TEST(Waves, TakesEverySlotOncePerStageAndTheStagesInOrder) {
  Waves waves(3, 2, 1);
  EXPECT_FALSE(waves.active());
  waves.Begin({}, false);
  std::vector<std::string> work;
  while (waves.active()) {
    const auto k = waves.Take(0);
    ASSERT_TRUE(k);
    work.push_back("stage " + std::to_string(waves.stage()) + " of slot " + std::to_string(*k));
    (void)waves.Done();
  }
  EXPECT_THAT(work, ElementsAre("stage 0 of slot 0", "stage 0 of slot 1", "stage 0 of slot 2",
                                "stage 1 of slot 0", "stage 1 of slot 1", "stage 1 of slot 2"));
}

TEST(Waves, AThreadBeginsWithItsShareAndThenHelpsTheOthers) {
  Waves waves(4, 1, 2);
  waves.Begin({}, false);
  EXPECT_EQ(waves.Take(1), 2u);
  EXPECT_EQ(waves.Take(0), 0u);
  EXPECT_EQ(waves.Take(1), 3u);
  EXPECT_EQ(waves.Take(1), 1u);
  EXPECT_EQ(waves.Take(0), std::nullopt);
}

TEST(Waves, AStageWaitsForTheThreadsOfTheStageBefore) {
  Waves waves(2, 2, 2);
  waves.Begin({}, false);
  ASSERT_TRUE(waves.Take(0));
  ASSERT_TRUE(waves.Take(1));
  EXPECT_EQ(waves.Done(), Change::kNone);
  EXPECT_EQ(waves.stage(), 0u);
  EXPECT_EQ(waves.Take(0), std::nullopt);
  EXPECT_EQ(waves.Done(), Change::kNextStage);
  EXPECT_EQ(waves.stage(), 1u);
}

TEST(Waves, UnderLoadNoThreadWaitsForAnotherBeforeTheLastStageEnds) {
  Waves waves(2, 2, 2);
  waves.Begin({}, true);
  ASSERT_TRUE(waves.Take(0));
  ASSERT_TRUE(waves.Take(1));
  EXPECT_EQ(waves.Done(), Change::kNextStage);  // one slot of stage 0 is still in progress
  ASSERT_TRUE(waves.Take(0));
  EXPECT_EQ(waves.Done(), Change::kNone);
  ASSERT_TRUE(waves.Take(0));
  EXPECT_EQ(waves.Done(), Change::kNone);
  EXPECT_TRUE(waves.active());
  EXPECT_EQ(waves.Done(), Change::kWaveEnded);  // the slot of stage 0
  EXPECT_FALSE(waves.active());
}

TEST(Waves, ASlotThatIsStillWaitingKeepsTheStageOpen) {
  Waves waves(2, 1, 1);
  waves.Begin({}, true);
  ASSERT_TRUE(waves.Take(0));
  EXPECT_EQ(waves.Done(), Change::kNone);
  ASSERT_TRUE(waves.Take(0));
  EXPECT_EQ(waves.Done(), Change::kWaveEnded);
}

}  // namespace
}  // namespace cobblestone::stream::embedded
