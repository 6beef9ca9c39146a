// The daily history of an account at a hub, kept for as long as the account: the hub is where the history of a person
// outlives projects. The newest few days are in the account's row (MemberRow::days), older days in rows of 32 days each.
// Days without credit take no space, and an account without credit writes nothing, so a year of an account with credit on
// every day takes 12 rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/credit/accounts/day_history.h"
#include "common/stream/table.h"
#include "services/members/member_rows.h"

namespace cobblestone::members {

using DayRows = stream::Table<credit::DayBlock<credit::DaySum>>;

// The row with the days of a block (credit::BlockOf). Times of events are not negative, so neither are blocks.
inline stream::Key DayKey(const stream::Key& account, std::int64_t block) {
  return {.project = account.project, .id = account.id, .sub = static_cast<std::uint64_t>(block)};
}

// Adds a sum to the history.
inline void AddDay(const stream::Key& account, const credit::DaySum& more, MemberRow& row, DayRows& older) {
  std::vector<credit::DaySum>& days = row.days;
  row.oldest_day = days.empty() ? more.day : std::min(row.oldest_day, more.day);
  credit::AddDay(more, days, credit::kEveryDay);
  const std::int64_t newest = days.back().day >> credit::kNewestShift;
  auto at = days.begin();
  for (; at->day >> credit::kNewestShift != newest; ++at)
    credit::AddDay(*at, older.Mutable(DayKey(account, credit::BlockOf(at->day))).days, credit::kEveryDay);
  days.erase(days.begin(), at);
}

// Erases the rows of older days.
inline void EraseOlderDays(const stream::Key& account, const MemberRow& row, DayRows& older) {
  if (row.days.empty()) return;
  for (std::int64_t block = credit::BlockOf(row.oldest_day); block <= credit::BlockOf(row.days.front().day);
       ++block)
    if (const stream::Key key = DayKey(account, block); older.Find(key) != nullptr) older.Erase(key);
}

}  // namespace cobblestone::members
