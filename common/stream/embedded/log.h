// The embedded log: all topics of one data directory in one RocksDB with a write-ahead log (docs/runtime.md).
// One writer process. A batch of records of one partition is one value.
//
// Order: Append() fixes the order of units; they become durable in that order, several in one synced write. Readers in
// this process see a unit at once (from memory), so that a stage may work on what is not yet durable: whatever it makes
// of it is appended behind it and so can never become durable without it. Only WaitDurable()/on_durable tell the
// outside world that something has happened.
//
// Threads: every method may be called from any thread. A failed write ends the process (CHECK-like, with a message for
// the operator: what failed, where, what to do), because nothing that was appended after it may ever be told.
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
  std::vector<TopicSpec>
      topics;              // the manifest: written at creation, compared at each open; drift is refused
  bool read_only = false;  // for queries while nobody runs; takes no lock, changes nothing
  bool sync = true;        // false only for tests and what-if runs
  // The operator's way out of a damaged log: what can still be read, up to the first damage, is taken as the truth.
  // What was made of the rest (states, totals, what others were told) must be made again.
  bool accept_loss = false;
  std::uint64_t tail_bytes = 256u << 20;    // batches kept in memory behind the consumers' pace, all topics
  std::uint64_t pending_bytes = 64u << 20;  // appended and not yet durable; Append() waits beyond it
  // Of RocksDB's memory, and about what an open after a crash has to read again (measured: 5 ms for a megabyte).
  std::uint64_t write_buffer_bytes = 64u << 20;
  // From the start of one synced write to that of the next at least: what comes meanwhile shares it. A write after a
  // pause is never held up.
  std::chrono::microseconds commit_gap{10000};
  // Trimmed batches that do not come to a write buffer's worth go when nothing was appended or trimmed for so long.
  std::chrono::milliseconds reclaim_idle = std::chrono::minutes(5);
  // For append times, which never go back whatever the first of these does (append_clock.h).
  std::function<double()> clock;   // UNIX s; the wall clock when empty
  std::function<double()> steady;  // s since anything, never goes back; the system's steady clock when empty
  bool accept_clock = false;       // `clock` is right at this open, even if the log holds later append times
  // Gets the message of a failed write before the process ends with kFailedWriteExitCode; it goes to stderr anyway.
  std::function<void(const std::string& message)> on_fatal;
};

// How a process ends that could not write (EX_IOERR of sysexits.h).
inline constexpr int kFailedWriteExitCode = 74;

struct LogOutput {
  TopicPartition where;
  std::string payload{};  // AppendRecord() format
  std::uint32_t count = 0;
  double append_time = 0;  // UNIX s, for what is copied from another log; 0: now
};

// All or nothing.
struct LogUnit {
  std::vector<LogOutput> outputs{};
  std::vector<std::pair<std::string, std::string>>
      rows{};  // small named rows of the caller (producers, marks)
  // On the committer's thread, in order, before WaitDurable() returns; must be short, must neither Append() nor
  // WaitDurable(). May take a mutex that somebody holds who waits in Append().
  std::function<void()> on_durable{};
};

struct LogCounters {
  std::uint64_t units = 0;
  std::uint64_t syncs = 0;  // synced writes
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;     // payload before compression
  std::uint64_t stored_bytes = 0;  // as written to the write-ahead log
  std::uint64_t sync_nanos = 0;    // spent in synced writes
  std::uint64_t longest_sync_nanos = 0;
};

class Log {
 public:
  // kFenced: another process holds the directory (says its pid). kCorrupted: damage, or fewer records than some state
  // or copy proves to have been there. kInvalidArgument: manifest drift. kNotFound: read_only and no log there.
  // kFull: the disk is. kFatal: no permission and the like. A torn last write-ahead record is dropped; nothing that was
  // acknowledged is, ever: then the open is kCorrupted and has changed nothing.
  static Result<std::unique_ptr<Log>> Open(const LogOptions& options);
  virtual ~Log() = default;  // waits until all that was appended is durable

  // Counts up with every open for writing; part of what fences an older owner.
  [[nodiscard]] virtual std::uint64_t owner_epoch() const = 0;

  // Returns the unit's ticket, ascending in the order of units (from 1). Batches with count 0 are left out. Waits while more
  // than pending_bytes are on their way to the disk.
  virtual std::uint64_t Append(LogUnit unit) = 0;
  virtual void WaitDurable(std::uint64_t ticket) = 0;
  // What is on its way waits for no commit_gap: nothing that it should share a write with comes soon.
  virtual void CommitSoon() = 0;
  [[nodiscard]] virtual std::uint64_t durable_ticket() const = 0;

  // A batch that holds `offset`, or null when offset == End(); from disk it may hold more records than from memory. Trimmed offsets and those beyond End() are kCorrupted
  // by message: the caller asked for what is gone, or knows of more than there is. From memory if there, else from disk.
  virtual Result<BatchRef> Read(TopicPartition where, std::uint64_t offset) = 0;
  [[nodiscard]] virtual std::uint64_t Begin(TopicPartition where) const = 0;
  [[nodiscard]] virtual std::uint64_t End(TopicPartition where) const = 0;
  [[nodiscard]] virtual std::uint64_t DurableEnd(TopicPartition where) const = 0;

  // UNIX s: the append time of a unit that were appended now. Never goes back, from one open to the next neither.
  virtual double Now() = 0;

  // Told by the consumers, so that memory can be let go: everything before `offset` was consumed by all of them. A
  // partition that nobody reads is told so with its End(), else it takes memory from those that are read.
  virtual void Consumed(TopicPartition where, std::uint64_t offset) = 0;

  // Rows. As of what is durable plus what is pending, in append order.
  [[nodiscard]] virtual Result<std::string> GetRow(std::string_view key) const = 0;  // kNotFound
  virtual Status ScanRows(
      std::string_view prefix,
      const std::function<void(std::string_view key, std::string_view value)>& visit) const = 0;

  // Forgets what lies before `offset` (whole batches): Begin() moves at once to the first offset of the batch that holds
  // `offset`. Refused (CHECK) for topics kept for ever and beyond DurableEnd(). Space comes back in the background
  // by itself: when there is a write buffer's worth of it, or when the log has been idle; after a crash the trim may
  // have to be told again.
  virtual void Trim(TopicPartition where, std::uint64_t offset) = 0;
  // Gives back the space of all that was trimmed so far, now. Long.
  virtual Status Reclaim() = 0;
  // Waits until the background has given back all that was trimmed so far; false when it has not after `at_most`.
  virtual bool WaitReclaimed(std::chrono::milliseconds at_most) = 0;

  // Calls `wake` (any thread) after an Append, once the unit is visible; one listener, empty for none. Used by workers
  // that sleep on a condition. The former listener is not running any more on return; not to be called from within it.
  virtual void SetListener(std::function<void()> wake) = 0;

  [[nodiscard]] virtual LogCounters counters() const = 0;
  [[nodiscard]] virtual std::uint64_t disk_bytes() const = 0;

  // Reads every stored batch, checks checksums and that offsets are without gaps, then every other file that an open
  // depends on; for `audit` and operators. Appends may go on. kCorrupted: damage, and where.
  virtual Status Verify(const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) = 0;
};

}  // namespace cobblestone::stream::embedded
