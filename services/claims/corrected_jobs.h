// Look-ups for the corrections of running jobs: the key of a job, and its rows of reversals and payments.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/ids.h"
#include "common/stream/table.h"
#include "common/wire/events/events.h"
#include "services/claims/open_jobs.h"

namespace cobblestone::claims {

inline stream::Key JobKey(ProjectId project, ResultId result, HostId host) {
  return {.project = project.value, .id = result.value, .sub = host.value};
}

// The reversals of the entry's user and team; null: none.
template <class Rows>
auto* FindReversed(const wire::LedgerEntry& entry, Rows& rows) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const ReversedPartial& one) {
    return one.user == entry.user && one.team == entry.team;
  });
  return found == rows.end() ? nullptr : &*found;
}

// The payments of a user; null: none.
template <class Rows>
auto* FindPaid(UserId user, Rows& rows) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.user == user; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace cobblestone::claims
