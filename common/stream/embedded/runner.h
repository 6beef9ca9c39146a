// Runs slots on the embedded log: N slots on M threads, one committer (inside the log), one thread that
// writes state (docs/runtime.md).
//
// Work is done in waves. A wave takes the waiting records through the stages: the first stage of every slot,
// then the second stage of every slot, and so on. A record thus passes all stages in one wave, and a slot
// commits once per stage, however few records there are. Waves begin at least commit_interval apart. To
// commit, a slot consumes the records that wait on the stage's inputs, processes them, finishes, and appends
// outputs and journal entry as one unit. Later commits may read a unit before it is durable; their outputs
// lie behind it in the log.
//
// Crash: the log holds a prefix of the units. A slot's state is that of a commit in this prefix (state is
// applied only after its commit is durable). Open() re-executes the later journal entries with outputs
// suppressed and compares the fingerprint of each.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/base/histogram.h"
#include "common/base/status.h"
#include "common/store/rocksdb/rocksdb_store.h"
#include "common/stream/commit_watch.h"
#include "common/stream/embedded/log.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::embedded {

struct RunnerOptions {
  std::string directory;  // holds state/ and checkpoints/; the log lies beside them
  std::uint32_t threads = 2;
  std::vector<TopicSpec> topics;                     // the log's manifest
  TopicIndex journal = 0;                            // one partition per slot, in order of slots
  std::chrono::microseconds commit_interval{10000};  // least time between starts of waves
  std::uint64_t commit_records = 20000;              // at most, per commit
  std::uint64_t commit_bytes = 4u << 20;             // of the outputs of a commit, about
  std::chrono::milliseconds flush_interval{5000};
  // Records over all slots. A state write is due when this many were processed since the last write began. At
  // twice as many, a write no longer waits for another slot's write. While a write is active, the slot stops
  // at twice as many more. An open thus re-executes at most four times as many records, and two commits per
  // slot.
  std::uint64_t flush_debt_records = 1000000;
  // The same limit in bytes of records, per slot, because objects that a record changed cannot be evicted
  // before they are written. 0: object_bytes, but at least 4 MiB.
  std::uint64_t flush_debt_bytes = 0;
  // A slot with at least this many waiting records at open reads its hot tables first.
  std::uint64_t warm_records = 10000;
  std::chrono::milliseconds checkpoint_interval{60000};
  int checkpoints_kept = 2;
  bool verify_checkpoints = true;         // each is read back before it counts
  std::string checkpoint_copy_directory;  // receives real copies too; empty: none
  // Approximate limit of clean objects in memory per slot. At open, half as much is used for rows of waiting
  // tables.
  std::uint64_t object_bytes = 256u << 20;
  std::chrono::milliseconds trim_interval{60000};  // also trims while no input arrives
  double inputs_age = 3 * 86400.0;           // s; inputs are kept at least this long behind the checkpoints
  std::uint64_t inputs_bytes = 50ull << 30;  // unless the log is larger than this
  // Event time of a record, UNIX s. Among several inputs of a stage the smallest goes first; on a tie, the
  // input registered first.
  std::function<double(TopicIndex topic, std::string_view record)> peek_time;
  bool in_step = false;  // lockstep: strict order by event time, independent of arrival
  std::uint64_t block_cache_bytes = 256u << 20;
  std::function<double()> clock;  // UNIX s; empty: the wall clock
  // By slot, for metrics: observes each commit as it is appended. Empty: no observer, and commits are not
  // timed.
  std::vector<CommitWatch*> watches;
  // A count from the tables of a slot's stages, for SlotStatus::counted; called with the slot's lock. Empty:
  // 0.
  std::function<std::uint64_t(std::uint32_t slot)> count;
};

// Records waiting on one input of a slot's stage.
struct InputLag {
  std::size_t stage = 0;
  TopicIndex topic = 0;
  std::uint64_t records = 0;
  std::uint64_t next = 0;  // offset of the first waiting record
};

