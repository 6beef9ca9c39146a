// A word is the identity of the event that last set a subject (a host, an app, an account's opening balance).
// Members, catalogue and openings are stored with their word. Such an event may be repeated, also after newer
// ones; the word detects the repeat.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/stream/hash128.h"
#include "common/wire/events/events.h"

namespace cobblestone::wire {

// State: what identifies an event. With a 32-bit hash, one in 4e9 differing contents is not detected, and
// only under the same id.
struct Word {
  std::uint64_t id = 0;    // of the event; 0: none yet
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
  kRepeat,         // the same event again: dropped
  kOtherContents,  // the same id with other bytes: refused
  kOlder,          // older than the word in force: dropped
};

// Compares a word with the one in force. Members: the newest by (time, id) is in force, so that neither
// repeats nor the order of arrival affect the result.
inline Standing StandingOf(const Word& word, const Word& in_force) {
  if (!in_force.said()) return Standing::kNews;
  if (word.id == in_force.id)
    return word.hash == in_force.hash ? Standing::kRepeat : Standing::kOtherContents;
  const bool older = word.time != in_force.time ? word.time < in_force.time : word.id < in_force.id;
  return older ? Standing::kOlder : Standing::kNews;
}

}  // namespace cobblestone::wire
