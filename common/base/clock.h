// What this machine's clock says. For people and for metrics: no number of credit depends on it.
#pragma once

#include <chrono>

namespace cobblestone {

// UNIX s.
inline double UnixNow() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace cobblestone
