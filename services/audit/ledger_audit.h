// The audit: computes each grant again from its recorded inputs, and each total from the grants. Looks at the
// state partition by partition, each as of one commit, so the pipeline may run meanwhile.
//
// Memory does not grow with the ledger: what is compared over the whole ledger is sorted on disk. It grows with
// hosts that moved or merged, with corrections, and with accounts that have estimates.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "services/audit/audit_outcome.h"
#include "services/audit/audited_pipeline.h"
#include "services/audit/spill_sort.h"

namespace cobblestone {

struct AuditOptions {
  SpillOptions spill;
  // Receives the number of processed records and of all. May be empty.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress{};
};

struct AuditReport {
  nlohmann::json answer;  // ["problems"] is empty if the audit is clean
  AuditOutcome outcome;   // without `at` and `seconds`
};

Result<AuditReport> AuditLedger(AuditedPipeline& pipeline, const AuditOptions& options);

}  // namespace cobblestone
