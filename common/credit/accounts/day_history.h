// A daily history of the last kHistoryDays. The sums of the newest few days stay in the row of their account;
// older sums are in blocks, one row per block. A block is written only when days age out of the account's row
// or a late sum arrives. Each grant therefore reads and writes a small row of bounded size, whatever the length
// of the history.
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

// The UNIX day of a time in UNIX s, limited to +-9e15.
inline std::int64_t DayOf(double time) {
  const double day = std::floor(time / kSecondsPerDay);
  if (!(day > -9e15)) return -9'000'000'000'000'000;
  if (day > 9e15) return 9'000'000'000'000'000;
  return static_cast<std::int64_t>(day);
}

// For AddDay(): no day is dropped.
inline constexpr std::int64_t kEveryDay = 4'000'000'000'000'000'000;

// Adds a sum to its day. Drops days that are older than the newest `kept`: a sum that arrives too late, and old
// sums when a newer day arrives.
template <class Sum>
void AddDay(const Sum& more, std::vector<Sum>& days, std::int64_t kept = kHistoryDays) {
  if (!days.empty() && more.day <= days.back().day - kept) return;
  auto at = days.end();
  while (at != days.begin() && std::prev(at)->day >= more.day)
    --at;  // sums arrive almost in order: search from the end
  if (at != days.end() && at->day == more.day) {
    at->Add(more);
    return;
  }
  days.insert(at, more);
  const std::int64_t oldest = days.back().day - kept + 1;
  days.erase(days.begin(),
             std::find_if(days.begin(), days.end(), [&](const Sum& one) { return one.day >= oldest; }));
}

// At most kNewestDays days stay outside the blocks. kNewestDays divides kBlockDays.
inline constexpr int kNewestShift = 3;
inline constexpr std::int64_t kNewestDays = std::int64_t{1} << kNewestShift;

inline constexpr int kBlockShift = 5;
inline constexpr std::int64_t kBlockDays = std::int64_t{1} << kBlockShift;
// A history spans at most kBlockRows blocks; a new block reuses the row of a block that has left the history.
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

// Moves all but the newest days to rows. Call after each change of `days`. row(number below kBlockRows) returns
// a mutable DayBlock<Sum>&, empty if the row did not exist.
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

// Restores the whole history: inserts the sums of the rows before `days`. row(number below kBlockRows) returns
// a const DayBlock<Sum>*, null if the row does not exist. `days` may be an older version than the rows: days
// that were moved to rows in the meantime are taken from `days`.
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
