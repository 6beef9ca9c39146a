// Re-executes the journal of a slot: each entry names the records of one commit. Outputs are suppressed, and the
// fingerprint of the commit is compared with that of the entry.
//
// A message of the journal may hold several entries, and a state may only be as of the last entry of a message, because
// the position names messages.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/stream/kafka/task/death_trace.h"
#include "common/stream/kafka/task/local_state.h"
#include "common/stream/kafka/task/stage_feeder.h"
#include "common/stream/kafka/task/task_inputs.h"
#include "common/stream/kafka/task/task_options.h"
#include "common/stream/runtime/journal.h"

namespace cobblestone::stream::kafka {

class Reexecution {
 public:
  // The place to stop at.
  struct Until {
    std::uint64_t sequence = ~0ull;      // of the last entry to execute
    std::uint64_t journal_next = ~0ull;  // messages from this offset on are not executed
  };
  // A commit that was re-executed.
  struct Executed {
    std::uint64_t debt = 0;  // SlotCommit
    std::uint64_t debt_bytes = 0;
    std::uint64_t checkpoint_sequence = 0;  // JournalEntry
    std::uint64_t checkpoint_end = 0;
  };

  Reexecution(const TaskContext& context, LocalState& state, TaskInputs& inputs, StageFeeder& feeder,
              DeathTrace& trace)
      : context_(context), state_(state), inputs_(inputs), feeder_(feeder), trace_(trace) {}

  // Reads the journal from the slot's last commit; does nothing while reading.
  Status Start();
  // Drops the messages that were read.
  void Stop();
  // The slot was opened again: an entry that was not finished is dropped.
  void Reset();
  [[nodiscard]] bool reading() const { return reading_; }
  // Fetches a message if one has arrived. *any: messages wait.
  Status Peek(bool* any);

  // Executes up to one entry. *executed: none if records of it or entries are missing, or `until` is reached.
  // kFatal: records of the log were lost or changed, the re-execution diverged, or an operator must choose another
  // program (needs_rules(), DeathTrace::CheckExecutable). kCorrupted: a partition was trimmed or truncated.
  Status Step(const Until& until, std::optional<Executed>* executed);

  // An entry was begun and not finished.
  [[nodiscard]] bool within_entry() const { return entry_.has_value(); }
  // More entries of the current message may follow.
  [[nodiscard]] bool within_message() const { return in_message_; }

  [[nodiscard]] std::uint64_t executed() const { return executed_; }  // commits
  [[nodiscard]] bool diverged() const { return diverged_; }
  // The journal has an entry of this newer rules version; 0: none.
  [[nodiscard]] std::uint32_t needs_rules() const { return needs_rules_; }
  // Called with each re-executed commit; its outputs are discarded otherwise.
  void OnExecuted(std::function<void(const SlotCommit&)> observer) { observer_ = std::move(observer); }

 private:
  Status NextEntry(const Until& until);
  Status NextBytes(const Until& until, std::optional<std::string_view>* bytes);
  Status CheckEntry(const JournalEntry& entry);
  // *finished: all records of the entry were consumed.
  Status ExecuteChunks(bool* finished);
  // *finished: all records of the chunk were consumed.
  Status ExecuteChunk(const JournalChunk& chunk, bool* finished);
  Status EndEntry(Executed* executed);

  const TaskContext& context_;
  LocalState& state_;
  TaskInputs& inputs_;
  StageFeeder& feeder_;
  DeathTrace& trace_;

  bool reading_ = false;
  std::deque<Message> messages_;
  RecordCursor entries_;  // of the first message
  bool in_message_ = false;
  std::optional<JournalEntry> entry_;
  std::size_t chunk_ = 0;  // of entry_
  std::uint64_t chunk_records_ = 0;

  std::uint64_t executed_ = 0;
  bool diverged_ = false;
  std::uint32_t needs_rules_ = 0;
  std::function<void(const SlotCommit&)> observer_;
};

// kFatal: this program does not have these rules.
Status CheckRules(std::uint32_t version, const TaskOptions& options);

}  // namespace cobblestone::stream::kafka
