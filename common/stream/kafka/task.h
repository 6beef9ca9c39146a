// A slot on Kafka: its state on this machine, how the state is restored to a journal position, and how it
// continues.
//
//   Position ─► Fresh ──────────────────────────┐
//            ├► Checkpoint ─┐                   ▼
//            └──────────────┴► Reexecute ─► Running (owner) or Standby (re-executes the owner's commits)
//                           └► Tailing (applies the owner's checkpoints: FollowCheckpoints())
//
// After any failure of a transaction, its slots return to Position: state always follows the journal, and
// this is the only way to restore it. Stopped: the slot needs an operator; problem() has the reason.
//
// Threads: one at a time; `Background` writes the state.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/histogram.h"
#include "common/base/status.h"
#include "common/stream/commit_watch.h"
#include "common/stream/kafka/background.h"
#include "common/stream/kafka/position.h"
#include "common/stream/kafka/state.h"
#include "common/stream/kafka/transport.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::kafka {

// Observes the records that an owner consumes and produces, on topics that are not packed.
class RecordWatch {
 public:
  virtual ~RecordWatch() = default;
  virtual void Taken(std::string_view record) = 0;
  virtual void Made(TopicIndex topic, std::string_view record) = 0;
};

struct TaskOptions {
  std::vector<TopicSpec> topics;  // the manifest
  // By topic: true if a message holds consecutive records (AppendRecord()); false if it is one record.
  std::vector<bool> packed;
  TopicIndex journal = 0;     // one partition per slot
  TopicIndex checkpoint = 0;  // one partition per slot, compacted
  std::function<double(TopicIndex topic, std::string_view record)> peek_time;
  // By topic: lockstep, and external producers append to the topic. Such inputs of a stage are merged
  // strictly by peek_time: a record is consumed only when each of these inputs that the stage is ready for
  // has one. Empty: none.
  std::vector<bool> in_step;
  // Records of one input consumed before another input's turn; keeps journals short.
  std::uint64_t run_records = 500;
  std::uint64_t round_records = 10000;
  std::uint64_t round_bytes = 1u << 20;      // of outputs
  std::uint64_t message_bytes = 256u << 10;  // of a packed message, about
  Millis flush_interval{5000};
  std::uint64_t flush_debt_records = 100000;  // of this slot
  // The same limit in bytes of records, because objects that a record changed cannot be evicted before they
  // are written.
  std::uint64_t flush_debt_bytes = 256u << 20;
  Millis checkpoint_interval{30000};
  std::uint64_t checkpoint_bytes = 512u << 10;  // of the checkpoint, per transaction
  // Approximate limit of clean objects in memory. At open, half as much is used for rows of waiting tables.
  std::uint64_t object_bytes = 256u << 20;
  Millis tombstones_live{86400000};  // on the checkpoint topic, at least
  std::uint32_t rules_version = 1;
  RecordWatch* watch = nullptr;    // null: no observer
  CommitWatch* commits = nullptr;  // null: no observer; shared by all slots of a worker
  std::string owner{};             // transactional.id of the worker
  std::string build{};  // of this program, one word; another build retries records that crashed this one
};

enum class Phase : std::uint8_t {
  kPosition,
  kFresh,
  kCheckpoint,
  kReexecute,
  kRunning,
  kStandby,
  kTailing,
  kStopped
};
std::string_view PhaseName(Phase phase);

