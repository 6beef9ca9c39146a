// Where slots stand, found without the group's word and set without owning them: for an operator whose group was forgotten
// (`rebuild --journal`), and for a deployment that comes from elsewhere (`migrate`).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/stream/kafka/position.h"
#include "common/stream/kafka/task.h"
#include "common/stream/kafka/transport.h"

namespace cobblestone::stream::kafka {

// What was committed last, by the journal's end and the newest checkpoint that is whole. None: nothing ever was. All
// transactions that have written there must be decided. kCorrupted: the two do not belong together, or commits are missing
// between them.
Result<std::optional<Position>> PositionByJournal(Cluster& cluster, std::uint32_t slot,
                                                  const TaskOptions& options, Millis patience);

// Part of the open transaction of a producer. The group must be empty: with static members the broker refuses else.
Outcome SendPositions(Cluster& cluster, const std::map<std::uint32_t, Position>& positions,
                      TopicIndex journal, Producer& producer);

}  // namespace cobblestone::stream::kafka
