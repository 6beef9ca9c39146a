// Chooses the way from the state on this machine to the committed position of a slot.
//
// Pure.
#pragma once

#include <cstdint>

#include "common/stream/kafka/position.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::kafka {

enum class RecoveryWay : std::uint8_t {
  kFresh,          // nothing was ever committed and there is no state
  kNoPosition,     // nothing was ever committed, but there is a state: an operator decides
  kAhead,          // the state is ahead of the cluster: an operator decides
  kRestore,        // discard the state, if any, and restore the newest checkpoint
  kReexecute,      // re-execute the journal after the state
  kFollow,         // apply the owner's checkpoints to the state
  kDiscardFollow,  // discard the state, and apply the owner's checkpoints from the first
  kWait,           // follow, but the newest checkpoint may have lost rows: wait for the next
};

struct RecoveryFacts {
  bool follows = false;  // a standby that applies the owner's checkpoints
  // Sequence of a checkpoint that may have lost rows; 0: none.
  std::uint64_t lost_checkpoint = 0;
};

// Commits: a state that is further behind the newest checkpoint is discarded.
inline constexpr std::uint64_t kBehindCheckpoint = 2000;

RecoveryWay WayTo(const Position& position, const SlotMeta& state, const RecoveryFacts& facts);

}  // namespace cobblestone::stream::kafka
