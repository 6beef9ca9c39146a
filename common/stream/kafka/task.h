// A slot on Kafka: its state on this machine, and how it comes to be as of a place in its journal and goes on from there.
//
//   Position ─► Fresh ──────────────────────────┐
//            ├► Checkpoint ─┐                   ▼
//            └──────────────┴► Reexecute ─► Running (owner) or Standby (executes what the owner has committed)
//                           └► Tailing (takes over the owner's checkpoints: FollowCheckpoints())
//
// Whatever goes wrong with a transaction, a slot that was part of it comes back through Position: its state follows the
// journal, and there is one way to get there. Stopped: no way leads on without an operator, and problem() says why.
//
// Threads: one at a time; state is written by `Background`.
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

// Sees what an owner takes from others and makes for others: records of topics that are not packed.
class RecordWatch {
 public:
  virtual ~RecordWatch() = default;
  virtual void Taken(std::string_view record) = 0;
  virtual void Made(TopicIndex topic, std::string_view record) = 0;
};

struct TaskOptions {
  std::vector<TopicSpec> topics;  // the manifest
  // By topic: a message holds records one after the other (AppendRecord()); else it is one record.
  std::vector<bool> packed;
  TopicIndex journal = 0;     // one partition per slot
  TopicIndex checkpoint = 0;  // one partition per slot, compacted
  std::function<double(TopicIndex topic, std::string_view record)> peek_time;
  // By topic: lockstep, and others append to it. Such inputs of a stage are merged strictly, by what peek_time says: no record
  // is taken before each of them that the stage is ready for shows one. Empty: none is.
  std::vector<bool> in_step;
  // Of one input before another has its turn; keeps journals short.
  std::uint64_t run_records = 500;
  std::uint64_t round_records = 10000;
  std::uint64_t round_bytes = 1u << 20;      // of outputs
  std::uint64_t message_bytes = 256u << 10;  // of a packed message, about
  Millis flush_interval{5000};
  std::uint64_t flush_debt_records = 100000;  // of this slot
  // Bytes of records: likewise, since what a record leaves in memory cannot be evicted before it is written.
  std::uint64_t flush_debt_bytes = 256u << 20;
  Millis checkpoint_interval{30000};
  std::uint64_t checkpoint_bytes = 512u << 10;  // of it in one transaction
  // Of clean objects kept in memory, about. Of rows that wait half as much is read when the slot is opened.
  std::uint64_t object_bytes = 256u << 20;
  Millis tombstones_live{86400000};  // on the checkpoint's topic, at least
  std::uint32_t rules_version = 1;
  RecordWatch* watch = nullptr;    // null: nobody looks
  CommitWatch* commits = nullptr;  // likewise; of all slots of a worker
  std::string owner{};             // transactional.id of the worker
  std::string build{};             // of this program, a word; another one tries anew what crashed this one
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
    std::uint64_t lag = 0;      // messages that wait on its inputs, as far as is known
    std::uint64_t records = 0;  // processed as owner
  };
  std::uint32_t slot = 0;
  Phase phase = Phase::kPosition;
  bool owned = false;
  std::uint64_t sequence = 0;
  std::uint64_t target_sequence = 0;  // of the last commit there is, as far as is known
  Hash128 hash;
  std::uint64_t lag = 0;      // messages that wait on its inputs, as far as is known
  std::vector<Stage> stages;  // in their order; a message that two of them read waits for each
  std::uint64_t flushed_sequence = 0;
  std::uint64_t checkpoint_sequence = 0;
  std::uint64_t restored_rows = 0;
  std::uint64_t reexecuted = 0;  // commits, each with an equal fingerprint
  std::uint64_t records = 0;     // processed as owner
  std::uint64_t produced = 0;    // messages, journal and checkpoints included
  std::string problem{};
  bool diverged = false;       // that is the problem
  std::uint64_t restores = 0;  // from a checkpoint
  std::uint64_t state_writes = 0;
  std::uint64_t cached_bytes = 0;      // of memory, about: of what counts against object_bytes
  std::vector<WaitingRows> waiting{};  // one for each kind
  double state_written_at = 0;         // UNIX s; 0: not by this process
  double checkpoint_at = 0;            // likewise
  LatencyCounts
      commit_latency{};  // from the begin of a transaction that it is part of until that is committed
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
  // Not this slot's, but this machine's: its disk. The process must end.
  [[nodiscard]] const Status& failure() const { return failure_; }
  // Stopped, because a program with rules of this version, newer than ours, has committed for it; 0: not for that.
  [[nodiscard]] std::uint32_t needs_rules() const { return needs_rules_; }
  [[nodiscard]] const Position& position() const { return position_; }
  [[nodiscard]] TaskStatus Look() const;

  // Whether it is to run, or to stand by.
  void SetOwned(bool owned);
  // Not owned: takes over the owner's checkpoints, and does not execute what he commits, until it is owned.
  void FollowCheckpoints();
  // Phase kPosition: what is committed; none: nothing ever was.
  void SetPosition(const std::optional<Position>& position);
  // What it takes to get to kRunning, or to keep up, until nothing is at hand or `deadline`. True: something was done.
  bool Advance(Cluster& clock, Time deadline);
  // Some of what need not be done at once: state writes, checkpoints.
  void Tend(Time now);

  // Running: something waits.
  bool has_input();
  // Takes what waits through all stages. What came of it goes to the producer, and belongs to its open
  // transaction. *records: consumed. An outcome that is not ok is the producer's; a slot that fails is kStopped.
  Outcome Round(Producer& producer, std::uint64_t* records);
  // Part of the open transaction, by records or by a part of a checkpoint.
  [[nodiscard]] bool touched() const { return touched_; }
  // It has failed in the middle of the open transaction, which must not be committed. Until Rewind().
  [[nodiscard]] bool tainted() const { return tainted_; }
  // Has something to say in a transaction though no record has come: a part of a checkpoint.
  [[nodiscard]] bool wants_commit() const;
  // Takes no record before a commit has said who owns it, or which record it tries.
  [[nodiscard]] bool announces() const { return announces_; }
  // Its owners before died: one round of it, and nothing else, in a transaction.
  [[nodiscard]] bool careful() const { return care_.level >= Care::kFewAtOnce; }
  // K2: journal, and a part of a checkpoint.
  Outcome Write(Producer& producer);
  // K4: after Flush().
  void AddOffsets(const std::string& owner, bool release, bool inputs, std::vector<OffsetToSend>* offsets);
  // K6; the transaction was begun then.
  void Committed(Time now, Time begun);
  // The transaction has come to nothing, or nobody knows: state and inputs go back to what is committed.
  void Rewind();
  // Before SetPosition(): executes no further than this commit, and stands by there.
  void StopAfter(std::uint64_t sequence) { last_ = sequence; }
  // Is told of each commit that is executed again; what it emitted goes nowhere else.
  void OnExecuted(std::function<void(const SlotCommit&)> executed) { executed_ = std::move(executed); }
  // Standby: writes all state that is not written yet, and waits for it.
  Status FlushState();
  [[nodiscard]] const SlotMeta& meta() const { return parts_.slot->meta(); }
  // Stops with a reason.
  void Stop(std::string problem);

 private:
  // A partition that is read, for one input or several of them (every stage reads `control`).
  struct Feed {
    TopicPartition where;
    std::deque<Message> messages;
    std::uint64_t popped = 0;  // messages that were before the first one here
    std::vector<std::size_t> inputs;
  };
  struct Input {
    std::size_t feed = 0;
    std::uint64_t at = 0;  // its next message, counted as Feed::popped is
  };
  // What a state write under way has come to; shared with the state thread.
  struct PendingWrite {
    std::unique_ptr<StateWrite> write;
    std::atomic<bool> done{false};
    Status status;
  };

  static constexpr std::size_t kFetch = 1000;  // messages taken from the reader at a time
  static constexpr std::size_t kGatherSlice =
      1000;                                   // objects encoded between two rounds: about a millisecond
  static constexpr std::uint32_t kTries = 3;  // of a record whose owners die

  [[nodiscard]] std::string Name() const { return "slot " + std::to_string(k_); }

  Status OpenState();
  Status OpenSlot();
  void MakeFeeds();
  void WipeState();
  void StartInputs();
  void StartJournal();
  void StartCheckpoint(std::uint64_t offset);
  void StopReading();
  // What a status of the slot, its state or its inputs means for this slot: kStopped, or its state is put away and it
  // comes back through Position, or the process must end.
  void Fail(const Status& status);
  // kFatal, and needs_rules(), where this program has not got them.
  Status CheckRules(std::uint32_t version);
  // As Fail(), of what was read of the state on this machine or written to it: damage is not the slot's end.
  void FailState(const Status& status);

  // task_recovery.cc: to where the log stands.
  void Decide();  // phase kPosition, position known
  void Run();     // the owner has come to where the log stands
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

  // task_rounds.cc: as owner.
  [[nodiscard]] bool InStep(std::size_t input) const;
  // Lockstep: the input of a stage whose record is next; none: it waits.
  Status NextInStep(std::size_t stage, std::optional<std::size_t>* next);
  Status FirstInStep(std::optional<std::size_t>* next);  // of any stage
  Status ConsumeInStep(std::size_t stage);
  Status ConsumeStage(std::size_t stage);
  Status Consume(std::size_t input, const Message& message, bool skip = false);
  void UnderWay(bool is);
  // The stages' turn in Round(): all that waits, or the one record that is tried.
  Status ConsumeSome();
  Status First(std::size_t* input, const Message** first);
  Status ConsumeOne();
  // What becomes of it with the commit of what was consumed.
  [[nodiscard]] Care CareAfter() const;
  // Its next message; null: there is none yet.
  Status Head(std::size_t input, const Message** head);
  void Pass(std::size_t input);
  [[nodiscard]] double HeadTime(std::size_t input, const Message& head) const;
  [[nodiscard]] bool Full() const;
  [[nodiscard]] bool held() const;
  Outcome Send(Producer& producer, SlotOutput& output);

  // State writes and checkpoints; between commits.
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
  Position position_;           // committed, as far as is known
  std::uint64_t last_ = ~0ull;  // commit to be executed
  int wiped_ = 0;               // in vain, since something was executed

  std::shared_ptr<store::Store> store_;  // the state thread's too, while it works on it
  SlotParts parts_;
  std::deque<Feed> feeds_;
  std::vector<Input> inputs_;
  std::vector<std::vector<std::size_t>> stage_inputs_;
  std::vector<std::size_t> live_;  // reused
  std::function<void(const SlotCommit&)> executed_;
  bool steps_ = false;  // some input is in step
  std::vector<double> head_times_;
  bool reading_inputs_ = false;
  bool reading_journal_ = false;
  bool reading_checkpoint_ = false;

  // Executing again.
  std::deque<Message> journal_;
  RecordCursor entries_;
  bool in_message_ = false;
  std::optional<JournalEntry> entry_;
  std::size_t chunk_ = 0;
  std::uint64_t chunk_records_ = 0;
  std::deque<Message> checkpoint_rows_;
  std::optional<CheckpointRestore> restore_;
  bool confirming_ = false;            // all of it was read; is its first row there still?
  std::uint64_t lost_checkpoint_ = 0;  // sequence of one of which rows may be gone
  bool follows_checkpoints_ = false;
  std::optional<CheckpointTail> tail_;
  Time tailed_at_{};

  // Owners that died.
  Care care_;
  bool taken_ = false;  // since it became ours
  bool announces_ = false;
  std::uint64_t careful_records_ = 0;  // since it is careful
  Trace* trace_ = nullptr;             // of this machine; null: there is none
  bool untraced_ = true;               // without it: what this process was at before is not known

  // The open transaction.
  bool touched_ = false;
  bool consumed_ = false;  // records
  bool skipped_ = false;   // the one that was consumed
  bool tainted_ = false;
  std::string journal_payload_;
  std::uint64_t journal_offset_ = 0;
  std::uint64_t ignored_offset_ = 0;
  std::uint64_t checkpoint_offset_ = 0;
  bool journal_written_ = false;
  bool checkpoint_ends_ = false;  // with this transaction
  Position next_position_;

  // State.
  std::shared_ptr<PendingWrite> write_;
  std::uint64_t debt_ = 0;        // records since the state write that was begun last
  std::uint64_t debt_bytes_ = 0;  // of them
  Time last_flush_{};
  Time last_checkpoint_{};
  std::uint64_t flushed_sequence_ = 0;
  std::uint64_t runs_from_ = 0;       // the last commit that was not ours, since it runs
  bool write_began_running_ = false;  // the state write under way
  std::shared_ptr<CheckpointSource> checkpoint_;
  std::shared_ptr<std::atomic<bool>> checkpoint_busy_;  // the state thread fills it

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
