// Position of a row in a file, with one flag, packed into 64 bits: a project has millions of rows.
#pragma once

#include <cstdint>
#include <optional>

namespace cobblestone::exports {

struct Place {
  std::uint64_t offset = 0;  // below 2^36
  std::uint64_t length = 0;  // below 2^27, see kLargestRow
  bool flag = false;
};

inline std::optional<std::uint64_t> PackPlace(const Place& place) {
  if (place.offset >> 36U != 0 || place.length >> 27U != 0) return std::nullopt;
  return place.offset << 28U | place.length << 1U | (place.flag ? 1U : 0U);
}

inline Place UnpackPlace(std::uint64_t packed) {
  return {.offset = packed >> 28U, .length = (packed >> 1U) & ((1U << 27U) - 1), .flag = (packed & 1U) != 0};
}

}  // namespace cobblestone::exports
