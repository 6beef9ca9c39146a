// Checks that a copy of a data directory opens: reads the same data as the start of a pipeline, and changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::backup {

struct DataDirectoryFigures {
  std::uint64_t commit = 0;                  // last commit of the log
  std::uint64_t records = 0;                 // in the log, over all topics
  std::uint64_t sources = 0;                 // sources whose position the log has
  std::vector<std::uint64_t> state_commits;  // by slot: commits that the state has executed
};

// Opens log and states of `directory` for reading. No process may use the directory. kCorrupted: log or a state does
// not open, or the log lacks records that a state has executed or must read next. kInvalidArgument: the directory was
// made with another number of partitions.
Result<DataDirectoryFigures> CheckDataDirectory(const std::string& directory, std::uint32_t partitions);

}  // namespace cobblestone::backup
