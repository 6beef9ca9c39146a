// Checks periodically that each slot has an owner. A member that gives up a slot must rejoin, so that the
// slot is assigned to another member. If the member dies before that and returns within its session, a group
// of static members does not notice, and the slot would never get an owner (seen on Kafka 4.3.1).
#pragma once

#include <cstdint>

#include "common/stream/kafka/transport.h"

namespace cobblestone::stream::kafka {

class GroupWatch {
 public:
  // Checks once per `every`. Half a session timeout is enough, because the end of a session repairs shorter
  // problems by itself.
  GroupWatch(std::uint32_t slots, Millis every) : slots_(slots), every_(every) {}

  // Call often. Returns true once when several consecutive checks found a slot without owner in a stable
  // group and this member must trigger a rebalance.
  bool Unowned(Group& group, Time now);

 private:
  [[nodiscard]] bool WeMustAct(const GroupView& view) const;

  std::uint32_t slots_;
  Millis every_;
  bool asked_ = false;
  int unowned_ = 0;  // consecutive checks
  Time next_{};
};

}  // namespace cobblestone::stream::kafka