struct TaskStatus {
  struct Stage {
    std::uint64_t lag = 0;      // messages waiting on its inputs, as far as known
    std::uint64_t records = 0;  // processed as owner
  };
  std::uint32_t slot = 0;
  Phase phase = Phase::kPosition;
  bool owned = false;
  std::uint64_t sequence = 0;
  std::uint64_t target_sequence = 0;  // of the last commit, as far as known
  Hash128 hash;
  std::uint64_t lag = 0;      // messages waiting on its inputs, as far as known
  std::vector<Stage> stages;  // in stage order; a message that two stages read counts for both
  std::uint64_t flushed_sequence = 0;
  std::uint64_t checkpoint_sequence = 0;
  std::uint64_t restored_rows = 0;
  std::uint64_t reexecuted = 0;  // commits, each with an equal fingerprint
  std::uint64_t records = 0;     // processed as owner
  std::uint64_t produced = 0;    // messages, including journal and checkpoints
  std::string problem{};
  bool diverged = false;       // the problem is a divergence
  std::uint64_t restores = 0;  // from a checkpoint
  std::uint64_t state_writes = 0;
  std::uint64_t cached_bytes = 0;      // approximate memory that counts against object_bytes
  std::vector<WaitingRows> waiting{};  // one element per kind
  double state_written_at = 0;         // UNIX s; 0: not by this process
  double checkpoint_at = 0;            // likewise
  LatencyCounts commit_latency{};      // from the begin of a transaction with this slot to its commit
};

class Task {
 public:
  Task(std::uint32_t slot, const TaskOptions& options, const SlotFactory& factory, StateSpace& space,
       Background& background, Reader& reader, std::function<void(const std::string&)> report);
  ~Task();

