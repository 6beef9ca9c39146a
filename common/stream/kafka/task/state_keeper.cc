#include "common/stream/kafka/task/state_keeper.h"

#include <algorithm>
#include <utility>

#include "common/base/clock.h"
#include "common/base/failpoint.h"

namespace cobblestone::stream::kafka {

void StateKeeper::Reset() {
  flushed_sequence_ = state_.meta().sequence;
  write_.reset();
  debt_ = debt_bytes_ = 0;
}

Status StateKeeper::Advance(const Step& step) {
  Slot& slot = state_.slot();
  if (write_ != nullptr) {
    if (!write_->done) return Status::Ok();
    if (Status s = Complete(); !s.ok()) return s;
  }
  if (!slot.gathering()) {
    if (debt_ == 0 || !step.may_begin || !Due(step.now)) return Status::Ok();
    last_ = step.now;
    debt_ = debt_bytes_ = 0;
    slot.BeginStateWrite();
    began_running_ = step.running;
  }
  if (!slot.GatherStateWrite(step.objects)) return Status::Ok();
  // From here on no checkpoint of another owner falls between two state writes of this task.
  if (began_running_ && step.running) state_.DeleteEveryRow(false);
  Submit(step.checkpoint_sequence);
  return Status::Ok();
}

Status StateKeeper::Complete() {
  const auto written = std::move(write_);
  state_.slot().StateWriteApplied();
  if (!written->status.ok()) return written->status;
  flushed_sequence_ = written->write->meta.sequence;
  ++writes_;
  written_at_ = UnixNow();
  state_.slot().Evict(context_.options.object_bytes);
  return Status::Ok();
}

bool StateKeeper::Due(Time now) const {
  return now - last_ >= context_.options.flush_interval || debt_ >= context_.options.flush_debt_records ||
         debt_bytes_ >= context_.options.flush_debt_bytes;
}

void StateKeeper::Submit(std::uint64_t checkpoint_sequence) {
  write_ = std::make_shared<PendingWrite>();
  write_->write = state_.slot().TakeStateWrite();
  context_.background.Run([write = write_, store = state_.store(), checkpoint_sequence] {
    write->status = WriteState(*write->write, checkpoint_sequence, *store);
    Failpoint("K6s");
    write->done = true;
  });
}

void StateKeeper::MakeDue() { debt_ = std::max<std::uint64_t>(debt_, context_.options.flush_debt_records); }

void StateKeeper::AddTo(TaskStatus* look) const {
  look->flushed_sequence = flushed_sequence_;
  look->state_writes = writes_;
  look->state_written_at = written_at_;
}

}  // namespace cobblestone::stream::kafka
