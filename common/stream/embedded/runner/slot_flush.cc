#include "common/stream/embedded/runner/slot_flush.h"

namespace cobblestone::stream::embedded {

SlotFlush::SlotFlush(const RunnerOptions& options, std::uint32_t slots, Slot& slot, StoredState& stored,
                     StateWriter& writer, const StateDebt& debt, Clock::time_point last)
    : options_(options),
      object_bytes_(options.ObjectBytesOf(slot.id(), slots)),
      slot_(slot),
      stored_(stored),
      writer_(writer),
      debt_(debt),
      last_(last) {}

bool SlotFlush::Step(std::size_t objects, std::uint64_t ticket) {
  bool completed = false;
  if (submitted_) {
    if (!CompleteApplied()) return false;
    completed = true;
    slot_.Evict(object_bytes_);
  }
  if (!slot_.gathering()) {
    if (debt_.empty()) return completed;
    const auto now = Clock::now();
    if (!Due(now)) return completed;
    writer_.CountBegun();
    last_ = now;
    debt_.Clear();
    slot_.BeginStateWrite();
  }
  if (slot_.GatherStateWrite(objects)) Submit(ticket);
  return completed;
}

bool SlotFlush::Due(Clock::time_point now) const {
  if (now - last_ < options_.flush_interval && !debt_.Due(1)) return false;
  return writer_.begun() == 0 || debt_.Due(2);
}

bool SlotFlush::CompleteApplied() {
  if (!stored_.TakeApplied()) return false;
  submitted_ = false;
  writer_.CountEnded();
  slot_.StateWriteApplied();
  return true;
}

void SlotFlush::Submit(std::uint64_t ticket) {
  submitted_ = true;
  writer_.Submit({.state = &stored_, .write = slot_.TakeStateWrite(), .ticket = ticket});
}

// Completes the active write, then makes a write with the changes since.
void SlotFlush::WriteAll(std::uint64_t ticket) {
  for (int pass = 0; pass < 2; ++pass) {
    if (submitted_) {
      if (!writer_.WaitApplied(stored_)) return;
      CompleteApplied();
    }
    if (!slot_.gathering()) {
      if (stored_.flushed_sequence() == slot_.meta().sequence) return;
      writer_.CountBegun();
      slot_.BeginStateWrite();
    }
    while (!slot_.GatherStateWrite(kGatherSlice)) {
    }
    Submit(ticket);
  }
}

}  // namespace cobblestone::stream::embedded
