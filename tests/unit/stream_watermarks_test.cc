// A watermark passes when it has been read on all inputs, in order of numbers. A record that only looks like a
// watermark has no effect.
#include "common/stream/watermarks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cobblestone::stream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct World {
  TableHost host;
  Watermarks watermarks;

  World(std::uint32_t sources, std::size_t outside) : watermarks(host, 1, sources, outside) {}

  // Sends control records up to `number`. `is_watermark`: the last record is a watermark.
  void Control(std::uint64_t number, bool is_watermark) {
    while (control + 1 < number) ASSERT_TRUE(watermarks.OnControl(++control, nullptr).ok());
    const Watermark watermark{.number = number, .time = 100.0 * static_cast<double>(number)};
    ASSERT_TRUE(watermarks.OnControl(++control, is_watermark ? &watermark : nullptr).ok());
  }
  void Source(std::uint32_t source, std::uint64_t watermark) {
    ASSERT_TRUE(watermarks.OnSource({.source = source, .watermark = watermark}).ok());
  }
  std::vector<std::uint64_t> Passed() {
    std::vector<std::uint64_t> numbers;
    while (const auto watermark = watermarks.Next()) {
      EXPECT_EQ(watermark->time, 100.0 * static_cast<double>(watermark->number));
      numbers.push_back(watermark->number);
    }
    return numbers;
  }
  [[nodiscard]] std::size_t Bytes() {
    std::string bytes;
    watermarks.table()->Encode(*host.touched.front().second, bytes);
    return bytes.size();
  }

  std::uint64_t control = 0;
};

TEST(Watermarks, OnePassesOnceItHasBeenReadOnAllInputs) {
  for (int last = 0; last < 4; ++last) {
    World world(2, 1);
    for (int step = 1; step <= 4; ++step) {
      EXPECT_THAT(world.Passed(), IsEmpty());
      switch ((last + step) % 4) {
        case 0: world.Control(3, true); break;
        case 1: world.watermarks.OnOutside(0, 3); break;
        case 2: world.Source(0, 3); break;
        default: world.Source(1, 3); break;
      }
    }
    EXPECT_THAT(world.Passed(), ElementsAre(3)) << last;
    EXPECT_EQ(world.watermarks.passed(), 1u);
  }
}

TEST(Watermarks, PassInOrderAndALaterOneImpliesEarlierOnes) {
  World world(2, 1);
  world.Control(2, true);
  world.Control(5, true);
  world.Control(6, true);
  world.watermarks.OnOutside(0, 5);
  world.Source(0, 6);
  EXPECT_THAT(world.Passed(), IsEmpty());
  world.Source(1, 6);
  EXPECT_THAT(world.Passed(), ElementsAre(2, 5));
  world.watermarks.OnOutside(0, 6);
  EXPECT_THAT(world.Passed(), ElementsAre(6));
}

TEST(Watermarks, UnannouncedOldAndRepeatedNumbersHaveNoEffect) {
  World world(0, 2);
  // Numbers before any announcement, numbers far ahead, and the number of a record that will not be a watermark.
  for (const std::uint64_t forged : {~0ull, 1ull << 60, 4ull, 3ull, 1ull, 0ull})
    world.watermarks.OnOutside(0, forged);
  world.watermarks.OnOutside(1, 5);
  world.Control(5, true);
  EXPECT_THAT(world.Passed(), IsEmpty()) << "input 0 has not read the watermark";
  for (const std::uint64_t forged : {~0ull, 6ull, 4ull, 1ull}) world.watermarks.OnOutside(0, forged);
  EXPECT_THAT(world.Passed(), IsEmpty());
  world.watermarks.OnOutside(0, 5);
  EXPECT_THAT(world.Passed(), ElementsAre(5));
  for (const std::uint64_t again : {5ull, 5ull, 2ull}) world.watermarks.OnOutside(0, again);
  world.Control(6, false);  // 6 is not a watermark
  world.Control(7, true);
  world.Control(8, false);
  world.watermarks.OnOutside(1, 7);
  for (const std::uint64_t forged : {8ull, 6ull}) world.watermarks.OnOutside(0, forged);
  EXPECT_THAT(world.Passed(), IsEmpty());
  world.watermarks.OnOutside(0, 7);
  EXPECT_THAT(world.Passed(), ElementsAre(7));
}

TEST(Watermarks, AFloodOfForgedNumbersUsesLittleSpaceAndBlocksNothing) {
  World world(0, 1);
  for (std::uint64_t i = 0; i < 100000; ++i) world.watermarks.OnOutside(0, (1ull << 40) + i * 7919 % 100000);
  EXPECT_LT(world.Bytes(), 10000u);
  world.watermarks.OnOutside(0, 2);  // read before its announcement, and smaller than all forged numbers
  world.Control(2, true);
  EXPECT_THAT(world.Passed(), ElementsAre(2));
}

