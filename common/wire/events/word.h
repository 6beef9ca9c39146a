// Members, catalogue and openings are words about a subject (a host, an app, an account's opening balance). A
// word may come twice like every event, also when newer ones have come since: what is remembered of a word
// tells its repeat.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/stream/hash128.h"
#include "common/wire/events/events.h"

namespace cobblestone::wire {

// State: one word as far as it must be known again. Of 32 bits of hash one in 4e9 other contents goes
// unnoticed, and only of those that come under the same id.
struct Word {
  std::uint64_t id = 0;    // of the event; 0: none was said
  double time = 0;         // of the event, UNIX s
  std::uint32_t hash = 0;  // of its bytes

  [[nodiscard]] bool said() const { return id != 0; }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.id, s.time, s.hash);
  }
};

inline Word WordOf(const EventHead& head, std::string_view bytes) {
  return {.id = head.id, .time = head.time, .hash = static_cast<std::uint32_t>(stream::HashBytes(bytes).low)};
}

enum class Standing : std::uint8_t {
  kNews,
  kRepeat,         // the same event once more: dropped
  kOtherContents,  // its id with other bytes: refused
  kOlder,          // said before the other: overtaken, dropped
};

// How a word stands to the one in force. Members: the newest by (time, id) is in force, so that neither
// repeats nor the order of arrival decide what is.
inline Standing StandingOf(const Word& word, const Word& in_force) {
  if (!in_force.said()) return Standing::kNews;
  if (word.id == in_force.id)
    return word.hash == in_force.hash ? Standing::kRepeat : Standing::kOtherContents;
  const bool older = word.time != in_force.time ? word.time < in_force.time : word.id < in_force.id;
  return older ? Standing::kOlder : Standing::kNews;
}

}  // namespace cobblestone::wire
