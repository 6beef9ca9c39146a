// Statistics rows that a project brings along (`adopt --statistics`): JSON Lines, as `replay --state-out` writes them
// (README.md). Read line by line, so that a file may be of any length.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/wire/events/events.h"

namespace cobblestone::adoption {

struct StatisticsRow {
  // OpeningHostVersion, OpeningAppVersion, OpeningApp; none where the line is of another kind, and passed over.
  wire::EventBody body;
  std::uint64_t line = 0;  // from 1
};

// All rows in order. NotFound, or InvalidArgument with file and line: no JSON, a number that is missing, of another type or not
// finite, a row of another project. Ends early with what `take` returns, if that is no Ok.
Status ReadStatistics(const std::string& path, ProjectId project,
                      const std::function<Status(const StatisticsRow&)>& take);

}  // namespace cobblestone::adoption
