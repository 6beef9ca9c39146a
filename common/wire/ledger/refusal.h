// Why an input is refused. A refusal is data: it goes to the topic `refused` with the original bytes and
// changes no state, except that a well-formed event may advance the event time of its project
// (schemas/README.md, 'Reasons of refusal').
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cobblestone::wire {

// Frozen numbers, equal to schemas/internal.proto, RefusalReason; a test compares them. schemas/README.md
// says when each is given.
enum class RefusalReason : std::uint32_t {
  kUnknown = 0,
  kUndecodable = 1,
  kUnknownHost = 2,
  kUnknownResult = 3,
  kWrongHost = 4,
  kDuplicateWithOtherContents = 5,
  kNotFinite = 6,
  kNegative = 7,
  kFromTheFuture = 9,
  kTooLate = 10,
  kUnknownApp = 11,
  kUnknownAppVersion = 12,
  kWrongWorkunit = 13,
  kAlreadyDecided = 14,
  kMissingField = 15,
  kUnknownUser = 16,
  kUnknownPolicy = 17,
  kUnknownTeam = 18,
  kDispatchDiffers = 19,
  kOutOfRange = 20,
  kNotSupported = 21,
  kCrashed = 22,
  kUnknownProject = 23,
};
inline constexpr std::uint32_t kLastRefusalReason = 23;

// As in the schema: "UNDECODABLE", ... Unknown numbers give "REFUSAL_REASON_UNKNOWN".
std::string_view RefusalReasonName(RefusalReason reason);

struct Refusal {
  RefusalReason reason = RefusalReason::kUnknown;
  std::string detail;  // for the project's operator: the field and its value

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

}  // namespace cobblestone::wire
