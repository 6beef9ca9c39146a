// Proves that a copy of a data directory opens: what a start of the pipeline reads first, without changing anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::backup {

struct DataDirectoryFigures {
  std::uint64_t commit = 0;                  // of the log
  std::uint64_t records = 0;                 // in the log, over all topics
  std::uint64_t sources = 0;                 // whose position the log has
  std::vector<std::uint64_t> state_commits;  // by slot: commits that the state has executed
};

// Opens log and states of `directory`, which no process uses, for reading. kCorrupted: one does not open, or a state
// has executed more than the log holds, or needs more than it still holds. kInvalidArgument: made with another number
// of partitions.
Result<DataDirectoryFigures> CheckDataDirectory(const std::string& directory, std::uint32_t partitions);

}  // namespace cobblestone::backup
