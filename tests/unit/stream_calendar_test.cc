// Numbers that are filed under a day are returned once when the day is over, in slices, and their rows are
// deleted.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "common/stream/calendar.h"

namespace cobblestone::stream {
namespace {

struct World {
  TableHost host;
  Calendar calendar{host, 1, 2};

  std::vector<std::uint64_t> Take(std::size_t limit, std::uint32_t project = 1) {
    std::vector<std::uint64_t> taken;
    calendar.Take(limit,
                  [&](std::uint32_t of, std::uint64_t number, std::int32_t) -> std::optional<std::int32_t> {
                    EXPECT_EQ(of, project);
                    taken.push_back(number);
                    return std::nullopt;
                  });
    return taken;
  }
  std::size_t Chunks() {
    std::size_t chunks = 0;
    calendar.chunks().ForEach([&](const Key&, const CalendarChunk&) { ++chunks; });
    return chunks;
  }
};

TEST(Calendar, ReturnsOnlyTheNumbersOfPastDays) {
  World world;
  world.calendar.File(1, 12, 700);
  world.calendar.File(1, 10, 5);
  world.calendar.File(1, 10, ~0ull);
  world.calendar.File(1, 10, 0);
  world.calendar.File(1, -3, 9);
  world.calendar.File(2, 1, 8);
  world.calendar.SetToday(1, 0);
  EXPECT_FALSE(world.calendar.behind());
  world.calendar.SetToday(1, 10);
  EXPECT_EQ(world.Take(100), (std::vector<std::uint64_t>{9}));
  EXPECT_FALSE(world.calendar.behind());
  world.calendar.SetToday(1, 11);
  EXPECT_EQ(world.Take(100), (std::vector<std::uint64_t>{5, ~0ull, 0}));
  EXPECT_TRUE(world.Take(100).empty());
  world.calendar.SetToday(1, 13);
  EXPECT_EQ(world.Take(100), (std::vector<std::uint64_t>{700}));
  EXPECT_EQ(world.Chunks(), 1u) << "the chunk of the other project";
  world.calendar.SetToday(2, 2);
  EXPECT_EQ(world.Take(100, 2), (std::vector<std::uint64_t>{8}));
  EXPECT_EQ(world.Chunks(), 0u);
}

TEST(Calendar, ARefiledNumberComesOnItsNewDay) {
  World world;
  world.calendar.File(1, 10, 5);
  world.calendar.SetToday(1, 20);
  std::size_t visits = 0;
  // Even under a past day, a refiled number is due after today at the earliest, so the same call does not return
  // it again.
  world.calendar.Take(100, [&](std::uint32_t, std::uint64_t, std::int32_t) {
    ++visits;
    return std::optional<std::int32_t>(15);
  });
  EXPECT_EQ(visits, 1u);
  EXPECT_FALSE(world.calendar.behind());
  world.calendar.SetToday(1, 21);
  EXPECT_EQ(world.Take(100), (std::vector<std::uint64_t>{5}));
}

// Only the stored numbers and today decide whether numbers are due. The answer is therefore immediate, and the
// same after an open.
TEST(Calendar, ANumberFiledUnderAPastDayIsDueAtOnce) {
  World world;
  world.calendar.SetToday(1, 20);
  world.calendar.File(1, 20, 4);
  EXPECT_FALSE(world.calendar.behind());
  world.calendar.File(1, 19, 5);
  EXPECT_TRUE(world.calendar.behind());
  EXPECT_EQ(world.Take(100), (std::vector<std::uint64_t>{5}));
  EXPECT_FALSE(world.calendar.behind());
}

// Compared with a plain map: random numbers, days and slices, with filing under past days.
TEST(Calendar, LosesAndRepeatsNothingInAnySlices) {
  World world;
  std::mt19937_64 random(3);
  std::map<std::uint64_t, std::int32_t> filed;
  std::uint64_t number = 1 << 20;
  std::size_t most = 0;
  for (std::int32_t today = 100; today < 160; ++today) {
    for (int i = 0; i < 700; ++i) {
      number += random() % 5 == 0 ? random() % 100000 : 1;
      const auto day = static_cast<std::int32_t>(today - 2 + static_cast<std::int32_t>(random() % 9));
      if (!filed.emplace(number, day).second) continue;
      world.calendar.File(1, day, number);
    }
    world.calendar.SetToday(1, today);
    while (world.calendar.behind()) {
      const std::size_t limit = 1 + random() % 300;
      const auto taken = world.Take(limit);
      ASSERT_LE(taken.size(), limit);
      ASSERT_FALSE(taken.empty());
      for (const std::uint64_t one : taken) {
        ASSERT_EQ(filed.count(one), 1u);
        ASSERT_LT(filed[one], today);
        filed.erase(one);
      }
    }
    for (const auto& [one, day] : filed) ASSERT_GE(day, today);
    most = std::max(most, world.Chunks());
  }
  EXPECT_LE(most, 20u) << "chunks of more than a thousand numbers";
  EXPECT_GT(filed.size(), 1000u);
}

}  // namespace
}  // namespace cobblestone::stream
