// A stage refuses a record: whole, with where it came from and why, on the topic `refused`.
#pragma once

#include <string>

#include "common/base/ids.h"
#include "common/stream/processor.h"
#include "common/wire/refusal.h"

namespace cobblestone::wire {

// `project`: 0 where the bytes do not tell.
void Refuse(const stream::RecordView& record, ProjectId project, RefusalReason reason, std::string detail,
            stream::Emitter& out);

}  // namespace cobblestone::wire
