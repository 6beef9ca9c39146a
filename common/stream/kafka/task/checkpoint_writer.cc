#include "common/stream/kafka/task/checkpoint_writer.h"

#include <utility>

#include "common/base/clock.h"

namespace cobblestone::stream::kafka {

Status CheckpointWriter::Advance(Time now, const Stored& stored) {
  if (source_ != nullptr) {
    if (Status s = source_->failure(); !s.ok()) {
      source_.reset();
      return s;
    }
    ReadMore();
    return Status::Ok();
  }
  if (!Due(now, stored)) return Status::Ok();
  last_ = now;
  auto copy = context_.space.OpenCopy(context_.slot, *stored.store);
  if (!copy.ok()) return copy.status();
  source_ = std::make_shared<CheckpointSource>(std::move(*copy), stored.checkpoint_sequence);
  busy_ = std::make_shared<std::atomic<bool>>(false);
  return Status::Ok();
}

void CheckpointWriter::ReadMore() {
  if (!source_->wants_more() || *busy_) return;
  *busy_ = true;
  context_.background.Run([source = source_, busy = busy_] {
    source->Fill();
    *busy = false;
  });
}

bool CheckpointWriter::Due(Time now, const Stored& stored) {
  if (last_ == Time{}) last_ = now;
  if (stored.writing || now - last_ < context_.options.checkpoint_interval) return false;
  // A previous owner may have left rows of an unfinished checkpoint that is newer than the written state. The
  // new checkpoint must replace these rows, so the written state must include every commit up to runs_from_.
  if (stored.sequence <= stored.checkpoint_sequence || stored.sequence < runs_from_) return false;
  return stored.store != nullptr;  // else there is nothing to copy
}

Outcome CheckpointWriter::Write(Producer& producer, SlotTransaction& transaction) {
  ends_ = false;
  if (source_ == nullptr) return {};
  std::uint64_t bytes = 0;
  while (bytes < context_.options.checkpoint_bytes) {
    const auto slice = source_->Take();
    if (slice == nullptr) break;
    transaction.Touch();
    for (CheckpointRow& row : *slice) {
      bytes += row.key.size() + row.value.size();
      transaction.CountProduced();
      Outcome o = row.deleted ? producer.ProduceTombstone(context_.Checkpoint(), row.key, &ignored_offset_)
                              : producer.Produce(context_.Checkpoint(), row.key, std::move(row.value),
                                                 &ignored_offset_);
      if (!o.ok()) return o;
    }
  }
  if (!source_->finished() || !source_->failure().ok()) return {};
  transaction.Touch();
  ends_ = true;
  return producer.Produce(context_.Checkpoint(), kCheckpointMetaKey, EncodeSlotMeta(source_->meta()),
                          &end_offset_);
}

void CheckpointWriter::AddTo(Position* position) const {
  if (!ends_) return;
  position->checkpoint_sequence = source_->meta().sequence;
  position->checkpoint_end = end_offset_ + 1;
}

void CheckpointWriter::Committed() {
  if (!std::exchange(ends_, false)) return;
  source_.reset();
  context_.space.RemoveCopy(context_.slot);
  checkpoint_at_ = UnixNow();
}

}  // namespace cobblestone::stream::kafka
