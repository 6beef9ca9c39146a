// The plan of a reversal, repricing or reinstatement, on either backend. Reads all of `control`, `grants`,
// `postings` and `refused`.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/base/status.h"
#include "services/corrections/correction_plan.h"
#include "services/ledger/ledger_index.h"

namespace cobblestone::corrections {

// `grants`: by partition, the end of the ledger for this plan. The caller ensures that all earlier records were
// applied and that their postings are in the log.
Result<CorrectionPlan> PlanCorrections(
    const CorrectionRequest& request, const ledger::IndexedLogOf& log_of,
    const std::vector<std::uint64_t>& grants,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);

}  // namespace cobblestone::corrections
