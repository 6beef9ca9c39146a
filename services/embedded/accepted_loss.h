// What an operator does about a log that has lost its end (`cobblestone run --accept-loss`): what is left of it is the truth,
// and everything that was made of the rest is put aside, so that it is made again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/stream/embedded/log.h"

namespace cobblestone {

// Moves every state and copy that has executed more commits than the log holds to `data_directory`/lost, before a runner
// opens them; `tell` gets a line for each. What cannot be read is left to the runner. Safe to be broken off and done again.
// Gives how many it moved.
Result<std::uint64_t> PutAsideWhatIsNewerThan(const stream::embedded::Log& log,
                                              const std::string& data_directory, std::uint32_t slots,
                                              const std::function<void(const std::string&)>& tell);

}  // namespace cobblestone
