// The embedded log: all topics of one data directory in one RocksDB with a write-ahead log (docs/runtime.md).
// One writer process. A batch of records of one partition is one value.
//
// Order: Append() fixes the order of units. Units become durable in this order, several per synced write.
// Readers in this process see a unit at once (from memory), so a stage may process records that are not
// durable yet. Its outputs are appended after them and cannot become durable first. Only WaitDurable() and
// on_durable may acknowledge anything to the outside.
//
// Threads: every method may be called from any thread. A failed write ends the process with a message for the
// operator (what failed, where, what to do), because nothing appended after the failure may be acknowledged.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/stream/record.h"

namespace cobblestone::stream::embedded {

struct LogOptions {
  std::string path;  // directory of the log
  // The manifest: written at creation, compared at each open; a difference is refused.
  std::vector<TopicSpec> topics;
  bool read_only = false;  // for queries while no process writes; takes no lock, changes nothing
  bool sync = true;        // false only for tests and what-if runs
  // The operator's way out of a damaged log: everything readable up to the first damage becomes the log. Data
  // derived from the lost rest (states, totals, exports) must be rebuilt.
  bool accept_loss = false;
  std::uint64_t tail_bytes = 256u << 20;    // batches kept in memory for consumers that lag, all topics
  std::uint64_t pending_bytes = 64u << 20;  // appended and not yet durable; Append() waits beyond this
  // Size of RocksDB's write buffer, and about the amount that an open after a crash must replay (measured: 5
  // ms per megabyte).
  std::uint64_t write_buffer_bytes = 64u << 20;
  // Least time from the start of one synced write to the start of the next; units appended in between share a
  // write. A write after a pause is not delayed.
  std::chrono::microseconds commit_gap{10000};
  // Trimmed batches smaller in total than a write buffer are reclaimed when nothing was appended or trimmed
  // for this long.
  std::chrono::milliseconds reclaim_idle = std::chrono::minutes(5);
  // Sources of append times, which never go back even if `clock` does (append_clock.h).
  std::function<double()> clock;   // UNIX s; empty: the wall clock
  std::function<double()> steady;  // s from any origin, never goes back; empty: the system's steady clock
  bool accept_clock = false;       // trust `clock` at this open, even if the log holds later append times
  // Receives the message of a failed write before the process ends with kFailedWriteExitCode; the message
  // also goes to stderr.
  std::function<void(const std::string& message)> on_fatal;
};

// Exit code of a process whose write failed (EX_IOERR of sysexits.h).
inline constexpr int kFailedWriteExitCode = 74;

struct LogOutput {
  TopicPartition where;
  std::string payload{};  // AppendRecord() format
  std::uint32_t count = 0;
  double append_time = 0;  // UNIX s, for batches copied from another log; 0: now
};

// Atomic.
struct LogUnit {
  std::vector<LogOutput> outputs{};
  // Small named rows of the caller (producers, watermarks).
  std::vector<std::pair<std::string, std::string>> rows{};
  // Called on the committer's thread, in order, before WaitDurable() returns. Must be short and must call
  // neither Append() nor WaitDurable(). May take a mutex whose holder waits in Append().
  std::function<void()> on_durable{};
};

struct LogCounters {
  std::uint64_t units = 0;
  std::uint64_t syncs = 0;  // synced writes
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;     // payload before compression
  std::uint64_t stored_bytes = 0;  // as written to the write-ahead log
  std::uint64_t sync_nanos = 0;    // time spent in synced writes
  std::uint64_t longest_sync_nanos = 0;
};

class Log {
 public:
  // kFenced: another process holds the directory (the message has its pid). kCorrupted: damage, or fewer
  // records than a state or copy proves to have existed. kInvalidArgument: the manifest differs. kNotFound:
  // read_only, and there is no log. kFull: the disk is full. kFatal: no permission and the like. A torn last
  // write-ahead record is dropped. An acknowledged record is never dropped: the open returns kCorrupted and
  // changes nothing.
  static Result<std::unique_ptr<Log>> Open(const LogOptions& options);
  virtual ~Log() = default;  // waits until all appended units are durable

