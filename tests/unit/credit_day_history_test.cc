// A history in blocks has the same sums as a history in one piece, for postings in any order, in rows of bounded
// size and number.
#include "common/credit/accounts/day_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "common/credit/accounts/account.h"

namespace cobblestone::credit {
namespace {

// A history in blocks, as stages store it.
struct Blocks {
  std::vector<DaySum> days;
  std::map<std::uint32_t, DayBlock<DaySum>> rows;

  void Add(const DaySum& more) {
    AddDay(more, days);
    FileOlderBlocks(days, [&](std::uint32_t row) -> DayBlock<DaySum>& { return rows[row]; });
  }
  [[nodiscard]] std::vector<DaySum> Whole() const {
    std::vector<DaySum> all = days;
    AddOlderBlocks(all, [&](std::uint32_t row) {
      const auto found = rows.find(row);
      return found == rows.end() ? nullptr : &found->second;
    });
    return all;
  }
};

std::string Text(const std::vector<DaySum>& days) {
  std::string text;
  for (const DaySum& one : days)
    text += std::to_string(one.day) + ": " + std::to_string(static_cast<std::int64_t>(one.micro)) + " in " +
            std::to_string(one.grants) + "\n";
  return text;
}

TEST(DayHistory, InBlocksEqualsOnePieceForPostingsInAnyOrder) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<DaySum> plain;
    Blocks blocks;
    std::int64_t now = static_cast<std::int64_t>(random() % 2000) - 1000;
    for (int i = 0; i < 1500; ++i) {
      now += static_cast<std::int64_t>(random() % 3);
      if (random() % 200 == 0) now += static_cast<std::int64_t>(random() % 500);  // a long pause
      const std::int64_t late = random() % 10 == 0 ? static_cast<std::int64_t>(random() % 450) : 0;
      const DaySum one{
          .micro = static_cast<std::int64_t>(random() % 1000) - 100, .day = now - late, .grants = 1};
      AddDay(one, plain);
      blocks.Add(one);
      ASSERT_LE(blocks.days.size(), static_cast<std::size_t>(kNewestDays));
      if (i % 50 == 0) {
        ASSERT_EQ(Text(blocks.Whole()), Text(plain)) << "seed " << seed << " posting " << i;
      }
    }
    EXPECT_EQ(Text(blocks.Whole()), Text(plain)) << "seed " << seed;
    EXPECT_LE(blocks.rows.size(), kBlockRows);
    for (const auto& [row, block] : blocks.rows)
      EXPECT_LE(block.days.size(), static_cast<std::size_t>(kBlockDays));
  }
}

TEST(DayHistory, AHistoryWithoutBlocksIsFiledWithTheNextSum) {
  Blocks blocks;
  for (std::int64_t day = 1; day <= 390; day += 3)
    AddDay({.micro = day, .day = day, .grants = 1}, blocks.days);
  std::vector<DaySum> plain = blocks.days;
  EXPECT_EQ(Text(blocks.Whole()), Text(plain)) << "unchanged before the next sum";
  for (const std::int64_t day : {100, 391, 500}) {
    AddDay({.micro = 7, .day = day, .grants = 1}, plain);
    blocks.Add({.micro = 7, .day = day, .grants = 1});
    EXPECT_EQ(Text(blocks.Whole()), Text(plain)) << day;
  }
  EXPECT_EQ(blocks.days.size(), 1u);
}

// A reader can combine the days of one commit with the block rows of the next commit.
TEST(DayHistory, DaysFiledBetweenTwoReadsAreNotCountedTwice) {
  Blocks blocks;
  for (std::int64_t day = 0; day < 60; ++day) blocks.Add({.micro = 1, .day = day, .grants = 1});
  const std::vector<DaySum> before = blocks.Whole();
  std::vector<DaySum> days_read = blocks.days;
  blocks.Add({.micro = 1, .day = 70, .grants = 1});
  AddOlderBlocks(days_read, [&](std::uint32_t row) { return &blocks.rows[row]; });
  EXPECT_EQ(Text(days_read), Text(before));
}

TEST(DayHistory, DaysBeforeTheEpochAndExtremeDaysHaveRowsToo) {
  EXPECT_EQ(DayOf(-1), -1);
  EXPECT_EQ(DayOf(86400), 1);
  EXPECT_LT(DayOf(-1e300), -1'000'000'000'000);
  EXPECT_GT(DayOf(1e300), 1'000'000'000'000);
  for (const double time : {-1e300, -3e9, -1.0, 0.0, 1.7e9, 1e300}) {
    EXPECT_LT(RowOfBlock(BlockOf(DayOf(time))), kBlockRows);
    Blocks blocks;
    const std::int64_t day = DayOf(time);
    blocks.Add({.micro = 1, .day = day, .grants = 1});
    blocks.Add({.micro = 1, .day = day + 40, .grants = 1});
    EXPECT_EQ(blocks.days.size(), 1u);
    EXPECT_EQ(blocks.Whole().size(), 2u) << time;
  }
}

}  // namespace
}  // namespace cobblestone::credit
