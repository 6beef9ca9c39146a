// Codec of the less frequent event kinds, through generated code. Internal to this folder: others call
// ParseEvent and EncodeEvent (event_codec.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/wire/events/events.h"

namespace cobblestone::wire {

// Absent if the bytes are not an Envelope. Completions and validations belong to the hand-written decoder: an
// Envelope with one of them gives a body of monostate here.
std::optional<Event> ParseWithGeneratedCode(std::string_view bytes);

// The reverse; a completion or validation in `event` is omitted.
std::string EncodeWithGeneratedCode(const Event& event);

}  // namespace cobblestone::wire
