// What only the operator of a federation hub decides about a project: whether it is retired, its key for proofs of ownership,
// its points, which accounts belong to an account manager, whether it is one itself, how long the hub keeps who has left, and
// that a held edition was released. A project with a token of the kind `feeds` says everything else about itself.
#pragma once

#include <string>
#include <string_view>

#include "common/wire/events/events.h"

namespace cobblestone::gateway {

// The first field of the event that only the operator of a hub decides: "shared_accounts". Empty: it has none, or the bytes
// are no event that a hub accepts. `kind` is that of the envelope.
std::string_view OperatorField(wire::EventKind kind, std::string_view envelope);

}  // namespace cobblestone::gateway
