// The machine's wall clock. For people and metrics only: no credit depends on it.
#pragma once

#include <chrono>

namespace cobblestone {

// UNIX s.
inline double UnixNow() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace cobblestone
