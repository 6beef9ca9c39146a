// Runs slots on the embedded log: N slots over M threads, one committer (inside the log), one thread that writes state
// (docs/runtime.md).
//
// Work goes in waves. A wave takes what waits through the stages: the first stage of every slot, then the second of every
// slot, and so on. So a record passes all stages in one wave, and a slot commits once a stage, however little there is;
// waves begin at least commit_interval apart. A slot's commit: take what waits on the stage's inputs, process, finish,
// append outputs and journal entry as one unit. Later ones may read a unit before it is durable; whatever they make of
// it lies behind it in the log.
//
// Crash: the log holds a prefix of the units. A slot's state is that of some commit in this prefix (state is applied
// only after its commit is durable); Open() executes the journal's entries after it once more, with outputs suppressed,
// and compares the fingerprint of each.
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
  TopicIndex journal = 0;                            // topic with one partition per slot, in order of slots
  std::chrono::microseconds commit_interval{10000};  // from the start of a wave to that of the next at least
  std::uint64_t commit_records = 20000;              // of one commit at most
  std::uint64_t commit_bytes = 4u << 20;             // of its outputs, about
  std::chrono::milliseconds flush_interval{5000};
  // Over all slots, records: a state write is due when so many were processed since the last one was begun, does not wait
  // for another slot's at twice as many, and while it is on its way the slot stops at twice as many more. So an open
  // executes at most four times as many again, and two commits a slot.
  std::uint64_t flush_debt_records = 1000000;
  // Of a slot, bytes of records: likewise, however few records they are, since what a record leaves in memory cannot be evicted before
  // it is written. 0: object_bytes, but not below 4 MiB.
  std::uint64_t flush_debt_bytes = 0;
  std::uint64_t warm_records =
      10000;  // with so many to execute when it is opened a slot reads its hot tables first
  std::chrono::milliseconds checkpoint_interval{60000};
  int checkpoints_kept = 2;
  bool verify_checkpoints = true;         // each is read back before it counts
  std::string checkpoint_copy_directory;  // empty: none; else real copies go there too
  // Of clean objects kept in memory per slot, about. Of rows that wait half as much is read when a slot is opened.
  std::uint64_t object_bytes = 256u << 20;
  std::chrono::milliseconds trim_interval{60000};  // inputs grow old when nothing comes in, too
  double inputs_age = 3 * 86400.0;                 // s, kept at least so long behind the checkpoints
  std::uint64_t inputs_bytes = 50ull << 30;        // unless the log is larger than this
  // Event time of a record, UNIX s: among several inputs of a stage the smallest goes first, on a tie the input that was
  // registered first.
  std::function<double(TopicIndex topic, std::string_view record)> peek_time;
  bool in_step = false;  // lockstep: strictly so, whatever arrives meanwhile
  std::uint64_t block_cache_bytes = 256u << 20;
  std::function<double()> clock;  // UNIX s; wall clock when empty
  // By slot, for metrics: sees each commit as it is appended. Empty: nobody looks, and commits are not timed.
  std::vector<CommitWatch*> watches;
  // A count that the caller takes from the tables of a slot's stages, for SlotStatus::counted; called with the slot's
  // lock. Empty: 0.
  std::function<std::uint64_t(std::uint32_t slot)> count;
};

// Records that wait on one input of a slot's stage.
struct InputLag {
  std::size_t stage = 0;
  TopicIndex topic = 0;
  std::uint64_t records = 0;
  std::uint64_t next = 0;  // offset of the first of them
};

struct SlotStatus {
  std::uint32_t slot = 0;
  std::uint64_t sequence = 0;
  Hash128 hash;
  std::uint64_t lag = 0;               // records that wait on its inputs
  std::uint64_t flushed_sequence = 0;  // of the state on disk
  std::uint64_t checkpoint_sequence = 0;
  std::uint64_t reexecuted = 0;          // commits executed again at open, each with an equal fingerprint
  std::uint64_t reexecuted_records = 0;  // in them
  std::uint64_t records = 0;             // processed since open
  std::uint64_t held = 0;                // visits in vain, because its state on disk was too far behind
  std::size_t cached_objects = 0;
  std::uint64_t cached_bytes = 0;      // of memory, about: of what counts against object_bytes
  std::vector<WaitingRows> waiting{};  // one for each kind
  std::uint64_t store_reads = 0;
  std::uint64_t counted = 0;       // RunnerOptions::count; may be of a commit that is not durable yet
  std::vector<InputLag> inputs{};  // their sum is `lag`
  std::uint64_t restores = 0;      // 1: its state was damaged or gone when it was opened, and was made again
  std::uint64_t state_writes = 0;  // since open
  std::uint64_t checkpoints = 0;   // since open
  double state_written_at = 0;     // UNIX s; 0: not since open
  double checkpoint_at = 0;        // likewise
  LatencyCounts commit_latency{};  // from the first record that is looked for until the commit is durable
};

class Runner {
 public:
  // Opens the state of all slots, restoring damaged or missing ones from a checkpoint, and executes again what the
  // journal has beyond it. kCorrupted: damage that no copy heals, state newer than the log. kFatal: diverged, and where.
  static Result<std::unique_ptr<Runner>> Open(const RunnerOptions& options, Log& log, std::uint32_t slots,
                                              const SlotFactory& factory,
                                              const std::function<void(const std::string&)>& report);
  ~Runner();

