// A stream thread: its slots, one transactional producer, one reader, one group member (docs/runtime.md).
//
// Failpoints, each hit after the named step: K0 transaction begun, K1 records processed, K2 journals written,
// K3 flushed, K4 offsets sent, K5 committed, K6 applied.
//
// Nothing of a transaction is acknowledged or relied upon before K5. After any earlier failure, or while the
// outcome is unknown, the slots of the transaction return to the position committed on the cluster.
//
// A worker is driven by Step() and has no thread of its own, so that a simulation can drive it too. Threads:
// one at a time.
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
  kCheckpoint,  // applies checkpoints; a takeover re-executes the commits since the last checkpoint
  kHot,         // re-executes the owner's commits
};

struct WorkerOptions {
  // Name of the member and transactional.id: stable across restarts, unique.
  std::string instance;
  std::uint32_t slots = 1;
  TaskOptions task;
  // Least time from the start of a transaction to its commit, when all inputs are drained.
  Millis commit_min{10};
  // The same when inputs are not drained, or three times the usual duration of a commit if that is longer.
  Millis commit_max{50};
  std::uint64_t commit_records = 50000;
  Millis offsets_interval{1000};  // how often the inputs' offsets are committed too, for lag tools
  Millis unstable_patience{500};  // how long another owner's transaction may hide a position
  Millis watch_interval{5000};    // how often to check that each slot has an owner
  Standby standby = Standby::kNone;
  Millis settle_after{30000};    // a rebalance may come in several parts
  std::uint32_t standby_of = 1;  // this worker is standby for slots k with k % standby_of == standby_at
  std::uint32_t standby_at = 0;
  std::function<void(const std::string&)> report;  // messages for the operator, at any time
};

struct WorkerStatus {
  std::vector<TaskStatus> tasks;
  std::uint64_t commits = 0;
  std::uint64_t aborts = 0;
  std::uint64_t producers = 0;  // producers created
  std::uint64_t fenced = 0;     // previous owners fenced
  std::uint64_t records = 0;
  std::uint64_t rebalances = 0;  // assignments and revocations
  // Sums over commits: from the last round to the end (K1 to K6), and of these the time spent waiting for the
  // brokers: for messages, for offsets, for the end of the transaction.
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

  // One turn: rebalances, restores, records, perhaps a commit. Waits for at most about `wait` when there is
  // nothing to do. A status other than ok ends the process.
  Status Step(Millis wait);
  // Gives everything back: commits the open transaction, leaves the group, and ends with clean state on disk
  // if possible.
  void Leave(bool politely);

  [[nodiscard]] WorkerStatus Look() const;  // any thread: as of the last step
  // Any thread: increases with each step and with each cluster call that returns within a step. A step may
  // take as long as the brokers are unavailable; a call may not.
  [[nodiscard]] std::uint64_t turns() const { return turns_; }
  void Interrupt() {  // any thread: ends the wait of a step
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
  // False: the transaction was not committed, and everything was rewound.
  bool Commit(const std::vector<std::uint32_t>& released);
  Outcome TryCommit(const std::vector<std::uint32_t>& released);
  // Repeats the call while it returns kRetry; `tries` 0: without limit.
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
  std::optional<Time> others_since_;  // last assignment by the group; none: settled
  std::map<std::uint32_t, std::unique_ptr<Task>> tasks_;
  std::map<std::uint32_t, Time> unknown_since_;  // positions being requested
  std::map<std::uint32_t, std::string> fenced_;  // by slot: the previous owner that was fenced

  bool open_ = false;  // a transaction is open
  bool commit_now_ = false;
  std::uint32_t last_alone_ = 0;  // the last slot with a transaction of its own
  bool ending_ = false;           // its end was requested: the outcome is unknown until the response arrives
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
