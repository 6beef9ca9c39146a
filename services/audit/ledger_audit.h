// The audit: computes each grant again from its recorded inputs, and each total from the grants. Looks at the
// state partition by partition, each as of one commit, so the pipeline may run meanwhile.
//
// Memory does not grow with the ledger: what is compared over the whole ledger is sorted on disk. It grows with
// hosts that moved or merged, with corrections, and with accounts that have estimates.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "common/base/status.h"
#include "services/audit/audit_outcome.h"
#include "services/audit/audited_pipeline.h"
#include "services/audit/spill_sort.h"

namespace cobblestone::audit {

struct AuditOptions {
  SpillOptions spill;
  // File with the record of the last clean audit (AuditRecord), which a clean audit replaces. Empty: none is read or
  // written.
  std::string record{};
  double at = 0;  // UNIX s, for the record
  // Continues from the record, that is, reads only later ledger records, if the last audit that read all is at most so
  // many days old. Reads all without a record, if the state has another rules version, or if 0.
  std::uint32_t since_days = 0;
  // Receives the number of processed records and of all. May be empty.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress{};
};

struct AuditReport {
  // ["problems"] is empty if the audit is clean. ["since"], if the audit continued from a record: `at` and `grants` of
  // that audit. The other counts are those of later records.
  nlohmann::json answer;
  AuditOutcome outcome;  // without `at` and `seconds`
};

// With `since_days`, kCorrupted: the record is damaged. kInvalidArgument: it is the record of another ledger. Both
// messages name the next step.
Result<AuditReport> AuditLedger(AuditedPipeline& pipeline, const AuditOptions& options);

}  // namespace cobblestone::audit
