// Recovery from a log that has lost its end (`cobblestone run --accept-loss`): the remaining log is authoritative,
// and every state that was derived from the lost part is moved away and rebuilt.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/stream/embedded/log.h"

namespace cobblestone::embedded {

// Moves every state and copy that has executed more commits than the log holds to `data_directory`/lost, before a
// runner opens them; `report` receives a line for each. Unreadable states are left to the runner. Safe to interrupt and
// repeat. Returns the number of states and copies that were moved.
Result<std::uint64_t> PutAsideWhatIsNewerThan(const stream::embedded::Log& log,
                                              const std::string& data_directory, std::uint32_t slots,
                                              const std::function<void(const std::string&)>& report);

}  // namespace cobblestone::embedded