  [[nodiscard]] std::uint32_t slot() const { return k_; }
  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] bool owned() const { return owned_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // A failure of this machine (its disk), not of the slot. The process must end.
  [[nodiscard]] const Status& failure() const { return failure_; }
  // The slot is stopped because a program with this newer rules version has committed for it; 0: not the
  // reason.
  [[nodiscard]] std::uint32_t needs_rules() const { return needs_rules_; }
  [[nodiscard]] const Position& position() const { return position_; }
  [[nodiscard]] TaskStatus Look() const;

  // Sets whether the slot runs or stands by.
  void SetOwned(bool owned);
  // Until owned: apply the owner's checkpoints instead of re-executing the owner's commits.
  void FollowCheckpoints();
  // Phase kPosition: sets the committed position; none: nothing was ever committed.
  void SetPosition(const std::optional<Position>& position);
  // Works towards kRunning, or keeps up, until there is no work or `deadline`. True: progress was made.
  bool Advance(Cluster& clock, Time deadline);
  // Does part of the deferred work: state writes, checkpoints.
  void Tend(Time now);

  // Running: messages are waiting, or a stage is unfinished (Slot::unfinished).
  bool has_input();
  // One commit: processes waiting records through all stages, or continues an unfinished stage. The outputs go
  // to the producer, in its open transaction. *records: number consumed. *work: SlotCommit::debt, which counts
  // towards the size of the transaction; 0: nothing was done. An outcome other than ok is the producer's; a slot
  // that fails becomes kStopped.
  Outcome Round(Producer& producer, std::uint64_t* records, std::uint64_t* work);
  // Part of the open transaction, through records or a part of a checkpoint.
  [[nodiscard]] bool touched() const { return touched_; }
  // The slot failed within the open transaction, which must not be committed. Until Rewind().
  [[nodiscard]] bool tainted() const { return tainted_; }
  // Needs a transaction even without records: for a part of a checkpoint.
  [[nodiscard]] bool wants_commit() const;
  // Consumes no record before a commit has named the owner or the record to be tried.
  [[nodiscard]] bool announces() const { return announces_; }
  // Earlier owners died: a transaction holds one round of this slot and nothing else.
  [[nodiscard]] bool careful() const { return care_.level >= Care::kFewAtOnce; }
  // Writes the journal and a part of a checkpoint (before K2).
  Outcome Write(Producer& producer);
  // Adds the offsets to send, after Flush() (between K3 and K4).
  void AddOffsets(const std::string& owner, bool release, bool inputs, std::vector<OffsetToSend>* offsets);
  // The transaction that began at `begun` is committed (between K5 and K6).
  void Committed(Time now, Time begun);
  // The transaction was aborted, or its outcome is unknown: state and inputs return to the committed
  // position.
  void Rewind();
  // Call before SetPosition(): re-executes up to this commit, then stands by.
  void StopAfter(std::uint64_t sequence) { last_ = sequence; }
  // Called with each re-executed commit; its outputs are discarded otherwise.
  void OnExecuted(std::function<void(const SlotCommit&)> executed) { executed_ = std::move(executed); }
  // Standby: writes all unwritten state and waits for the write.
  Status FlushState();
  [[nodiscard]] const SlotMeta& meta() const { return parts_.slot->meta(); }
  // Stops the slot with a reason.
  void Stop(std::string problem);

 private:
  // A partition that one or more inputs read (every stage reads `control`).
  struct Feed {
    TopicPartition where;
    std::deque<Message> messages;
    std::uint64_t popped = 0;  // messages removed from the front
    std::vector<std::size_t> inputs;
  };
  struct Input {
    std::size_t feed = 0;
    std::uint64_t at = 0;  // index of the next message, counted like Feed::popped
  };
  // The result of the current state write; shared with the state thread.
  struct PendingWrite {
    std::unique_ptr<StateWrite> write;
    std::atomic<bool> done{false};
    Status status;
  };

  static constexpr std::size_t kFetch = 1000;  // messages fetched from the reader at a time
  // Objects encoded between two rounds: about a millisecond.
  static constexpr std::size_t kGatherSlice = 1000;
  static constexpr std::uint32_t kTries = 3;  // for a record whose owners die

  [[nodiscard]] std::string Name() const { return "slot " + std::to_string(k_); }

  Status OpenState();
  Status OpenSlot();
  void MakeFeeds();
  void WipeState();
  void StartInputs();
  void StartJournal();
  void StartCheckpoint(std::uint64_t offset);
  void StopReading();
  // Handles a status of the slot, its state or its inputs: the slot becomes kStopped, or its state is
  // discarded and it returns to Position, or the process must end.
  void Fail(const Status& status);
  // kFatal, and needs_rules() is set, if this program does not have these rules.
  Status CheckRules(std::uint32_t version);
  // As Fail(), for reads and writes of the state on this machine: damage does not stop the slot.
  void FailState(const Status& status);

  // task_recovery.cc: restores the slot to the end of the log.
  void Decide();  // phase kPosition, position known
  void Run();     // the owner has reached the end of the log
  bool CheckFresh();
  bool RestoreSome();
  [[nodiscard]] bool RestoredWhole() const;
  bool ConfirmRestore();
  bool EndRestore();
  void Tail();
  bool TailSome(Time now);
  [[nodiscard]] bool tails() const { return !owned_ && follows_checkpoints_; }
  bool ExecuteSome(Cluster& clock, Time deadline);
  Status NextEntry();
  Status ExecuteChunks(bool* finished);
  Status EndEntry();
  void Reached();

  // task_rounds.cc: work as owner.
  [[nodiscard]] bool InStep(std::size_t input) const;
  // Lockstep: the input of a stage with the next record; none: the stage must wait.
  Status NextInStep(std::size_t stage, std::optional<std::size_t>* next);
  Status FirstInStep(std::optional<std::size_t>* next);  // over all stages
  Status ConsumeInStep(std::size_t stage);
  Status ConsumeStage(std::size_t stage);
  Status Consume(std::size_t input, const Message& message, bool skip = false);
  void UnderWay(bool is);
  // Runs the stages in Round(): all waiting records, or the one record being tried.
  Status ConsumeSome();
  Status First(std::size_t* input, const Message** first);
  Status ConsumeOne();
  // The Care to commit together with the consumed records.
  [[nodiscard]] Care CareAfter() const;
  // The input's next message; null: none has arrived.
  Status Head(std::size_t input, const Message** head);
  void Pass(std::size_t input);
  [[nodiscard]] double HeadTime(std::size_t input, const Message& head) const;
  [[nodiscard]] bool Full() const;
  [[nodiscard]] bool held() const;
  Outcome Send(Producer& producer, SlotOutput& output);

  // State writes and checkpoints, between commits.
  void StepState(Time now, std::size_t objects);
  void StepCheckpoint(Time now);

  const std::uint32_t k_;
  const TaskOptions& options_;
  const SlotFactory& factory_;
  StateSpace& space_;
  Background& background_;
  Reader& reader_;
  std::function<void(const std::string&)> report_;

  Phase phase_ = Phase::kPosition;
  bool owned_ = false;
  std::string problem_;
  std::uint32_t needs_rules_ = 0;
  Status failure_;
  Position position_;           // committed, as far as known
  std::uint64_t last_ = ~0ull;  // last commit to execute
  int wiped_ = 0;               // consecutive wipes of the state without an executed commit

  std::shared_ptr<store::Store> store_;  // shared with the state thread while it works on the store
  SlotParts parts_;
  std::deque<Feed> feeds_;
  std::vector<Input> inputs_;
  std::vector<std::vector<std::size_t>> stage_inputs_;
  std::vector<std::size_t> live_;  // reused
  std::function<void(const SlotCommit&)> executed_;
  bool steps_ = false;  // some input is in lockstep
  std::vector<double> head_times_;
  bool reading_inputs_ = false;
  bool reading_journal_ = false;
  bool reading_checkpoint_ = false;

  // Re-execution.
  std::deque<Message> journal_;
  RecordCursor entries_;
  bool in_message_ = false;
  std::optional<JournalEntry> entry_;
  std::size_t chunk_ = 0;
  std::uint64_t chunk_records_ = 0;
  std::deque<Message> checkpoint_rows_;
  std::optional<CheckpointRestore> restore_;
  bool confirming_ = false;            // the checkpoint was read; checking that its first row still exists
  std::uint64_t lost_checkpoint_ = 0;  // sequence of a checkpoint that may have lost rows
  bool follows_checkpoints_ = false;
  std::optional<CheckpointTail> tail_;
  Time tailed_at_{};

  // Owners that died (Care).
  Care care_;
  bool taken_ = false;  // the takeover was handled since the slot became ours
  bool announces_ = false;
  std::uint64_t careful_records_ = 0;  // since Care was raised
  Trace* trace_ = nullptr;             // of this machine; null: none
  bool untraced_ = true;               // without a trace: it is unknown what this process did before

  // The open transaction.
  bool touched_ = false;
  bool consumed_ = false;  // records were consumed
  bool skipped_ = false;   // the consumed record was skipped
  bool tainted_ = false;
  std::string journal_payload_;
  std::uint64_t journal_offset_ = 0;
  std::uint64_t ignored_offset_ = 0;
  std::uint64_t checkpoint_offset_ = 0;
  bool journal_written_ = false;
  bool checkpoint_ends_ = false;  // the checkpoint ends with this transaction
  Position next_position_;

  // State.
  std::shared_ptr<PendingWrite> write_;
  std::uint64_t debt_ = 0;        // records since the last state write began
  std::uint64_t debt_bytes_ = 0;  // their bytes
  Time last_flush_{};
  Time last_checkpoint_{};
  std::uint64_t flushed_sequence_ = 0;
  std::uint64_t runs_from_ = 0;       // the last commit of another owner before this task ran
  bool write_began_running_ = false;  // phase at the begin of the current state write was kRunning
  std::shared_ptr<CheckpointSource> checkpoint_;
  std::shared_ptr<std::atomic<bool>> checkpoint_busy_;  // true while the state thread fills it

  std::uint64_t restored_rows_ = 0;
  std::uint64_t reexecuted_ = 0;
  std::uint64_t records_ = 0;
  std::vector<std::uint64_t> stage_records_;
  std::uint64_t produced_ = 0;
  bool diverged_ = false;
  std::uint64_t restores_ = 0;
  std::uint64_t state_writes_ = 0;
  double state_written_at_ = 0;
  double checkpoint_at_ = 0;
  LatencyHistogram commit_latency_;
};

}  // namespace cobblestone::stream::kafka