  // Increases with every open for writing; part of fencing an older owner.
  [[nodiscard]] virtual std::uint64_t owner_epoch() const = 0;

  // Returns the unit's ticket, ascending in the order of units (from 1). Batches with count 0 are skipped.
  // Waits while more than pending_bytes are not yet durable.
  virtual std::uint64_t Append(LogUnit unit) = 0;
  virtual void WaitDurable(std::uint64_t ticket) = 0;
  // Writes pending units without waiting for commit_gap. Use when no more units are expected soon.
  virtual void CommitSoon() = 0;
  [[nodiscard]] virtual std::uint64_t durable_ticket() const = 0;

  // Returns a batch that contains `offset`, or null when offset == End(), from memory if possible, else from
  // disk. A batch from disk may contain more records than one from memory. Trimmed offsets and offsets beyond
  // End() give kCorrupted; the message says which.
  virtual Result<BatchRef> Read(TopicPartition where, std::uint64_t offset) = 0;
  [[nodiscard]] virtual std::uint64_t Begin(TopicPartition where) const = 0;
  [[nodiscard]] virtual std::uint64_t End(TopicPartition where) const = 0;
  [[nodiscard]] virtual std::uint64_t DurableEnd(TopicPartition where) const = 0;

  // UNIX s: the append time that a unit would get now. Never goes back, also across opens.
  virtual double Now() = 0;

  // Reports that all consumers have consumed everything before `offset`, so that memory can be freed. A
  // partition without readers must be reported with its End(); otherwise it takes memory from the partitions
  // with readers.
  virtual void Consumed(TopicPartition where, std::uint64_t offset) = 0;

  // Rows, including pending units, in append order.
  [[nodiscard]] virtual Result<std::string> GetRow(std::string_view key) const = 0;  // kNotFound
  virtual Status ScanRows(
      std::string_view prefix,
      const std::function<void(std::string_view key, std::string_view value)>& visit) const = 0;

  // Trims whole batches before `offset`: Begin() moves at once to the first offset of the batch that contains
  // `offset`. CHECK-fails for topics kept forever and beyond DurableEnd(). Space is reclaimed in the
  // background when it amounts to a write buffer, or when the log has been idle. After a crash the trim may
  // have to be repeated.
  virtual void Trim(TopicPartition where, std::uint64_t offset) = 0;
  // Reclaims the space of everything trimmed so far. Takes long.
  virtual Status Reclaim() = 0;
  // Waits until the background has reclaimed everything trimmed so far; false if it has not after `at_most`.
  virtual bool WaitReclaimed(std::chrono::milliseconds at_most) = 0;

  // Calls `wake` (any thread) after an Append, once the unit is visible; one listener, empty for none. Used
  // by workers that sleep on a condition. On return the former listener no longer runs; must not be called
  // from within a listener.
  virtual void SetListener(std::function<void()> wake) = 0;

  [[nodiscard]] virtual LogCounters counters() const = 0;
  [[nodiscard]] virtual std::uint64_t disk_bytes() const = 0;

  // Copies the log as of one commit to `path`, which must not exist (its parent must), with hard links where the
  // file system supports them. The copy has everything that was durable at the call, and opens as a log.
  // Appends continue. kFull, kFatal: the copy could not be written; the contents of `path` are unusable.
  virtual Status Checkpoint(const std::string& path) = 0;

  // Number of the last durable commit, counted over the life of the log.
  [[nodiscard]] virtual std::uint64_t last_commit() const = 0;

  // Reads every stored batch, checks hashes and that offsets have no gaps, then checks every other file that
  // an open depends on; for `audit` and operators. Appends may continue. kCorrupted: damage, and where.
  virtual Status Verify(const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) = 0;
};

}  // namespace cobblestone::stream::embedded
