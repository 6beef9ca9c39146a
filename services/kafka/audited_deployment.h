// A deployment on Kafka as an audit reads it, beside running workers: the state of each slot as of a commit, and
// the committed records of the topics. Changes nothing on the cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/audit/audited_pipeline.h"

namespace cobblestone::kafka {

struct AuditedDeploymentOptions {
  // Holds the index of the ledger, which is kept for the next audit, and the state of one slot at a time.
  std::string directory;
  std::function<void(const std::string&)> report = [](const std::string&) {};  // messages for the operator
  // `done`: commits of the slot that its state has executed; `all`: the commit at which the audit reads the state.
  std::function<void(const std::string& slot, std::uint64_t done, std::uint64_t all)> restoring{};
};

// The state of a slot is restored from its checkpoint and re-executed to the commit that is the last when the read
// begins; a read returns kCorrupted if a re-executed commit has another fingerprint. kRetry: the cluster does
// not answer. kFenced: another audit has the directory. kInvalidArgument: the directory belongs to another
// deployment.
Result<std::unique_ptr<audit::AuditedPipeline>> OpenAudited(const settings::RunSettings& settings,
                                                            AuditedDeploymentOptions options);

}  // namespace cobblestone::kafka
