// The search for a record that crashes the program: how many records each owner processes, and when a record is
// skipped.
#include "common/stream/kafka/task/death_care.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/stream_kafka_task_world.h"

namespace cobblestone::stream::kafka {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TaskOptions CareOptions() {
  TaskOptions options = WorldOptions(false);
  options.owner = "me";
  options.build = "b1";
  options.round_records = 1000;
  return options;
}

struct CareWorld : TaskWorld {
  Trace bytes;
  InputOrder order{context, state, inputs};
  DeathTrace trace{&bytes};
  StageFeeder feeder{context, state, inputs, order, trace};
  DeathCare care{context, state, inputs, order, feeder, trace};

  CareWorld() : TaskWorld(CareOptions()) { feeder.Reset(); }

  // A new owner takes the slot over from an owner that died.
  void TakeOverAfterADeath(const Care& committed) {
    care.Reset();
    care.TakeOver({.owner = "other", .build = "b1", .care = committed});
  }
  // Runs a round and its commit. Returns the committed Care.
  Care Round() {
    seen.records.clear();
    EXPECT_TRUE(care.FeedRound().ok());
    const std::uint64_t records = state.slot().records();
    care.CountConsumed(records);
    EXPECT_TRUE(state.slot().Finish().ok());
    const Care after = care.After(records > 0);
    care.Committed(after);
    return after;
  }
};

TEST(DeathCare, EachDeathMakesTheNextOwnerProcessLess) {
  CareWorld world;
  world.TakeOverAfterADeath({});
  EXPECT_TRUE(world.care.announces());
  EXPECT_FALSE(world.care.careful());
  EXPECT_EQ(world.care.After(false).level, Care::kTaken);
  world.TakeOverAfterADeath({.level = Care::kTaken});
  EXPECT_TRUE(world.care.careful());
  EXPECT_EQ(world.care.After(false).level, Care::kFewAtOnce);
  world.TakeOverAfterADeath({.level = Care::kFewAtOnce});
  EXPECT_EQ(world.care.After(false).level, Care::kOneByOne);
}

TEST(DeathCare, AReleaseOrADeathWithoutProcessingStartsNoSearch) {
  CareWorld world;
  world.care.TakeOver({.released = true, .owner = "other", .build = "b1"});
  EXPECT_EQ(world.care.After(false).level, Care::kNone);
  world.care.Reset();
  world.care.TakeOver(
      {.owner = "me", .build = "b1"});  // the trace of this machine shows that the owner was not processing
  EXPECT_EQ(world.care.After(false).level, Care::kNone);
  world.care.Reset();
  world.bytes.processing = 1;
  world.care.TakeOver({.owner = "me", .build = "b1"});
  EXPECT_EQ(world.care.After(false).level, Care::kTaken);
}

TEST(DeathCare, AnotherBuildRestartsTheSearch) {
  CareWorld world;
  world.care.TakeOver({.owner = "other", .build = "b0", .care = {.level = Care::kOneByOne, .tries = 3}});
  EXPECT_EQ(world.care.After(false).level, Care::kTaken);
}

TEST(DeathCare, OneByOneACommitNamesEachRecordBeforeItIsProcessed) {
  CareWorld world;
  world.Arrive(kLeft, "1");
  world.Arrive(kLeft, "2");
  world.TakeOverAfterADeath({.level = Care::kFewAtOnce});
  world.care.Committed(world.care.After(false));  // the takeover
  const Care named = world.Round();
  EXPECT_THAT(world.seen.records, IsEmpty());
  EXPECT_EQ(named, (Care{.level = Care::kOneByOne, .tries = 1, .input = kLeft, .offset = 0}));
  const Care processed = world.Round();
  EXPECT_THAT(world.seen.records, ElementsAre("1"));
  EXPECT_EQ(processed, (Care{.level = Care::kOneByOne}));
}

TEST(DeathCare, ARecordIsSkippedAfterThreeTriesAndTheSearchRelaxes) {
  CareWorld world;
  world.Arrive(kLeft, "1");
  // The record was named, and the third owner died while it processed the record.
  world.TakeOverAfterADeath({.level = Care::kOneByOne, .tries = 3, .input = kLeft, .offset = 0});
  world.care.Committed(world.care.After(false));
  const Care skipped = world.Round();
  EXPECT_THAT(world.seen.records, IsEmpty());
  EXPECT_EQ(world.state.slot().next(kLeft), 1u);
  EXPECT_EQ(skipped, (Care{.level = Care::kFewAtOnce, .skipped = 1}));
  ASSERT_FALSE(world.reports.empty());
  EXPECT_THAT(world.reports.back(),
              HasSubstr("the record 0 of left, partition 0, crashed the program 3 times and is "
                        "skipped"));
}

TEST(DeathCare, ARecordOfAnotherSlotIsNeverSkipped) {
  CareWorld world;
  world.Arrive(kControl, "1");
  world.TakeOverAfterADeath({.level = Care::kOneByOne, .tries = 3, .input = kControl, .offset = 0});
  world.care.Committed(world.care.After(false));
  const Status s = world.care.FeedRound();
  EXPECT_EQ(s.code(), StatusCode::kFatal);
  EXPECT_THAT(s.message(), HasSubstr("A record of another slot is never skipped"));
  EXPECT_EQ(world.state.slot().records(), 0u);
}

TEST(DeathCare, ManyRecordsWithoutADeathEndTheSearch) {
  CareWorld world;
  world.TakeOverAfterADeath({.level = Care::kTaken});
  world.care.Committed(world.care.After(false));
  EXPECT_TRUE(world.care.careful());
  world.care.CountConsumed(1999);  // of 2 * round_records
  EXPECT_EQ(world.care.After(true).level, Care::kFewAtOnce);
  world.care.CountConsumed(1);
  world.care.Committed(world.care.After(true));
  EXPECT_FALSE(world.care.careful());
}

TEST(DeathTrace, ACommitWithThreeDeathsWaitsForAnOperatorsRestart) {
  Trace bytes;
  const JournalEntry entry{.sequence = 7, .chunks = {}, .hash = {}};
  for (int death = 0; death < 3; ++death) {
    DeathTrace trace(&bytes);
    EXPECT_TRUE(trace.CheckExecutable(entry).ok()) << death;
    trace.Executing(7);
  }
  {
    DeathTrace trace(&bytes);
    EXPECT_EQ(trace.CheckExecutable(entry).code(), StatusCode::kFatal);
  }
  DeathTrace trace(&bytes);
  EXPECT_TRUE(trace.CheckExecutable(entry).ok());
}

TEST(DeathTrace, AnExecutedCommitIsNoLongerSuspect) {
  Trace bytes;
  const JournalEntry entry{.sequence = 7, .chunks = {}, .hash = {}};
  for (int death = 0; death < 2; ++death) DeathTrace(&bytes).Executing(7);
  DeathTrace survivor(&bytes);
  survivor.Executed(7);
  survivor.Executing(7);
  DeathTrace next(&bytes);
  EXPECT_TRUE(next.CheckExecutable(entry).ok());
}

}  // namespace
}  // namespace cobblestone::stream::kafka
