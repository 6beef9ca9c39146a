// Which build of the program runs.
#pragma once

#include <string>

namespace cobblestone {

// The first digits of the build id that the linker gave it; empty where it gave none.
std::string BuildId();

}  // namespace cobblestone
