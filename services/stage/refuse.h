// Writes a refused record to the topic `refused`: the whole record, its origin and the reason. For all stages.
#pragma once

#include <optional>
#include <string>

#include "common/base/ids.h"
#include "common/stream/processor.h"
#include "common/wire/ledger/refusal.h"

namespace cobblestone::wire {

// `project`: 0 if the bytes do not name the project.
void Refuse(const stream::RecordView& record, ProjectId project, RefusalReason reason, std::string detail,
            stream::Emitter& out);

// Null, or why an event is refused that is later than the time at which it was appended by more than clocks differ
// (`limit`, s). Of every kind: a word from the future would stand above all that is said after it, and a tick would
// end every window. Where that time is not known (replay) nothing is from the future.
std::optional<Refusal> FromTheFuture(const stream::RecordView& record, double event_time, double limit);

}  // namespace cobblestone::wire
