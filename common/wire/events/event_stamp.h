// A stamp is the identity of the event that last set a subject (a host, an app, an account's opening balance).
// Members, catalogue and openings are stored with their stamp. Such an event may be repeated, also after newer
// events; the stamp detects the repeat.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/stream/hash128.h"
#include "common/wire/events/events.h"

namespace cobblestone::wire {

// State: what identifies an event. With a 32-bit hash, one in 4e9 differing contents is not detected, and
// only under the same id.
struct EventStamp {
  std::uint64_t id = 0;    // of the event; 0: none yet
  double time = 0;         // of the event, UNIX s
  std::uint32_t hash = 0;  // of its bytes

  [[nodiscard]] bool is_set() const { return id != 0; }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.id, s.time, s.hash);
  }
};

inline EventStamp StampOf(const EventHead& head, std::string_view bytes) {
  return {.id = head.id, .time = head.time, .hash = static_cast<std::uint32_t>(stream::HashBytes(bytes).low)};
}

enum class StampOrder : std::uint8_t {
  kNewer,
  kRepeat,         // the same event again: dropped
  kOtherContents,  // the same id with other bytes: refused
  kOlder,          // older than the stamp in force: dropped
};

// Compares a stamp with the stamp in force. Members: the newest by (time, id) is in force, so that neither
// repeats nor the order of arrival affect the result.
inline StampOrder CompareStamps(const EventStamp& stamp, const EventStamp& in_force) {
  if (!in_force.is_set()) return StampOrder::kNewer;
  if (stamp.id == in_force.id)
    return stamp.hash == in_force.hash ? StampOrder::kRepeat : StampOrder::kOtherContents;
  const bool older = stamp.time != in_force.time ? stamp.time < in_force.time : stamp.id < in_force.id;
  return older ? StampOrder::kOlder : StampOrder::kNewer;
}

}  // namespace cobblestone::wire