  void Start();
  // Stops workers at the end of their rounds, waits until all is durable, writes the state. After it the directory is
  // as small to open as it gets.
  Status Stop();
  // Ok while running; else why a slot stopped. A stopped slot stops the whole runner.
  [[nodiscard]] Status failure() const;

  // Runs `read` between two commits of the slot and returns when all that it could see is durable. Waves pass the slot by
  // meanwhile.
  void Query(std::uint32_t slot, const std::function<void(Slot&)>& read);

  // The slot's state on disk, of a commit a few seconds back; any thread, beside everything else.
  [[nodiscard]] const store::Store& stored(std::uint32_t slot) const { return *slots_[slot]->store; }

  // Copies it to `path`, which must not exist, by hard links where the file system can: for another process to read at leisure.
  Status CopyStored(std::uint32_t slot, const std::string& path) {
    return slots_[slot]->store->Checkpoint(path);
  }

  [[nodiscard]] std::vector<SlotStatus> status() const;
  // The same without waiting for any slot, for health checks and metrics: a slot that somebody reads for long (an audit)
  // is shown as it was after its last visit. What waits is as of now.
  [[nodiscard]] std::vector<SlotStatus> Look() const;
  // Nothing waits on any input and all is durable.
  [[nodiscard]] bool idle() const;
  // Until idle or failed. Waves and synced writes wait for nothing meanwhile.
  void WaitIdle();
  // Until at most about so many records wait on the inputs of all slots, or stopping, or failed. For those who append.
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
    std::atomic<int> readers{0};  // of Query()
    SlotParts parts;
    std::unique_ptr<store::Store> store;
    std::vector<Input> inputs;
    std::vector<std::vector<std::size_t>> stage_inputs;
    std::chrono::steady_clock::time_point last_flush{};
    std::chrono::steady_clock::time_point last_checkpoint{};
    std::chrono::steady_clock::duration checkpoint_rest{};  // at least, between two
    std::uint64_t last_ticket = 0;
    std::uint64_t debt = 0;        // records since the state write that was begun last
    std::uint64_t debt_bytes = 0;  // of them
    std::uint64_t records = 0;
    std::uint64_t held = 0;
    std::uint64_t reexecuted = 0;
    std::uint64_t reexecuted_records = 0;
    std::atomic<std::uint64_t> flushed_sequence{0};
    std::atomic<std::uint64_t> lag{0};  // when it was last visited
    std::atomic<bool> applied{false};   // the state thread is done; the worker has yet to see it
    bool waiting_for_apply = false;
    bool retried = false;               // at open, with the state put aside
    std::vector<SlotMeta> checkpoints;  // kept ones, oldest first
    std::atomic<std::uint64_t> checkpoint_sequence{0};
    // The state thread's, for others to see.
    std::atomic<std::uint64_t> restores{0};
    std::atomic<std::uint64_t> state_writes{0};
    std::atomic<std::uint64_t> checkpoints_made{0};
    std::atomic<double> state_written_at{0};
    std::atomic<double> checkpoint_at{0};
    CommitWatch* watch = nullptr;
    LatencyHistogram commit_latency;  // the log's committer observes
    mutable std::mutex look_mutex;
    SlotStatus last_look{};  // guarded by look_mutex
  };
  struct StateJob {
    Owned* slot = nullptr;
    std::unique_ptr<StateWrite> write;
    std::uint64_t ticket = 0;
  };

  // With mutex_.
  struct Wave {
    std::size_t stage = 0;    // stages_: none is under way
    std::vector<bool> taken;  // slots, in this stage
    std::size_t left = 0;     // slots not taken
    std::size_t running = 0;  // slots that some thread is in
    bool loaded = false;      // so much waits that no thread need wait for another
    std::uint64_t seen = 0;   // wake_count_ when it was looked for input
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
  Status Commit(Owned& owned, std::chrono::steady_clock::time_point begun);
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
  std::vector<std::vector<bool>> read_;  // by topic and partition: some slot consumes it
  Log& log_;
  std::shared_ptr<store::StoreMemory> memory_;
  std::vector<std::unique_ptr<Owned>> slots_;
  std::size_t stages_ = 0;  // the most that a slot has
  std::vector<std::thread> threads_;
  std::thread state_thread_;
  std::atomic<int> state_writes_{0};  // begun and not yet applied
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;  // failure_, jobs_, wave_, wake_
  std::condition_variable wake_;
  std::condition_variable job_ready_;
  std::condition_variable job_done_;
  std::atomic<std::uint64_t> wake_count_{1};  // reasons to look for work; the log may hold some at the start
  std::atomic<int> sleepers_{0};              // workers that wait for input
  std::atomic<int> hurried_{0};               // callers of WaitIdle()
  Wave wave_;
  Status failure_;
  std::vector<StateJob> jobs_;
  std::size_t jobs_running_ = 0;
  bool state_stopping_ = false;
};

}  // namespace cobblestone::stream::embedded
