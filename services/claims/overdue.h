// What waits for something that never comes: rows of a slot with the event time `since` which they wait.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/model/constants.h"
#include "common/stream/table.h"

namespace cobblestone::claims {

// Gives each row of the project that has waited for longer than the default window, with its key, to `refuse`, in the order of
// their keys, and erases it. The time before which none of the others is over; infinity where there are none.
template <class Table, class Refuse>
double ExpireOverdue(Table& table, ProjectId project, double now, Refuse&& refuse) {
  std::vector<stream::Key> over;
  double first_due = std::numeric_limits<double>::infinity();
  table.WalkProject(project.value, [&](const stream::Key& key, const auto& waiting) {
    const double due = waiting.since + credit::kDefaultResultWindow;
    if (due < now)
      over.push_back(key);
    else
      first_due = std::min(first_due, due);
  });
  std::sort(over.begin(), over.end());
  for (const stream::Key& key : over) {
    refuse(key, table.Need(key));
    table.Erase(key);
  }
  return first_due;
}

}  // namespace cobblestone::claims
