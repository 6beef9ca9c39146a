#include "common/stream/kafka/task/upkeep.h"

namespace cobblestone::stream::kafka {

void Upkeep::Tend(Time now) {
  if (life_.stopped() || !parts_.state.has_slot() || parts_.checkpoint_reading.restoring()) return;
  StepState(now);
  if (life_.running() && !parts_.transaction.touched()) StepCheckpoint(now);
}

// A state write begins only outside of a transaction and after the last entry of a journal message, or at the
// last entry to be executed.
void Upkeep::StepState(Time now, std::size_t objects) {
  const Reexecution& reexecution = parts_.reexecution;
  const bool message_ends = !reexecution.within_message() || parts_.state.meta().sequence == last_;
  const Status s = parts_.keeper.Advance(
      {.now = now,
       .objects = objects,
       .may_begin = !parts_.transaction.touched() && !reexecution.within_entry() && message_ends,
       .running = life_.running(),
       .checkpoint_sequence = life_.position().checkpoint_sequence});
  if (!s.ok()) life_.FailState(s);
}

void Upkeep::StepCheckpoint(Time now) {
  const Status s =
      parts_.checkpoint_writer.Advance(now, {.store = parts_.state.store().get(),
                                             .sequence = parts_.keeper.flushed_sequence(),
                                             .writing = parts_.keeper.writing(),
                                             .checkpoint_sequence = life_.position().checkpoint_sequence});
  if (!s.ok()) life_.FailState(s);
}

Status Upkeep::FlushState() {
  StateKeeper& keeper = parts_.keeper;
  for (int pass = 0; pass < 2; ++pass) {
    // First the active state write, then a write with the changes since.
    if (!keeper.writing() && !parts_.state.slot().gathering()) {
      if (keeper.flushed_sequence() == parts_.state.meta().sequence) break;
      keeper.MakeDue();
    }
    while (!keeper.writing() && life_.failure().ok() && !life_.stopped()) StepState(Time{});
    context_.background.Drain();
    StepState(Time{}, 0);
  }
  if (life_.stopped()) return Status::Corrupted(life_.problem());
  return life_.failure();
}

}  // namespace cobblestone::stream::kafka
