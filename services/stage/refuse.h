// Writes a refused record to the topic `refused`: the whole record, its origin and the reason. For all stages.
#pragma once

#include <optional>
#include <string>

#include "common/base/ids.h"
#include "common/stream/processor.h"
#include "common/wire/ledger/refusal.h"

namespace cobblestone::stage {

// `project`: 0 if the bytes do not name the project.
void Refuse(const stream::RecordView& record, ProjectId project, wire::RefusalReason reason,
            std::string detail, stream::Emitter& out);

// The reason to refuse an event whose time is later than its append time by more than clocks may differ
// (`limit`, s); null if the event is not refused. Holds for every kind of event: a member event from the future
// would take precedence over all later ones, and a tick from the future would end every window. Without an
// append time (replay) no event is from the future.
std::optional<wire::Refusal> FromTheFuture(const stream::RecordView& record, double event_time, double limit);

}  // namespace cobblestone::stage
