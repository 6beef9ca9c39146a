// Finds slot positions without the group's offsets and sets them without owning the slots: for a group whose
// offsets have expired (`rebuild --journal`), and for a deployment that comes from another backend
// (`migrate`).
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

// The last committed position according to the journal's end and the newest complete checkpoint. None:
// nothing was ever committed. All transactions on these partitions must have ended. kCorrupted: journal and
// checkpoint do not match, or commits between them are missing.
Result<std::optional<Position>> PositionByJournal(Cluster& cluster, std::uint32_t slot,
                                                  const TaskOptions& options, Millis patience);

// Sends positions in the producer's open transaction. The group must be empty: with static members the broker
// rejects the request otherwise.
Outcome SendPositions(Cluster& cluster, const std::map<std::uint32_t, Position>& positions,
                      TopicIndex journal, Producer& producer);

}  // namespace cobblestone::stream::kafka
