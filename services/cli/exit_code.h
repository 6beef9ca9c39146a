// Exit codes of the program: one number per reaction that a script could have. Frozen; `cobblestone --help` lists
// them.
#pragma once

#include "common/base/status.h"

namespace cobblestone::cli {

enum ExitCode : int {
  kExitOk = 0,
  // Success with findings: refused lines, or a difference in an audit or a comparison.
  kExitProblems = 1,
  kExitUsage = 2,      // the command line, the configuration or the named file must be changed
  kExitNotFound = 3,   // no such result, account, file or directory
  kExitBusy = 4,       // unreachable, or held by another process: a later try may succeed
  kExitCorrupted = 5,  // stored bytes differ from what was written: the operator decides
  kExitInternal = 70,  // the process could not continue
  // The disk accepts no more data. The log also ends the process with this code
  // (stream::embedded::kFailedWriteExitCode).
  kExitFailedWrite = 74,
};

inline ExitCode ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return kExitOk;
    case StatusCode::kInvalidArgument: return kExitUsage;
    case StatusCode::kNotFound: return kExitNotFound;
    case StatusCode::kRetry:
    case StatusCode::kFenced: return kExitBusy;
    case StatusCode::kCorrupted: return kExitCorrupted;
    case StatusCode::kFull: return kExitFailedWrite;
    case StatusCode::kFatal: return kExitInternal;
  }
  return kExitInternal;
}

}  // namespace cobblestone::cli
