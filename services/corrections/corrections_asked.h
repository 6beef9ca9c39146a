// What a reversal, re-pricing or reinstatement would do, on either backend: reads control, ledger, postings and refusals whole.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/base/status.h"
#include "services/corrections/correction_plan.h"
#include "services/ledger/ledger_index.h"

namespace cobblestone {

// `grants`: by partition, up to where the ledger is read; all before has been applied, and its postings are there.
Result<CorrectionPlan> PlanCorrections(
    const CorrectionRequest& request, const IndexedLogOf& log_of, const std::vector<std::uint64_t>& grants,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);

}  // namespace cobblestone
