// The contents of an event without its id. A restarted producer may send the same facts under a new id;
// comparing facts detects the repeat. The event's time is one of its facts.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/wire/events/event_stamp.h"
#include "common/wire/events/events.h"

namespace cobblestone::wire {

// Whether two Envelopes are equal except for their ids. Equal facts have equal bytes, because a producer
// writes the fields of a message in one order.
[[nodiscard]] bool SameFacts(std::string_view one, std::string_view other);

// A hash that is equal for equal facts. It has 32 bits, so one in 4e9 pairs of different events collides.
[[nodiscard]] std::uint32_t HashOfFacts(std::string_view event);

// For an event whose subject has only one stamp: its repeat may have another id.
[[nodiscard]] inline EventStamp StampOfFacts(const EventHead& head, std::string_view event) {
  return {.id = head.id, .time = head.time, .hash = HashOfFacts(event)};
}
[[nodiscard]] inline bool IsRepeat(const EventStamp& stamp, const EventStamp& before) {
  return stamp.hash == before.hash && stamp.time == before.time;
}

}  // namespace cobblestone::wire
