// Looks from time to time whether each slot is somebody's. A member that gives one up is to join again, so that it goes to
// the next; when it dies before, and is back within its session, a group of static members does not notice, and nobody would
// ever have that slot (seen on Kafka 4.3.1).
#pragma once

#include <cstdint>

#include "common/stream/kafka/transport.h"

namespace cobblestone::stream::kafka {

class GroupWatch {
 public:
  // Asks once in `every`; half a session is often enough, for what a session's end mends is no business of this.
  GroupWatch(std::uint32_t slots, Millis every) : slots_(slots), every_(every) {}

  // To be called often. True, once: at several looks, one after the other, some slot was nobody's in a group at rest, and of
  // its members this one is to have everything shared out again.
  bool Unowned(Group& group, Time now);

 private:
  [[nodiscard]] bool WeMustAct(const GroupView& view) const;

  std::uint32_t slots_;
  Millis every_;
  bool asked_ = false;
  int unowned_ = 0;  // looks
  Time next_{};
};

}  // namespace cobblestone::stream::kafka
