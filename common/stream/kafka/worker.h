// A stream thread: its slots, one transactional producer, one reader, one member of the group (docs/runtime.md).
//
//   K0 the first record is at hand, K1 it is processed, K2 journal written, K3 flushed, K4 offsets sent, K5 committed,
//   K6 applied: what a failpoint of that name comes before.
//
// Nothing of a transaction is told, kept or relied upon before K5. Whatever goes wrong before, or while nobody can tell,
// the slots that were part of it go back to what the cluster says is committed.
//
// It takes steps and has no thread of its own, so that a simulation can take them, too. Threads: one at a time.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/stream/kafka/background.h"
#include "common/stream/kafka/group_watch.h"
#include "common/stream/kafka/state.h"
#include "common/stream/kafka/task.h"
#include "common/stream/kafka/transport.h"

namespace cobblestone::stream::kafka {

enum class Standby : std::uint8_t {
  kNone,
  kCheckpoint,  // takes checkpoints over: a takeover executes what came since the last one
  kHot,         // executes what the owner commits
};

struct WorkerOptions {
  std::string
      instance;  // name of the member and of the transactional.id: the same after a restart, nobody else's
  std::uint32_t slots = 1;
  TaskOptions task;
  Millis commit_min{
      10};  // from the begin of a transaction to its commit at least, when all inputs are drained
  Millis commit_max{50};  // at most, when they are not
  std::uint64_t commit_records = 50000;
  Millis offsets_interval{1000};  // how often the inputs' offsets are committed, too, for lag tools
  Millis unstable_patience{500};  // how long somebody else's transaction may hide a position
  Millis watch_interval{5000};    // how often to look whether each slot is somebody's
  Standby standby = Standby::kNone;
  Millis settle_after{30000};    // a rebalance may come in several parts
  std::uint32_t standby_of = 1;  // this worker stands by for slots k with k % standby_of == standby_at
  std::uint32_t standby_at = 0;
  std::function<void(const std::string&)> report;  // for people; any time
};

struct WorkerStatus {
  std::vector<TaskStatus> tasks;
  std::uint64_t commits = 0;
  std::uint64_t aborts = 0;
  std::uint64_t producers = 0;  // that were made
  std::uint64_t fenced = 0;     // owners before that were fenced
  std::uint64_t records = 0;
  std::uint64_t rebalances = 0;  // the group has said what is ours, or is not any more
  // Of commits, in all: from the last round to the end (K1 to K6), and of that what waited for the brokers: for messages,
  // for offsets, for the end of the transaction.
  double commit_seconds = 0;
  double flush_seconds = 0;
  double offsets_seconds = 0;
  double end_seconds = 0;
};

class Worker final : private GroupListener {
 public:
  Worker(WorkerOptions options, Cluster& cluster, StateSpace& space, Background& background,
         SlotFactory factory);
  ~Worker() override;

  // One turn: rebalances, restores, records, perhaps a commit. Waits at most about `wait` when there is nothing to do.
  // A status that is not ok ends the process.
  Status Step(Millis wait);
  // Gives everything back: commits what is open, leaves the group, ends with clean state on disk where it can.
  void Leave(bool politely);

  [[nodiscard]] WorkerStatus Look() const;  // any thread: as of the last step
  // Any thread: grows with each step, and with each call to the cluster that has come back within one. A step may take as
  // long as brokers are away; a call may not.
  [[nodiscard]] std::uint64_t turns() const { return turns_; }
  void Interrupt() {  // any thread: a step that waits waits no longer
    if (reader_ != nullptr) reader_->Interrupt();
  }

 private:
  void Assigned(const std::vector<std::uint32_t>& slots) override;
  void Revoked(const std::vector<std::uint32_t>& slots, bool lost) override;

  Status Begin();  // the first step
  Status JoinWhenReady();
  Status TendGroup();
  // kInvalidArgument: this program is older than one that has committed for a slot.
  Status CheckRules();
  Status CannotRun(std::uint32_t slot, std::uint32_t rules_version) const;
  [[nodiscard]] bool MayFollow(std::uint32_t slot) const;
  Status NewProducer();
  Task& TaskOf(std::uint32_t slot);
  void FindPositions();
  bool Fence(const std::string& owner);
  bool AdvanceTasks();
  void SettleOthers();
  bool RunRound();
  [[nodiscard]] bool CommitDue(bool drained) const;
  bool OpenTransaction();
  // False: it did not come about, and everything has gone back.
  bool Commit(const std::vector<std::uint32_t>& released);
  Outcome TryCommit(const std::vector<std::uint32_t>& released);
  // The call, again while it asks for that; `tries` 0: until it has come to something.
  Outcome Try(int tries, const std::function<Outcome()>& call);
  void GiveBack();
  void Undo(const Outcome& why);
  void Publish();

  WorkerOptions options_;
  Cluster& cluster_;
  StateSpace& space_;
  Background& background_;
  SlotFactory factory_;

  std::unique_ptr<Reader> reader_;
  std::unique_ptr<Producer> producer_;
  std::unique_ptr<Group> group_;
  GroupWatch watch_;
  bool joined_ = false;
  std::optional<Time> others_since_;  // when the group last said what is ours; none: settled
  std::map<std::uint32_t, std::unique_ptr<Task>> tasks_;
  std::map<std::uint32_t, Time> unknown_since_;  // positions that are asked for
  std::map<std::uint32_t, std::string> fenced_;  // by slot: the owner before that was fenced

  bool open_ = false;  // a transaction is
  bool commit_now_ = false;
  std::uint32_t last_alone_ = 0;  // slot that had a transaction of its own
  bool ending_ = false;  // its end was asked for: what became of it is not known until the answer is here
  Time begun_{};
  std::uint64_t records_in_it_ = 0;
  Time last_offsets_{};
  Time published_at_{};
  double commit_time_ = 0;  // s, smoothed

  std::atomic<std::uint64_t> turns_{0};
  WorkerStatus counts_;
  mutable std::mutex mutex_;
  WorkerStatus published_;  // guarded by mutex_
};

}  // namespace cobblestone::stream::kafka