TEST(Watermarks, ASourceNeverGoesBackAndUnknownSourcesAreAnError) {
  World world(2, 0);
  world.Control(4, true);
  world.Source(0, 4);
  world.Source(0, 3);
  world.Source(1, 4);
  EXPECT_THAT(world.Passed(), ElementsAre(4));
  EXPECT_EQ(world.watermarks.OnSource({.source = 2, .watermark = 4}).code(), StatusCode::kCorrupted);
}

// In lockstep the records of an input after a watermark must wait, also after a restart.
TEST(Watermarks, AnInputIsAheadFromAWatermarkUntilItHasPassed) {
  World world(0, 2);
  world.watermarks.OnOutside(0, 1);
  EXPECT_TRUE(world.watermarks.Ahead(0)) << "not announced yet";
  EXPECT_FALSE(world.watermarks.Ahead(1));
  world.Control(1, true);
  world.watermarks.Opened();
  EXPECT_TRUE(world.watermarks.Ahead(0));
  EXPECT_FALSE(world.watermarks.Ahead(1));
  world.watermarks.OnOutside(1, 1);
  EXPECT_THAT(world.Passed(), ElementsAre(1));
  EXPECT_FALSE(world.watermarks.Ahead(0));
  EXPECT_FALSE(world.watermarks.Ahead(1));
  world.Control(2, true);
  EXPECT_FALSE(world.watermarks.Ahead(0)) << "announced, but not read";
}

TEST(Watermarks, ControlMustHaveNoGaps) {
  World world(0, 0);
  world.Control(3, false);
  EXPECT_EQ(world.watermarks.OnControl(3, nullptr).code(), StatusCode::kCorrupted);
  EXPECT_EQ(world.watermarks.OnControl(5, nullptr).code(), StatusCode::kCorrupted);
  EXPECT_TRUE(world.watermarks.OnControl(4, nullptr).ok());
}

TEST(Watermarks, CatchingUpWaitsForTheControlRecordsOfSources) {
  World world(2, 0);
  EXPECT_TRUE(world.watermarks.caught_up());
  ASSERT_TRUE(world.watermarks.OnSource({.source = 1, .control = 2}).ok());
  ASSERT_TRUE(world.watermarks.OnSource({.source = 0, .control = 1}).ok());
  EXPECT_FALSE(world.watermarks.caught_up());
  world.Control(1, false);
  EXPECT_FALSE(world.watermarks.caught_up());
  world.Control(2, false);
  EXPECT_TRUE(world.watermarks.caught_up());
  ASSERT_TRUE(world.watermarks.OnSource({.source = 0, .control = 2}).ok());
  EXPECT_TRUE(world.watermarks.caught_up());
}

// Watermarks that are loaded from their row continue in the same state.
TEST(Watermarks, AreFullyRestoredFromTheirRow) {
  World before(1, 1);
  before.Control(2, true);
  before.watermarks.OnOutside(0, 4);
  ASSERT_TRUE(before.watermarks.OnSource({.source = 0, .watermark = 2, .control = 3}).ok());
  std::string row;
  before.watermarks.table()->Encode(*before.host.touched.front().second, row);

  World after(1, 1);
  ASSERT_TRUE(after.watermarks.table()->Load({}, row).ok());
  after.watermarks.Opened();
  after.control = 2;
  EXPECT_FALSE(after.watermarks.caught_up());
  EXPECT_THAT(after.Passed(), IsEmpty());
  after.Control(4, true);
  EXPECT_TRUE(after.watermarks.caught_up());
  EXPECT_THAT(after.Passed(), ElementsAre(2)) << "the source has read 4, which implies 2";
  after.Source(0, 4);
  EXPECT_THAT(after.Passed(), ElementsAre(4));
}

TEST(Watermarks, ABegunWatermarkIsInProgressUntilItsEnd) {
  World world(0, 0);
  world.Control(1, true);
  world.Control(2, true);
  EXPECT_FALSE(world.watermarks.begun());
  for (int again = 0; again < 2; ++again) {
    const auto watermark = world.watermarks.Begin();
    ASSERT_TRUE(watermark.has_value());
    EXPECT_EQ(watermark->number, 1u);
    EXPECT_TRUE(world.watermarks.begun());
    EXPECT_EQ(world.watermarks.passed(), 1u);
    world.watermarks.Opened();  // as after a restart
  }
  world.watermarks.End();
  EXPECT_FALSE(world.watermarks.begun());
  EXPECT_THAT(world.Passed(), ElementsAre(2));
  EXPECT_EQ(world.watermarks.passed(), 2u);
}

}  // namespace
}  // namespace cobblestone::stream
