// Builds a slot's state as of the last commit, without owning the slot: for `verify`, `audit`,
// `rebuild` and `migrate`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/stream/kafka/background.h"
#include "common/stream/kafka/state.h"
#include "common/stream/kafka/task.h"
#include "common/stream/kafka/transport.h"

namespace cobblestone::stream::kafka {

struct CatchUpOptions {
  // True: start from the last checkpoint. False: from the first journal entry, which must still exist.
  bool checkpoint = true;
  // Stop at this commit, even if later ones exist; 0: the last.
  std::uint64_t until = 0;
  // With `until` 0: stop at the commit that is the last one when the call begins, however busy the owner is.
  bool to_committed = false;
  // True: for state that a worker continues with; markers record what the next checkpoint must contain.
  bool markers = false;
  Millis patience{60000};  // without progress
  std::function<void(const TaskStatus&)> progress{};
  // Called again and again; a status other than ok ends the work and is returned. Without it, `until` or `to_committed`,
  // a slot whose owner keeps committing faster than this process re-executes is followed without an end.
  std::function<Status()> check{};
  std::function<void(const SlotCommit&)> executed{};  // called with each re-executed commit
};

// `space` holds no state of the slot, or an older one to start from. kCorrupted: a re-executed commit has
// another fingerprint than the journal holds. On return the state is written.
Result<SlotMeta> CatchUp(Cluster& cluster, std::uint32_t slot, const TaskOptions& options,
                         const SlotFactory& factory, StateSpace& space, Background& background,
                         const CatchUpOptions& how);

}  // namespace cobblestone::stream::kafka
