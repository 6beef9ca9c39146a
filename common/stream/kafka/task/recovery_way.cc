#include "common/stream/kafka/task/recovery_way.h"

namespace cobblestone::stream::kafka {

RecoveryWay WayTo(const Position& position, const SlotMeta& state, const RecoveryFacts& facts) {
  if (position.sequence == 0) {
    if (state.sequence > 0) return RecoveryWay::kNoPosition;
    return facts.follows ? RecoveryWay::kFollow : RecoveryWay::kFresh;
  }
  if (state.journal_next > position.journal_next || state.sequence > position.sequence)
    return RecoveryWay::kAhead;
  const std::uint64_t checkpoint = position.checkpoint_sequence;
  const bool lost = facts.lost_checkpoint != 0 && facts.lost_checkpoint == checkpoint;
  if (lost) return facts.follows ? RecoveryWay::kWait : RecoveryWay::kReexecute;
  if (facts.follows) {
    // A checkpoint contains the changes since the previous checkpoint, but no rows that were created and
    // deleted in between. Only a state as of the previous checkpoint can apply it.
    if (state.sequence == checkpoint) return RecoveryWay::kFollow;
    return checkpoint == 0 ? RecoveryWay::kDiscardFollow : RecoveryWay::kRestore;
  }
  const bool useless = state.sequence == 0 || state.sequence + kBehindCheckpoint < checkpoint;
  return useless && checkpoint > 0 ? RecoveryWay::kRestore : RecoveryWay::kReexecute;
}

}  // namespace cobblestone::stream::kafka
