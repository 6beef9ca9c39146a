// Which rules this program has. Counts up when the same input may give other numbers than before, or other rows of state: new
// rules begin with a version of a policy in the log, and a program that has not got them must not go on behind it. Stored
// with state, journal and positions.
#pragma once

#include <cstdint>

namespace cobblestone {

// Alone in its file, so that tests of an upgrade link the next program by a file of their own.
extern const std::uint32_t kRulesVersion;

}  // namespace cobblestone
