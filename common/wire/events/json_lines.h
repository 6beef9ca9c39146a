// An event as one line of text: the protobuf JSON mapping of Envelope, with the schema's field names. For
// event files and for people. Both directions are exact for every double, except for the sign of zero and the
// payload of a NaN, which JSON does not have.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::wire {

// Returns the Envelope's bytes. Accepts field names of the schema (elapsed_time) and of the JSON mapping
// (elapsedTime). InvalidArgument if the line is not JSON, has an unknown field, or a value that its field
// cannot hold; the message says which.
Result<std::string> EnvelopeFromJson(std::string_view line);

// One line without its line end. InvalidArgument if the bytes are not an Envelope. Unknown fields are
// omitted.
Result<std::string> EnvelopeToJson(std::string_view bytes);

}  // namespace cobblestone::wire
