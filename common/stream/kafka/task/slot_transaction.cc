#include "common/stream/kafka/task/slot_transaction.h"

#include <cstddef>
#include <string_view>
#include <utility>

namespace cobblestone::stream::kafka {

Outcome SlotTransaction::Send(Producer& producer, SlotCommit* commit) {
  AppendRecord(journal_payload_, EncodeJournalEntry(commit->journal));
  for (SlotOutput& output : commit->outputs)
    if (Outcome o = SendOutput(producer, output); !o.ok()) return o;
  return {};
}

Outcome SlotTransaction::Produce(Producer& producer, TopicPartition where, std::string value) {
  CountProduced();
  return producer.Produce(where, {}, std::move(value), &ignored_offset_);
}

// A packed output becomes messages of about message_bytes, which also end at cuts; others one message per record.
Outcome SlotTransaction::SendOutput(Producer& producer, SlotOutput& output) {
  const TaskOptions& options = context_.options;
  if (options.commits != nullptr) options.commits->Wrote(output.where, output.payload);
  const bool packed = options.packed[output.where.topic];
  if (packed && output.payload.size() <= options.message_bytes && output.cuts.empty())
    return Produce(producer, output.where, std::move(output.payload));
  RecordCursor cursor(output.payload);
  std::string_view record;
  std::string message;
  std::size_t cut = 0;  // the next one
  while (cursor.Next(&record)) {
    if (!packed) {
      if (options.watch != nullptr) options.watch->Made(output.where.topic, record);
      if (Outcome o = Produce(producer, output.where, std::string(record)); !o.ok()) return o;
      continue;
    }
    const auto begin = static_cast<std::size_t>(record.data() - output.payload.data());
    const bool cuts = cut < output.cuts.size() && output.cuts[cut] <= begin;
    while (cut < output.cuts.size() && output.cuts[cut] <= begin) ++cut;
    if (!message.empty() && (cuts || message.size() + record.size() > options.message_bytes)) {
      if (Outcome o = Produce(producer, output.where, std::move(message)); !o.ok()) return o;
      message.clear();
    }
    AppendRecord(message, record);
  }
  return message.empty() ? Outcome{} : Produce(producer, output.where, std::move(message));
}

Outcome SlotTransaction::WriteJournal(Producer& producer) {
  journal_written_ = !journal_payload_.empty();
  if (!journal_written_) return {};
  CountProduced();
  return producer.Produce(context_.Journal(), {}, std::move(journal_payload_), &journal_offset_);
}

void SlotTransaction::AddTo(Position* position) const {
  if (journal_written_) position->journal_next = journal_offset_ + 1;
}

void SlotTransaction::Drop() {
  journal_payload_.clear();
  journal_written_ = false;
  touched_ = false;
  consumed_ = false;
}

}  // namespace cobblestone::stream::kafka