struct SlotStatus {
  std::uint32_t slot = 0;
  std::uint64_t sequence = 0;
  Hash128 hash;
  std::uint64_t lag = 0;               // records waiting on the slot's inputs
  std::uint64_t flushed_sequence = 0;  // of the state on disk
  std::uint64_t checkpoint_sequence = 0;
  std::uint64_t reexecuted = 0;          // commits re-executed at open, each with an equal fingerprint
  std::uint64_t reexecuted_records = 0;  // in them
  std::uint64_t records = 0;             // processed since open
  std::uint64_t held = 0;  // visits without progress, because the state on disk was too far behind
  std::size_t cached_objects = 0;
  std::uint64_t cached_bytes = 0;      // approximate memory that counts against object_bytes
  std::vector<WaitingRows> waiting{};  // one element per kind
  std::uint64_t store_reads = 0;
  std::uint64_t counted = 0;       // RunnerOptions::count; may be of a commit that is not durable yet
  std::vector<InputLag> inputs{};  // their sum is `lag`
  std::uint64_t restores = 0;      // times the state was damaged or missing at open and was rebuilt
  std::uint64_t state_writes = 0;  // since open
  std::uint64_t checkpoints = 0;   // since open
  double state_written_at = 0;     // UNIX s; 0: not since open
  double checkpoint_at = 0;        // likewise
  LatencyCounts commit_latency{};  // from the search for the first record until the commit is durable
};

class Runner {
 public:
  // Opens the state of all slots, restores damaged or missing state from a checkpoint, and re-executes the
  // later journal entries. kCorrupted: damage that no copy can heal, or state newer than the log. kFatal: the
  // re-execution diverged, and where.
  static Result<std::unique_ptr<Runner>> Open(const RunnerOptions& options, Log& log, std::uint32_t slots,
                                              const SlotFactory& factory,
                                              const std::function<void(const std::string&)>& report);
  ~Runner();

  void Start();
  // Stops workers at the end of their rounds, waits until everything is durable, and writes the state. The
  // next open then has the least work.
  Status Stop();
  // Ok while running; else the reason why a slot stopped. A stopped slot stops the whole runner.
  [[nodiscard]] Status failure() const;

  // Runs `read` between two commits of the slot and returns when everything that `read` could see is durable.
  // Waves skip the slot meanwhile.
  void Query(std::uint32_t slot, const std::function<void(Slot&)>& read);

  // The slot's state on disk, as of a commit a few seconds ago. Any thread, at any time.
  [[nodiscard]] const store::Store& stored(std::uint32_t slot) const { return *slots_[slot]->store; }

  // Copies the stored state to `path`, which must not exist, with hard links where the file system supports
  // them. Another process can then read it.
  Status CopyStored(std::uint32_t slot, const std::string& path) {
    return slots_[slot]->store->Checkpoint(path);
  }

  // Copies states and log to `directory`, which must exist and be empty, as `state/slot-K` and `log`, with hard
  // links where the file system supports them: a data directory as of one commit of the log, whose states lie at
  // or behind that commit. Nothing waits for it but the trimming of the log. Statuses as Log::Checkpoint() and
  // Store::Checkpoint(). Any thread.
  Status CopyAll(const std::string& directory);

  [[nodiscard]] std::vector<SlotStatus> status() const;
  // As status(), without waiting for any slot, for health checks and metrics: a slot that is being read for
  // long (an audit) is shown as of its last visit. The lag is current.
  [[nodiscard]] std::vector<SlotStatus> Look() const;
  // True if no record waits on any input, no stage is unfinished, and everything is durable.
  [[nodiscard]] bool idle() const;
  // Waits until idle or failed. Waves and synced writes are not delayed meanwhile.
  void WaitIdle();
  // Waits until at most about `records` records wait on the inputs of all slots, or the runner stops or
  // fails. For callers that append.
  void WaitLag(std::uint64_t records);

 private:
  struct Input {
    BatchRef batch;
    RecordCursor cursor;
    bool have_head = false;
    std::string_view head;
    double head_time = 0;
  };
  struct Owned {
    std::mutex mutex;             // one thread at a time in the slot
    std::atomic<int> readers{0};  // callers of Query()
    SlotParts parts;
    std::unique_ptr<store::Store> store;
    std::vector<Input> inputs;
    std::vector<std::vector<std::size_t>> stage_inputs;
    std::chrono::steady_clock::time_point last_flush{};
    std::chrono::steady_clock::time_point last_checkpoint{};
    std::chrono::steady_clock::duration checkpoint_rest{};  // least pause between two checkpoints
    std::uint64_t last_ticket = 0;
    std::uint64_t debt = 0;        // records since the last state write began
    std::uint64_t debt_bytes = 0;  // their bytes
    std::uint64_t records = 0;
    std::uint64_t held = 0;
    std::uint64_t reexecuted = 0;
    std::uint64_t reexecuted_records = 0;
    std::atomic<std::uint64_t> flushed_sequence{0};
    std::atomic<std::uint64_t> lag{0};    // at the last visit
    std::atomic<bool> unfinished{false};  // likewise (Slot::unfinished)
    std::atomic<bool> applied{false};     // set by the state thread when it is done, cleared by the worker
    bool waiting_for_apply = false;
    bool retried = false;               // at open, after the damaged state was quarantined
    std::vector<SlotMeta> checkpoints;  // kept ones, oldest first
    std::atomic<std::uint64_t> checkpoint_sequence{0};
    // Written by the state thread, read by others.
    std::atomic<std::uint64_t> restores{0};
    std::atomic<std::uint64_t> state_writes{0};
    std::atomic<std::uint64_t> checkpoints_made{0};
    std::atomic<double> state_written_at{0};
    std::atomic<double> checkpoint_at{0};
    CommitWatch* watch = nullptr;
    LatencyHistogram commit_latency;  // observed by the log's committer
    mutable std::mutex look_mutex;
    SlotStatus last_look{};  // guarded by look_mutex
  };
  struct StateJob {
    Owned* slot = nullptr;
    std::unique_ptr<StateWrite> write;
    std::uint64_t ticket = 0;
  };

