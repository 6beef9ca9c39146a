// Makes a slot's state as of what is committed, without owning it: for `verify`, `rebuild` and `migrate`.
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
  // From the last checkpoint; else from the first journal entry on, which must be there.
  bool checkpoint = true;
  // No further than this commit, though more are committed; 0: all.
  std::uint64_t until = 0;
  // For state with which a worker goes on: it keeps what the next checkpoint must say. Else it is without markers.
  bool markers = false;
  Millis patience{60000};  // without progress
  std::function<void(const TaskStatus&)> progress{};
  std::function<void(const SlotCommit&)> executed{};  // of each commit
};

// `space` has no state of the slot, or an older one to begin with. Every commit that is executed gives the journal's
// fingerprint, or it is kCorrupted. On return the state is written.
Result<SlotMeta> CatchUp(Cluster& cluster, std::uint32_t slot, const TaskOptions& options,
                         const SlotFactory& factory, StateSpace& space, Background& background,
                         const CatchUpOptions& how);

}  // namespace cobblestone::stream::kafka
