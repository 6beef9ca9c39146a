// The question what a reversal, re-pricing or reinstatement would do, of either backend: reads control, ledger, postings and
// refusals whole.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/base/status.h"
#include "services/cobblestone/correction_plan.h"
#include "services/cobblestone/ledger_index.h"
#include "services/cobblestone/question.h"

namespace cobblestone {

// /corrections?project=P&target=result|host|workunit|app-version&id=N[&since=T][&until=T][&version=V]
//   [&reinstates=1[&judged_invalid=1][&credit=C]]
//   &reason=TEXT[&time=T]
// kInvalidArgument: a parameter is missing or means nothing.
Result<CorrectionRequest> CorrectionRequestOf(const Question& question);
Question QuestionOf(const CorrectionRequest& request);

// `grants`: by partition, up to where the ledger is read; all before has been applied, and its postings are there.
Result<CorrectionPlan> PlanCorrections(
    const CorrectionRequest& request, const IndexedLogOf& log_of, const std::vector<std::uint64_t>& grants,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);

}  // namespace cobblestone
