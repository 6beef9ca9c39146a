// The history of one app from a pipeline: its ledger, its hosts and apps, and the completions and validations that its
// topics still hold.
#pragma once

#include <cstdint>
#include <functional>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/audit/audited_pipeline.h"
#include "services/history/history.h"

namespace cobblestone::history {

// `app` 0: as History. `progress` receives the number of read records and of all; may be empty. kNotFound: no such
// project. kCorrupted: a record of the ledger cannot be decoded. The pipeline may run meanwhile.
Result<History> ReadPipeline(audit::AuditedPipeline& pipeline, ProjectId project, AppId app,
                             const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);

}  // namespace cobblestone::history
