// Version of the rules in this program. Increases when the same input may give other numbers or other rows of state.
// New rules start with a version of a policy in the log, and a program without these rules must not process records
// after that place. Stored with state, journal and positions.
#pragma once

#include <cstdint>

namespace cobblestone::pipeline {

// In a file of its own, so that tests of an upgrade can link a program of the next version.
extern const std::uint32_t kRulesVersion;

}  // namespace cobblestone::pipeline
