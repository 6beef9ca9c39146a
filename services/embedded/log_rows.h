// Rows of the embedded log: the positions of sources, the ticks, the state of `order: lockstep`, and the last audit.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/stream/embedded/log.h"
#include "services/audit/audit_outcome.h"
#include "services/intake/block.h"
#include "services/pipeline/periods.h"

namespace cobblestone::embedded {

using LogRow = std::pair<std::string, std::string>;  // key, value

// The position of a source, without its owner.
LogRow ProducerRow(const std::string& source, const intake::ProducerState& state);
LogRow OwnerRow(const std::string& source, const std::string& owner);
// Beginning of the source's last batch.
LogRow BatchRow(const std::string& source, const intake::ProducerState& begin);
// Lines 0 if the source was never used.
intake::ProducerState ReadProducer(const stream::embedded::Log& log, const std::string& source);
intake::ProducerState ReadBatchBegin(const stream::embedded::Log& log, const std::string& source);

// UNIX s of the last tick of a project; project 0: of all.
LogRow TickRow(ProjectId project, double time);
double ReadTick(const stream::embedded::Log& log, ProjectId project);
Status ScanTicks(const stream::embedded::Log& log,
                 const std::function<void(ProjectId project, double time)>& visit);

// Whether the last block had a barrier: after a crash during that block, the next block waits until it is processed.
LogRow BarrierRow(bool barrier);
bool ReadBarrier(const stream::embedded::Log& log);

// Rows that mark a log as one of `order: lockstep` and store the kind of events in the current period.
std::vector<LogRow> LockstepRows(pipeline::PeriodKind period_kind);
LogRow PeriodKindRow(pipeline::PeriodKind period_kind);
// Marks a log as one of that kind of deployment (settings::KindOf).
LogRow KindRow(std::string_view kind);
std::string StoredKind(const stream::embedded::Log& log);
// kNothing in a log with another order.
pipeline::PeriodKind LastPeriodKind(const stream::embedded::Log& log);

LogRow AuditRow(const audit::AuditOutcome& outcome);
// None: no audit has run, or its row cannot be read.
std::optional<audit::AuditOutcome> ReadAudit(const stream::embedded::Log& log);

}  // namespace cobblestone::embedded
