// Quantities as people write them: "5 ms", "256 MiB", "20000". Exact: a text that is not a whole number of
// the base unit is refused, not rounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::settings {

enum class Quantity : std::uint8_t {
  kCount,     // base unit 1
  kBytes,     // base unit 1 byte
  kDuration,  // base unit 1 microsecond
};

// In base units, never negative. kInvalidArgument: the message is a sentence fragment with the error.
Result<std::int64_t> ParseQuantity(Quantity quantity, std::string_view text);

// In the largest unit that gives a whole number; ParseQuantity reads it back.
std::string FormatQuantity(Quantity quantity, std::int64_t value);

// "us, ms, s, min, h, days"; empty for counts.
std::string UnitsOf(Quantity quantity);

}  // namespace cobblestone::settings
