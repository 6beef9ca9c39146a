// The history of one app from a file of events, in any format of `ingest`. Memory grows with the results of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/history/history.h"

namespace cobblestone::history {

// `app` 0: as History. `progress` receives bytes; may be empty. kNotFound: no such file, or it has no events of the
// project. Lines that are not events are skipped, as are repetitions of an event.
Result<History> ReadEvents(const std::string& path, ProjectId project, AppId app,
                           const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);

}  // namespace cobblestone::history
