#include "common/stream/kafka/task/reexecution.h"

#include <algorithm>
#include <string>

namespace cobblestone::stream::kafka {

Status CheckRules(std::uint32_t version, const TaskOptions& options) {
  if (version <= options.rules_version) return Status::Ok();
  return Status::Fatal("needs rules version " + std::to_string(version) + ", but this program has " +
                       std::to_string(options.rules_version) +
                       "; run the version of the program that committed for this slot");
}

Status Reexecution::Start() {
  if (reading_) return Status::Ok();
  if (Status s = context_.reader.Start(context_.Journal(), state_.meta().journal_next); !s.ok()) return s;
  reading_ = true;
  return Status::Ok();
}

void Reexecution::Stop() {
  if (reading_) context_.reader.Stop(context_.Journal());
  reading_ = false;
  Reset();
}

void Reexecution::Reset() {
  messages_.clear();
  entry_.reset();
  in_message_ = false;
}

Status Reexecution::Peek(bool* any) {
  const Status s = context_.reader.Poll(context_.Journal(), 1, &messages_);
  *any = !messages_.empty();
  return s;
}

Status Reexecution::Step(const Until& until, std::optional<Executed>* executed) {
  executed->reset();
  if (Status s = NextEntry(until); !s.ok()) return s;
  if (!entry_) return Status::Ok();
  bool finished = false;
  if (Status s = ExecuteChunks(&finished); !s.ok()) return s;
  if (!finished) return Status::Ok();
  return EndEntry(&executed->emplace());
}

Status Reexecution::NextEntry(const Until& until) {
  if (entry_ || state_.meta().sequence >= until.sequence) return Status::Ok();
  std::optional<std::string_view> bytes;
  if (Status s = NextBytes(until, &bytes); !s.ok() || !bytes) return s;
  auto entry = DecodeJournalEntry(*bytes);
  if (!entry.ok()) return Status::Fatal("the journal: " + entry.status().message());
  if (Status s = CheckEntry(*entry); !s.ok()) return s;
  entry_ = std::move(*entry);
  chunk_ = 0;
  chunk_records_ = 0;
  return Status::Ok();
}

Status Reexecution::NextBytes(const Until& until, std::optional<std::string_view>* bytes) {
  std::string_view next;
  while (!in_message_ || !entries_.Next(&next)) {
    if (in_message_) {
      if (entries_.malformed()) return Status::Fatal("a message of the journal is corrupted");
      in_message_ = false;
      messages_.pop_front();
    }
    if (messages_.empty())
      if (Status s = context_.reader.Poll(context_.Journal(), kFetch, &messages_); !s.ok()) return s;
    if (messages_.empty() || messages_.front().offset() >= until.journal_next) return Status::Ok();
    entries_ = RecordCursor(messages_.front().value());
    in_message_ = true;
  }
  *bytes = next;
  return Status::Ok();
}

Status Reexecution::CheckEntry(const JournalEntry& entry) {
  const std::uint64_t expected = state_.meta().sequence + 1;
  if (entry.sequence != expected)
    return Status::Fatal("the journal has commit " + std::to_string(entry.sequence) + " where " +
                         std::to_string(expected) + " is expected: records of the journal are missing");
  if (Status s = CheckRules(entry.rules_version, context_.options); !s.ok()) {
    needs_rules_ = entry.rules_version;
    return s;
  }
  return trace_.CheckExecutable(entry);
}

Status Reexecution::ExecuteChunks(bool* finished) {
  for (; chunk_ < entry_->chunks.size(); ++chunk_) {
    bool chunk_finished = false;
    if (Status s = ExecuteChunk(entry_->chunks[chunk_], &chunk_finished); !s.ok()) return s;
    if (!chunk_finished) return Status::Ok();
    chunk_records_ = 0;
  }
  *finished = true;
  return Status::Ok();
}

Status Reexecution::ExecuteChunk(const JournalChunk& chunk, bool* finished) {
  const Slot& slot = state_.slot();
  if (chunk.input >= inputs_.count())
    return Status::Fatal("the journal has an input that is unknown to this program");
  for (;;) {
    const Message* head = nullptr;
    if (Status s = inputs_.Head(chunk.input, &head); !s.ok()) return s;
    if (head == nullptr) {
      if (chunk_records_ == chunk.count && slot.next(chunk.input) == chunk.end) break;
      return Status::Ok();
    }
    if (head->offset() >= chunk.end) break;
    if (head->offset() < chunk.first)
      return Status::Fatal("the journal, commit " + std::to_string(entry_->sequence) +
                           ", does not follow the previous commit");
    const std::uint64_t before = slot.records();
    const bool skip =
        std::find(entry_->skipped.begin(), entry_->skipped.end(),
                  JournalSkip{.input = chunk.input, .offset = head->offset()}) != entry_->skipped.end();
    if (Status s = feeder_.Feed(chunk.input, *head, StageFeeder::Role::kReexecution, skip); !s.ok()) return s;
    chunk_records_ += slot.records() - before;
  }
  if (chunk_records_ != chunk.count)
    return Status::Fatal("commit " + std::to_string(entry_->sequence) + " consumed " +
                         std::to_string(chunk.count) + " records of " +
                         context_.options.topics[slot.inputs()[chunk.input].where.topic].name +
                         " from offset " + std::to_string(chunk.first) + " to " + std::to_string(chunk.end) +
                         ", but the log now has " + std::to_string(chunk_records_) +
                         ": records of the log were lost or changed");
  *finished = true;
  return Status::Ok();
}

Status Reexecution::EndEntry(Executed* executed) {
  Slot& slot = state_.slot();
  trace_.Executing(entry_->sequence);
  auto commit = slot.Finish();
  trace_.Executing(0);
  if (!commit.ok()) return commit.status();
  const bool older = entry_->rules_version < slot.meta().rules_version;
  if (older) slot.TakeFingerprint(entry_->hash);
  diverged_ = !older && commit->journal.hash != entry_->hash;
  if (diverged_) {
    const std::string& build = context_.options.build;
    return Status::Fatal(
        "diverged: re-executing commit " + std::to_string(entry_->sequence) +
        " gave a fingerprint that differs from the journal. Nothing was changed. Possible "
        "causes: this build" +
        (entry_->build == build ? "" : " (" + build + ", not " + entry_->build + ")") +
        " computes differently from the build that wrote the commit (run that build); memory "
        "or disk is damaged (try another machine); a stage is not deterministic (report a bug)");
  }
  trace_.Executed(entry_->sequence);
  ++executed_;
  if (observer_) observer_(*commit);
  *executed = {.debt = commit->debt,
               .debt_bytes = commit->debt_bytes,
               .checkpoint_sequence = entry_->checkpoint_sequence,
               .checkpoint_end = entry_->checkpoint_end};
  entry_.reset();
  RecordCursor rest = entries_;
  std::string_view more;
  if (!rest.Next(&more)) {
    slot.JournalWritten(messages_.front().offset() + 1);
    in_message_ = false;
    messages_.pop_front();
  }
  return Status::Ok();
}

}  // namespace cobblestone::stream::kafka