  // Guarded by mutex_.
  struct Wave {
    std::size_t stage = 0;    // stages_: no wave is active
    std::vector<bool> taken;  // by slot, in this stage
    std::size_t left = 0;     // slots not taken
    std::size_t running = 0;  // slots that a thread is working on
    bool loaded = false;      // enough records wait that threads need not wait for each other
    std::uint64_t seen = 0;   // wake_count_ at the last search for input
    std::chrono::steady_clock::time_point begun{};
  };

  Runner(const RunnerOptions& options, Log& log, std::uint32_t slots);

  Status OpenSlot(std::uint32_t k, const SlotFactory& factory,
                  const std::function<void(const std::string&)>& report);
  Status OpenStore(std::uint32_t k, const std::function<void(const std::string&)>& report);
  Status Reexecute(Owned& owned);
  Status WriteReexecuted(Owned& owned);
  Status FetchHead(Owned& owned, std::size_t i, bool* available);
  Status ConsumeHead(Owned& owned, std::size_t i);
  [[nodiscard]] bool Full(const Slot& slot) const;
  Status ConsumeStage(Owned& owned, std::size_t stage);
  Status Step(Owned& owned, std::size_t stage);
  Status Commit(Owned& owned, std::chrono::steady_clock::time_point begun, std::uint64_t* work);
  [[nodiscard]] SlotStatus StatusOf(const Owned& owned) const;  // with the slot's lock
  void Refresh(const Owned& owned, SlotStatus* status) const;
  void Publish(Owned& owned);  // with the slot's lock
  void FlushStep(Owned& owned, std::size_t objects);
  [[nodiscard]] bool Held(const Owned& owned) const;
  [[nodiscard]] bool DebtDue(const Owned& owned, std::uint64_t times) const;
  [[nodiscard]] std::uint64_t Lag(const Owned& owned) const;
  bool BeginWave(std::chrono::steady_clock::time_point now);
  Owned* TakeSlot(std::uint32_t thread);
  void EndStage();
  void Work(std::uint32_t thread);
  Status Visit(Owned& owned, std::size_t stage);
  bool WriteStates(std::uint32_t thread);
  void WriteState();
  Status ApplyJob(StateJob& job);
  Status Checkpoint(Owned& owned, const SlotMeta& meta);
  void LoadCheckpoints(Owned& owned);
  void TrimLog();
  void Failed(Status status);
  void EndWork();
  void Wake();
  [[nodiscard]] std::string StatePath(std::uint32_t slot) const;
  [[nodiscard]] std::string CheckpointPath(std::uint32_t slot) const;

  RunnerOptions options_;
  std::vector<std::vector<bool>> read_;  // by topic and partition: true if a slot consumes it
  Log& log_;
  std::shared_ptr<store::StoreMemory> memory_;
  std::vector<std::unique_ptr<Owned>> slots_;
  std::size_t stages_ = 0;  // the largest number of stages of a slot
  std::vector<std::thread> threads_;
  std::thread state_thread_;
  std::atomic<int> state_writes_{0};  // begun and not yet applied
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;  // guards failure_, jobs_, wave_; used with wake_
  std::condition_variable wake_;
  std::condition_variable job_ready_;
  std::condition_variable job_done_;
  std::atomic<std::uint64_t> wake_count_{1};  // reasons to look for work; the log may hold some at the start
  std::atomic<int> sleepers_{0};              // workers waiting for input
  std::atomic<int> hurried_{0};               // callers of WaitIdle()
  Wave wave_;
  Status failure_;
  std::vector<StateJob> jobs_;
  std::size_t jobs_running_ = 0;
  bool state_stopping_ = false;
  std::mutex trim_mutex_;  // held while the log is trimmed or copied
};

}  // namespace cobblestone::stream::embedded
