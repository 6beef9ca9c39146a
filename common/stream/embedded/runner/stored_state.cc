#include "common/stream/embedded/runner/stored_state.h"

#include <algorithm>

namespace cobblestone::stream::embedded {

namespace {

// The pause between checkpoints is this many times the duration of the checkpoints of all slots, so that a
// large state is not read back all the time; but no slot pauses for more than this many intervals.
constexpr int kCheckpointRest = 10;

}  // namespace

StoredState::StoredState(const RunnerOptions& options, std::shared_ptr<store::StoreMemory> memory,
                         std::uint32_t slot, std::uint32_t slots)
    : options_(options), slots_(slots), checkpoints_(options, std::move(memory), slot) {}

Status StoredState::Apply(const StateWrite& write) {
  if (Status s = ApplyStateWrite(write, *store_); !s.ok())
    return s.code() == StatusCode::kRetry ? Status::Full(s.message()) : s;
  progress_.flushed_sequence = write.meta.sequence;
  ++progress_.writes;
  progress_.written_at = options_.clock();
  return Status::Ok();
}

Status StoredState::CheckpointIfDue(const SlotMeta& meta, bool* due) {
  const auto now = Clock::now();
  *due = now - last_checkpoint_ >= std::max<Clock::duration>(options_.checkpoint_interval, checkpoint_rest_);
  if (!*due) return Status::Ok();
  last_checkpoint_ = now;
  bool made = false;
  if (Status s = checkpoints_.Make(*store_, meta, &made); !s.ok()) return s;
  if (made) {
    progress_.checkpoint_sequence = meta.sequence;
    ++progress_.checkpoints;
    progress_.checkpoint_at = options_.clock();
  }
  checkpoint_rest_ = kCheckpointRest *
                     std::min<Clock::duration>((Clock::now() - now) * slots_, options_.checkpoint_interval);
  return Status::Ok();
}

void StoredState::AddTo(SlotStatus* status) const {
  status->flushed_sequence = progress_.flushed_sequence;
  status->checkpoint_sequence = progress_.checkpoint_sequence;
  status->restores = progress_.restores;
  status->state_writes = progress_.writes;
  status->checkpoints = progress_.checkpoints;
  status->state_written_at = progress_.written_at;
  status->checkpoint_at = progress_.checkpoint_at;
}

}  // namespace cobblestone::stream::embedded
