// What an event says, apart from its id. A producer that restarts may send the same fact under a new id: facts tell the repeat.
// The event's time is one of its facts.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/wire/events/events.h"
#include "common/wire/events/word.h"

namespace cobblestone::wire {

// Both are an Envelope's bytes, and say the same whatever their ids. Equal facts are told by equal bytes: a producer writes
// the fields of a message in one order.
[[nodiscard]] bool SameFacts(std::string_view one, std::string_view other);

// The same for events of the same facts. Of 32 bits one in 4e9 others goes unnoticed.
[[nodiscard]] std::uint32_t HashOfFacts(std::string_view event);

// Of an event whose subject has one word only: its repeat may have another id.
[[nodiscard]] inline Word WordOfFacts(const EventHead& head, std::string_view event) {
  return {.id = head.id, .time = head.time, .hash = HashOfFacts(event)};
}
[[nodiscard]] inline bool IsRepeat(const Word& word, const Word& before) {
  return word.hash == before.hash && word.time == before.time;
}

}  // namespace cobblestone::wire
