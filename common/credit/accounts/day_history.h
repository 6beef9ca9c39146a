// A history day by day, of the last kHistoryDays. The sums of the newest few days stay with what they are of; older ones are
// in blocks, a row of its own for each, which is touched when the days move on and where something of its days still comes. So
// what every grant reads and writes is small and of one size, however long the history has become.
//
// A sum has `day` (UNIX day) and Add(sum of the same day). Days ascend.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "common/credit/model/constants.h"

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

// So many days at the most stay: whole parts of a block.
inline constexpr int kNewestShift = 3;
inline constexpr std::int64_t kNewestDays = std::int64_t{1} << kNewestShift;

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

// After whatever changes `days`: moves all but the newest to rows. row(number below kBlockRows) gives a DayBlock<Sum>& for
// changing, empty where there was none.
template <class Sum, class Row>
void FileOlderBlocks(std::vector<Sum>& days, Row&& row) {
  if (days.empty()) return;
  const std::int64_t newest = days.back().day >> kNewestShift;
  auto at = days.begin();
  while (at->day >> kNewestShift != newest) {
    const std::int64_t block = BlockOf(at->day);
    DayBlock<Sum>& filed = row(RowOfBlock(block));
    if (!filed.days.empty() && BlockOf(filed.days.front().day) != block) filed.days.clear();
    for (; BlockOf(at->day) == block && at->day >> kNewestShift != newest; ++at) AddDay(*at, filed.days);
  }
  days.erase(days.begin(), at);
}

// The whole history: puts what rows have before `days`. row(number below kBlockRows) gives a const DayBlock<Sum>*, null where
// there is none. `days` may be older than the rows: of what has been filed since it has its own.
template <class Sum, class Row>
void AddOlderBlocks(std::vector<Sum>& days, Row&& row) {
  if (days.empty()) return;
  const std::int64_t since = days.back().day - kHistoryDays + 1;
  const std::int64_t until = days.front().day;
  std::vector<Sum> older;
  for (std::int64_t block = BlockOf(since); block <= BlockOf(until); ++block) {
    const DayBlock<Sum>* filed = row(RowOfBlock(block));
    if (filed == nullptr) continue;
    for (const Sum& one : filed->days)
      if (BlockOf(one.day) == block && one.day >= since && one.day < until) older.push_back(one);
  }
  days.insert(days.begin(), older.begin(), older.end());
}

}  // namespace cobblestone::credit
