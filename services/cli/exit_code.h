// How the program ends: one number per reaction that a script could have. Frozen; `cobblestone --help`
// lists them.
#pragma once

#include "common/base/status.h"

namespace cobblestone {

enum ExitCode : int {
  kExitOk = 0,
  kExitProblems =
      1,           // it worked, and something was found: lines refused, an audit or a comparison that differs
  kExitUsage = 2,  // the command line, the configuration or the file that was named must be changed
  kExitNotFound = 3,   // there is no such result, account, file, directory
  kExitBusy = 4,       // cannot be reached, or held by another process: the same may work later
  kExitCorrupted = 5,  // stored bytes are not what was written: the operator decides
  kExitInternal = 70,  // this process could not go on
  // The disk takes no more. The log ends the process with it, too (stream::embedded::kFailedWriteExitCode).
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

}  // namespace cobblestone
