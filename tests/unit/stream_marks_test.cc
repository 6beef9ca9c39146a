// A mark passes when it has been read on all inputs, in order of numbers; what only looks like one moves nothing.
#include "common/stream/marks.h"

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
  Marks marks;

  World(std::uint32_t sources, std::size_t outside) : marks(host, 1, sources, outside) {}

  // Control records up to `number`, which is a mark or not.
  void Control(std::uint64_t number, bool is_mark) {
    while (control + 1 < number) ASSERT_TRUE(marks.OnControl(++control, nullptr).ok());
    const Mark mark{.number = number, .time = 100.0 * static_cast<double>(number)};
    ASSERT_TRUE(marks.OnControl(++control, is_mark ? &mark : nullptr).ok());
  }
  void Source(std::uint32_t source, std::uint64_t mark) {
    ASSERT_TRUE(marks.OnSource({.source = source, .mark = mark}).ok());
  }
  std::vector<std::uint64_t> Passed() {
    std::vector<std::uint64_t> numbers;
    while (const auto mark = marks.Next()) {
      EXPECT_EQ(mark->time, 100.0 * static_cast<double>(mark->number));
      numbers.push_back(mark->number);
    }
    return numbers;
  }
  [[nodiscard]] std::size_t Bytes() {
    std::string bytes;
    marks.table()->Encode(*host.touched.front().second, bytes);
    return bytes.size();
  }

  std::uint64_t control = 0;
};

TEST(Marks, OnePassesWhenItHasBeenReadOnAllInputsWhicheverIsLast) {
  for (int last = 0; last < 4; ++last) {
    World world(2, 1);
    for (int step = 1; step <= 4; ++step) {
      EXPECT_THAT(world.Passed(), IsEmpty());
      switch ((last + step) % 4) {
        case 0: world.Control(3, true); break;
        case 1: world.marks.OnOutside(0, 3); break;
        case 2: world.Source(0, 3); break;
        default: world.Source(1, 3); break;
      }
    }
    EXPECT_THAT(world.Passed(), ElementsAre(3)) << last;
    EXPECT_EQ(world.marks.passed(), 1u);
  }
}

TEST(Marks, TheyPassInOrderAndALaterOneStandsForThoseBefore) {
  World world(2, 1);
  world.Control(2, true);
  world.Control(5, true);
  world.Control(6, true);
  world.marks.OnOutside(0, 5);
  world.Source(0, 6);
  EXPECT_THAT(world.Passed(), IsEmpty());
  world.Source(1, 6);
  EXPECT_THAT(world.Passed(), ElementsAre(2, 5));
  world.marks.OnOutside(0, 6);
  EXPECT_THAT(world.Passed(), ElementsAre(6));
}

TEST(Marks, WhatNobodyAnnouncedWhatIsOldAndWhatComesTwiceMovesNothing) {
  World world(0, 2);
  // Before any announcement, far ahead, and under the number of a record that will be none.
  for (const std::uint64_t forged : {~0ull, 1ull << 60, 4ull, 3ull, 1ull, 0ull})
    world.marks.OnOutside(0, forged);
  world.marks.OnOutside(1, 5);
  world.Control(5, true);
  EXPECT_THAT(world.Passed(), IsEmpty()) << "input 0 has not had it";
  for (const std::uint64_t forged : {~0ull, 6ull, 4ull, 1ull}) world.marks.OnOutside(0, forged);
  EXPECT_THAT(world.Passed(), IsEmpty());
  world.marks.OnOutside(0, 5);
  EXPECT_THAT(world.Passed(), ElementsAre(5));
  for (const std::uint64_t again : {5ull, 5ull, 2ull}) world.marks.OnOutside(0, again);
  world.Control(6, false);  // 6 was none
  world.Control(7, true);
  world.Control(8, false);
  world.marks.OnOutside(1, 7);
  for (const std::uint64_t forged : {8ull, 6ull}) world.marks.OnOutside(0, forged);
  EXPECT_THAT(world.Passed(), IsEmpty());
  world.marks.OnOutside(0, 7);
  EXPECT_THAT(world.Passed(), ElementsAre(7));
}

TEST(Marks, AFloodOfNumbersThatNobodyAnnouncesTakesLittleRoomAndStopsNoTime) {
  World world(0, 1);
  for (std::uint64_t i = 0; i < 100000; ++i) world.marks.OnOutside(0, (1ull << 40) + i * 7919 % 100000);
  EXPECT_LT(world.Bytes(), 10000u);
  world.marks.OnOutside(0, 2);  // read before it was announced, and smaller than all of them
  world.Control(2, true);
  EXPECT_THAT(world.Passed(), ElementsAre(2));
}

