// Builds a slot's state as of a commit, without owning the slot: for `verify`, `audit`, `rebuild`, `migrate`
// and `backup`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "common/base/status.h"
#include "common/stream/kafka/background.h"
#include "common/stream/kafka/position.h"
#include "common/stream/kafka/state.h"
#include "common/stream/kafka/task.h"
#include "common/stream/kafka/transport.h"

namespace cobblestone::stream::kafka {

struct CatchUpOptions {
  // True: start from the last checkpoint. False: from the first journal entry, which must still exist.
  bool checkpoint = true;
  // The committed position to build; none: the position that is committed when the work begins. Later commits are
  // omitted.
  std::optional<Position> position{};
  // Stop at this commit, which is before the position; 0: at the position.
  std::uint64_t until = 0;
  // True: for state that a worker continues with; markers record what the next checkpoint must contain.
  bool markers = false;
  Millis patience{60000};  // without progress
  std::function<void(const TaskStatus&)> progress{};
  std::function<void(const SlotCommit&)> executed{};  // called with each re-executed commit
};

// The committed positions of slots [0, slots), as of one read; none: nothing was ever committed for the slot. kRetry: for
// `patience` an open transaction was about to change one of them, or the cluster did not answer.
Result<std::vector<std::optional<Position>>> CommittedPositions(Cluster& cluster, std::uint32_t slots,
                                                                Millis patience);

// `space` holds no state of the slot, or an older state to start from. kCorrupted: a re-executed commit has
// another fingerprint than the journal holds. On return the state is written.
Result<SlotMeta> CatchUp(Cluster& cluster, std::uint32_t slot, const TaskOptions& options,
                         const SlotFactory& factory, StateSpace& space, Background& background,
                         const CatchUpOptions& how);

}  // namespace cobblestone::stream::kafka
