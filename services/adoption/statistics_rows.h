// Statistics rows that a project supplies (`adopt --statistics`): JSON Lines, as `replay --state-out` writes
// them (docs/guides/what-if.md). Read line by line, so that a file may be of any length.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/wire/events/events.h"

namespace cobblestone::adoption {

struct StatisticsRow {
  // OpeningHostVersion, OpeningAppVersion or OpeningApp; none: the line is of another kind and is skipped.
  wire::EventBody body;
  std::uint64_t line = 0;  // from 1
};

// All rows in order. NotFound, or InvalidArgument with file and line: not JSON; a number that is
// missing, not finite or of another type; a row of another project. Ends early with the first
// status of `take` that is not Ok.
Status ReadStatistics(const std::string& path, ProjectId project,
                      const std::function<Status(const StatisticsRow&)>& take);

}  // namespace cobblestone::adoption