TEST(Marks, WhatASourceHasSaidIsNotTakenBackAndThereAreNoOthers) {
  World world(2, 0);
  world.Control(4, true);
  world.Source(0, 4);
  world.Source(0, 3);
  world.Source(1, 4);
  EXPECT_THAT(world.Passed(), ElementsAre(4));
  EXPECT_EQ(world.marks.OnSource({.source = 2, .mark = 4}).code(), StatusCode::kCorrupted);
}

// What an input has behind a mark is to wait (lockstep), over a restart too.
TEST(Marks, AnInputIsAheadFromItsMarkUntilThatHasPassedOnAll) {
  World world(0, 2);
  world.marks.OnOutside(0, 1);
  EXPECT_TRUE(world.marks.Ahead(0)) << "not announced yet";
  EXPECT_FALSE(world.marks.Ahead(1));
  world.Control(1, true);
  world.marks.Opened();
  EXPECT_TRUE(world.marks.Ahead(0));
  EXPECT_FALSE(world.marks.Ahead(1));
  world.marks.OnOutside(1, 1);
  EXPECT_THAT(world.Passed(), ElementsAre(1));
  EXPECT_FALSE(world.marks.Ahead(0));
  EXPECT_FALSE(world.marks.Ahead(1));
  world.Control(2, true);
  EXPECT_FALSE(world.marks.Ahead(0)) << "announced, and not read";
}

TEST(Marks, ControlHasNoGaps) {
  World world(0, 0);
  world.Control(3, false);
  EXPECT_EQ(world.marks.OnControl(3, nullptr).code(), StatusCode::kCorrupted);
  EXPECT_EQ(world.marks.OnControl(5, nullptr).code(), StatusCode::kCorrupted);
  EXPECT_TRUE(world.marks.OnControl(4, nullptr).ok());
}

TEST(Marks, WhatCameRestsOnARecordOfControlUntilThatIsRead) {
  World world(2, 0);
  EXPECT_TRUE(world.marks.caught_up());
  ASSERT_TRUE(world.marks.OnSource({.source = 1, .control = 2}).ok());
  ASSERT_TRUE(world.marks.OnSource({.source = 0, .control = 1}).ok());
  EXPECT_FALSE(world.marks.caught_up());
  world.Control(1, false);
  EXPECT_FALSE(world.marks.caught_up());
  world.Control(2, false);
  EXPECT_TRUE(world.marks.caught_up());
  ASSERT_TRUE(world.marks.OnSource({.source = 0, .control = 2}).ok());
  EXPECT_TRUE(world.marks.caught_up());
}

// Opened again from its row, it goes on where it was.
TEST(Marks, AreStateAndNothingBesides) {
  World before(1, 1);
  before.Control(2, true);
  before.marks.OnOutside(0, 4);
  ASSERT_TRUE(before.marks.OnSource({.source = 0, .mark = 2, .control = 3}).ok());
  std::string row;
  before.marks.table()->Encode(*before.host.touched.front().second, row);

  World after(1, 1);
  ASSERT_TRUE(after.marks.table()->Load({}, row).ok());
  after.marks.Opened();
  after.control = 2;
  EXPECT_FALSE(after.marks.caught_up());
  EXPECT_THAT(after.Passed(), IsEmpty());
  after.Control(4, true);
  EXPECT_TRUE(after.marks.caught_up());
  EXPECT_THAT(after.Passed(), ElementsAre(2)) << "its input had 4, which stands for 2";
  after.Source(0, 4);
  EXPECT_THAT(after.Passed(), ElementsAre(4));
}

TEST(Marks, OneThatWasBegunIsInHandUntilItEndsAndCountsAsPassed) {
  World world(0, 0);
  world.Control(1, true);
  world.Control(2, true);
  EXPECT_FALSE(world.marks.begun());
  for (int again = 0; again < 2; ++again) {
    const auto mark = world.marks.Begin();
    ASSERT_TRUE(mark.has_value());
    EXPECT_EQ(mark->number, 1u);
    EXPECT_TRUE(world.marks.begun());
    EXPECT_EQ(world.marks.passed(), 1u);
    world.marks.Opened();  // as after a restart
  }
  world.marks.End();
  EXPECT_FALSE(world.marks.begun());
  EXPECT_THAT(world.Passed(), ElementsAre(2));
  EXPECT_EQ(world.marks.passed(), 2u);
}

}  // namespace
}  // namespace cobblestone::stream
