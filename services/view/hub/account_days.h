// The whole daily history of an account at a hub (services/members/member_days.h), from rows of one commit.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "services/members/member_days.h"
#include "services/view/state.h"

namespace cobblestone::view {

// Adds to `days`, from the row with that key, the older days in the rows of `table`.
inline Status AddOlderMemberDays(const Rows& rows,
                                 const stream::TableSpec<credit::DayBlock<credit::DaySum>>& table,
                                 const stream::Key& key, std::vector<credit::DaySum>& days) {
  if (days.empty()) return Status::Ok();
  std::vector<credit::DaySum> older;
  credit::DayBlock<credit::DaySum> block;
  Status read = rows.ScanOf(table.id, ProjectId(key.project), key.id,
                            [&](const stream::Key&, std::string_view bytes) -> Status {
                              if (Status s = stream::DecodeRow(table, bytes, block); !s.ok()) return s;
                              older.insert(older.end(), block.days.begin(), block.days.end());
                              return Status::Ok();
                            });
  if (!read.ok()) return read;
  std::sort(older.begin(), older.end(),
            [](const credit::DaySum& a, const credit::DaySum& b) { return a.day < b.day; });
  days.insert(days.begin(), older.begin(), older.end());
  return Status::Ok();
}

}  // namespace cobblestone::view
