// `lab run --from-ledger`: the world of a project's own records.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "services/history/fit.h"

namespace cobblestone::commands {

struct LedgerPlaceOptions {
  std::string path;  // a data directory, the configuration of a deployment (*.yaml), or a file of events
  std::uint32_t project = 1;
  std::uint64_t app = 0;  // 0: the project's only app
  bool quiet = false;     // shows no progress
};

// Errors of the reader and of the fit name the next step.
Result<history::Fit> FitLedger(const LedgerPlaceOptions& options);

}  // namespace cobblestone::commands
