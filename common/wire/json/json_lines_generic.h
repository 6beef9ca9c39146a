// The reference for lines of JSON: protobuf's own JSON mapping. It decides which lines are events, and it writes
// the message for a line that is not. EnvelopeFromJson (json_lines.h) gives the same results faster.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::wire {

// As EnvelopeFromJson, without the fast path. For tests, and for the lines that the fast path declines.
Result<std::string> EnvelopeFromJsonGeneric(std::string_view line);

}  // namespace cobblestone::wire
