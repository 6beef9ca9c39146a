// The first step of a stage with a record: from bytes to a value, or to a refusal. For all stages.
#pragma once

#include <optional>

#include "common/stream/processor.h"
#include "common/stream/watermarks.h"
#include "common/wire/control/control_codec.h"
#include "common/wire/events/events.h"

namespace cobblestone::stage {

// Decodes a record of `control`, and announces it to the stage's watermarks. None: the slot stops, because the record
// does not decode or is not the next one. The view is valid as long as the record.
std::optional<wire::ControlView> ReadControl(const stream::RecordView& record, stream::Watermarks& watermarks,
                                             stream::Emitter& out);

// The event of a record of an event topic, if it is well-formed and not from the future (FromTheFuture); otherwise the
// record is refused. The coordinator's watermarks pass unchecked.
std::optional<wire::Event> ReadEvent(const stream::RecordView& record, double future_limit,
                                     stream::Emitter& out);

}  // namespace cobblestone::stage
