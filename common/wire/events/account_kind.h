#pragma once

#include <cstdint>

namespace cobblestone::wire {

// Frozen numbers.
enum class AccountKind : std::uint8_t { kUnknown = 0, kHost = 1, kUser = 2, kTeam = 3 };

}  // namespace cobblestone::wire
