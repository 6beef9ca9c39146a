// A history day by day, of the last kHistoryDays. It is kept in blocks of days: the sums of the newest block stay with what
// they are of, those of each older one are a row of their own, which is touched only where something of its days still
// comes. So what every grant reads and writes is of one size, however long the history has become.
//
// A sum has `day` (UNIX day) and Add(sum of the same day). Days ascend.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "common/credit/constants.h"

namespace cobblestone::credit {

// Of a time in UNIX s. Beyond 64 bits of days: the nearest one that a number can hold.
inline std::int64_t DayOf(double time) {
  const double day = std::floor(time / kSecondsPerDay);
  if (!(day > -9e15)) return -9'000'000'000'000'000;
  if (day > 9e15) return 9'000'000'000'000'000;
  return static_cast<std::int64_t>(day);
}

// What is older than the history goes back is not kept, whether it comes so late or a newer day has come.
template <class Sum>
void AddDay(const Sum& more, std::vector<Sum>& days) {
  if (!days.empty() && more.day <= days.back().day - kHistoryDays) return;
  auto at = days.end();
  while (at != days.begin() && std::prev(at)->day >= more.day)
    --at;  // they come almost in order: from the end
  if (at != days.end() && at->day == more.day) {
    at->Add(more);
    return;
  }
  days.insert(at, more);
  const std::int64_t oldest = days.back().day - kHistoryDays + 1;
  days.erase(days.begin(),
             std::find_if(days.begin(), days.end(), [&](const Sum& one) { return one.day >= oldest; }));
}

inline constexpr int kBlockShift = 5;
inline constexpr std::int64_t kBlockDays = std::int64_t{1} << kBlockShift;
// A history lies in at most so many blocks; a row is taken again by the block that comes when the history has left it.
inline constexpr std::uint32_t kBlockRows = 14;
static_assert((kHistoryDays - 2) / kBlockDays + 2 <= kBlockRows);

constexpr std::int64_t BlockOf(std::int64_t day) { return day >> kBlockShift; }
constexpr std::uint32_t RowOfBlock(std::int64_t block) {
  const std::int64_t rest = block % std::int64_t{kBlockRows};
  return static_cast<std::uint32_t>(rest < 0 ? rest + kBlockRows : rest);
}

template <class Sum>
struct DayBlock {
  std::vector<Sum> days;  // of one block

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.days);
  }
};

// After whatever changes `days`: moves all but the newest block to rows. row(number below kBlockRows) gives a DayBlock<Sum>&
// for changing, empty where there was none.
template <class Sum, class Row>
void FileOlderBlocks(std::vector<Sum>& days, Row&& row) {
  if (days.empty() || BlockOf(days.front().day) == BlockOf(days.back().day)) return;
  const std::int64_t newest = BlockOf(days.back().day);
  auto at = days.begin();
  while (BlockOf(at->day) != newest) {
    const std::int64_t block = BlockOf(at->day);
    DayBlock<Sum>& filed = row(RowOfBlock(block));
    if (!filed.days.empty() && BlockOf(filed.days.front().day) != block) filed.days.clear();
    for (; BlockOf(at->day) == block; ++at) AddDay(*at, filed.days);
  }
  days.erase(days.begin(), at);
}

// The whole history: puts what rows have before `days`. row(number below kBlockRows) gives a const DayBlock<Sum>*, null where
// there is none. `days` may be older than the rows: of what has been filed since it has its own.
template <class Sum, class Row>
void AddOlderBlocks(std::vector<Sum>& days, Row&& row) {
  if (days.empty()) return;
  const std::int64_t since = days.back().day - kHistoryDays + 1;
  std::vector<Sum> older;
  for (std::int64_t block = BlockOf(since); block < BlockOf(days.front().day); ++block) {
    const DayBlock<Sum>* filed = row(RowOfBlock(block));
    if (filed == nullptr) continue;
    for (const Sum& one : filed->days)
      if (BlockOf(one.day) == block && one.day >= since) older.push_back(one);
  }
  days.insert(days.begin(), older.begin(), older.end());
}

}  // namespace cobblestone::credit
