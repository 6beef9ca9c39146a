#include "common/stream/kafka/task/checkpoint_reading.h"

namespace cobblestone::stream::kafka {

Status CheckpointReading::Start(std::uint64_t offset) {
  if (Status s = context_.reader.Start(context_.Checkpoint(), offset); !s.ok()) return s;
  reading_ = true;
  return Status::Ok();
}

void CheckpointReading::Stop() {
  if (reading_) context_.reader.Stop(context_.Checkpoint());
  reading_ = false;
  rows_.clear();
}

Status CheckpointReading::Peek(bool* any) {
  const Status s = context_.reader.Poll(context_.Checkpoint(), 1, &rows_);
  *any = !rows_.empty();
  return s;
}

// ---- Restore ------------------------------------------------------------------------------------------------

Status CheckpointReading::BeginRestore(store::Store& store, std::uint64_t sequence, std::uint64_t end) {
  restore_.emplace(store);
  sequence_ = sequence;
  end_ = end;
  confirming_ = false;
  rows_applied_ = 0;
  return Start(kBeginning);
}

Status CheckpointReading::Restore(Progress* progress) {
  *progress = Progress::kNone;
  if (confirming_) return Confirm(progress);
  if (Status s = context_.reader.Poll(context_.Checkpoint(), kFetch, &rows_); !s.ok()) return s;
  bool complete = false;
  while (!rows_.empty() && !complete) {
    const Message& row = rows_.front();
    if (row.offset() < end_) {
      if (Status s = restore_->Add(row.offset(), row.key(), row.value(), row.tombstone()); !s.ok()) return s;
      *progress = Progress::kRead;
    }
    complete = row.offset() + 1 >= end_;
    rows_.pop_front();
  }
  rows_applied_ = restore_->rows();
  const auto end = context_.reader.AtEnd(context_.Checkpoint());
  if (!complete && !(rows_.empty() && end && *end >= end_)) return Status::Ok();
  *progress = Progress::kRead;
  Stop();
  confirming_ = true;
  return RestoredWhole() ? Start(*restore_->begin()) : Status::Ok();
}

// Whether the first and the last row of the checkpoint were read. If the last row is missing, a newer
// checkpoint is complete, and its last row has replaced it; the rows that were read then belong to an older
// checkpoint or to none.
bool CheckpointReading::RestoredWhole() const {
  return restore_->meta().sequence == sequence_ && restore_->begin();
}

Status CheckpointReading::Confirm(Progress* progress) {
  if (!RestoredWhole()) {
    *progress = Progress::kLost;
    return Status::Ok();
  }
  bool any = false;
  if (Status s = Peek(&any); !s.ok() || !any) return s;
  *progress = rows_.front().offset() == *restore_->begin() ? Progress::kComplete : Progress::kLost;
  return Status::Ok();
}

Status CheckpointReading::FinishRestore(std::uint64_t* sequence) {
  const Status s = restore_->Finish();
  *sequence = restore_->meta().sequence;
  restore_.reset();
  return s;
}

// ---- Following ----------------------------------------------------------------------------------------------

Status CheckpointReading::BeginFollowing(store::Store& store, std::uint64_t offset) {
  tail_.emplace(store);
  followed_at_ = {};
  return Start(offset);
}

Status CheckpointReading::Follow(Time now, bool* read, bool* applied) {
  *read = *applied = false;
  if (followed_at_ != Time{} && now - followed_at_ > context_.options.tombstones_live / 2)
    return Status::NotFound("the state has not followed for so long that deletions may be missing");
  followed_at_ = now;
  Status s = context_.reader.Poll(context_.Checkpoint(), kFetch, &rows_);
  for (; s.ok() && !rows_.empty(); rows_.pop_front()) {
    const Message& row = rows_.front();
    bool one = false;
    s = tail_->Add(row.key(), row.value(), row.tombstone(), &one);
    *applied = *applied || one;
    *read = true;
  }
  rows_applied_ = tail_->rows();
  return s;
}

}  // namespace cobblestone::stream::kafka
