// Limits on the texts of an event. Without limits, one event of 15 MiB would make every list that shows it as
// long. Pure; allocates only when it refuses. A test enumerates the text fields of the schema: each one needs
// a limit here.
#pragma once

#include <cstddef>
#include <optional>

#include "common/wire/events/events.h"
#include "common/wire/ledger/refusal.h"

namespace cobblestone::wire {

inline constexpr std::size_t kMaxName = 1016;      // bytes: 254 characters of UTF-8, as in BOINC's columns
inline constexpr std::size_t kMaxText = 64 << 10;  // bytes; every other text
// Bytes; texts of Trickle.others together (names: kMaxText).
inline constexpr std::size_t kMaxTrickleTexts = 16 << 10;

// OUT_OF_RANGE with the field's name for the first text that is too long. HandedEvent.event is exempt: CLAIMS alone
// writes it, and the event in it was checked before.
std::optional<Refusal> CheckTexts(const Event& event);

}  // namespace cobblestone::wire
