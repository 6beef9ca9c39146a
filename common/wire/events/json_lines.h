// An event as one line of text: the protobuf JSON mapping of Envelope, with the schema's field names. For
// files of events and for people. Both directions are exact for every double, but for the sign of zero and
// the payload of a NaN: JSON has neither.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::wire {

// The Envelope's bytes. Field names of the schema (elapsed_time) and of the JSON mapping (elapsedTime) are
// both good. InvalidArgument where the line is no JSON, has a field that the schema does not have, or a value
// that its field cannot hold; the message says which.
Result<std::string> EnvelopeFromJson(std::string_view line);

// One line without its end. InvalidArgument where the bytes are no Envelope. A field that this build does not
// know is left out.
Result<std::string> EnvelopeToJson(std::string_view bytes);

}  // namespace cobblestone::wire
