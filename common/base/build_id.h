// Identifies the running build.
#pragma once

#include <string>

namespace cobblestone {

// The first digits of the linker's build id; empty if there is none.
std::string BuildId();

}  // namespace cobblestone
