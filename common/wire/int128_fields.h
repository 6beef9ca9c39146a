// A 128-bit sum as two fields of 64 bits, low and high.
#pragma once

#include <cstdint>

#include "common/credit/accounts/account.h"

namespace cobblestone::wire {

__extension__ using UnsignedTotal = unsigned __int128;

inline std::int64_t LowHalf(credit::MicroTotal v) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(v));
}
inline std::int64_t HighHalf(credit::MicroTotal v) { return static_cast<std::int64_t>(v >> 64); }
inline credit::MicroTotal JoinHalves(std::int64_t low, std::int64_t high) {
  return static_cast<credit::MicroTotal>(static_cast<UnsignedTotal>(static_cast<std::uint64_t>(high)) << 64 |
                                         static_cast<std::uint64_t>(low));
}

}  // namespace cobblestone::wire
