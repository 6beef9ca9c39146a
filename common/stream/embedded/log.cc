#include "common/stream/embedded/log.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>

#include <rocksdb/write_batch.h>

#include "common/base/check.h"
#include "common/base/failpoint.h"
#include "common/base/last_words.h"
#include "common/base/thread.h"
#include "common/store/rocksdb/rocksdb_status.h"
#include "common/stream/embedded/append_clock.h"
#include "common/stream/embedded/batch_format.h"
#include "common/stream/embedded/log_database.h"
#include "common/stream/embedded/stored_reader.h"
#include "common/stream/embedded/tail.h"

namespace cobblestone::stream::embedded {

using store::FromRocksdb;
namespace {

constexpr std::uint64_t kStoredCacheBytes = 32u << 20;

// A merged batch has at most this size before compression: a reader of one record decompresses a whole batch.
constexpr std::uint64_t kMergedBytes = 256u << 10;

// This many pending bytes justify a synced write without further waiting.
constexpr std::uint64_t kGatheredBytes = 4u << 20;

// Append times have a resolution of a quarter of a second, so that units which become durable together mostly
// share one time.
double Coarse(double time) { return std::floor(time * 4) / 4; }

double WallClock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double SteadyClock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The newest append time of all partitions, UNIX s.
double LastAppend(const std::vector<StoredExtent>& extents) {
  double last = 0;
  for (const StoredExtent& extent : extents) last = std::max(last, extent.append_time);
  return last;
}

class LogImpl final : public Log {
 public:
  LogImpl(const LogOptions& options, std::unique_ptr<LogDatabase> database,
          std::vector<std::size_t> first_slots, const std::vector<StoredExtent>& extents);
  ~LogImpl() override;

  [[nodiscard]] std::uint64_t owner_epoch() const override { return database_->owner_epoch(); }
  std::uint64_t Append(LogUnit unit) override;
  void WaitDurable(std::uint64_t ticket) override;
  void CommitSoon() override;
  [[nodiscard]] std::uint64_t durable_ticket() const override;
  Result<BatchRef> Read(TopicPartition where, std::uint64_t offset) override;
  [[nodiscard]] std::uint64_t Begin(TopicPartition where) const override;
  [[nodiscard]] std::uint64_t End(TopicPartition where) const override;
  [[nodiscard]] std::uint64_t DurableEnd(TopicPartition where) const override;
  double Now() override;
  void Consumed(TopicPartition where, std::uint64_t offset) override;
  [[nodiscard]] Result<std::string> GetRow(std::string_view key) const override;
  Status ScanRows(std::string_view prefix,
                  const std::function<void(std::string_view, std::string_view)>& visit) const override;
  void Trim(TopicPartition where, std::uint64_t offset) override;
  Status Reclaim() override;
  bool WaitReclaimed(std::chrono::milliseconds at_most) override;
  void SetListener(std::function<void()> wake) override;
  [[nodiscard]] LogCounters counters() const override;
  [[nodiscard]] std::uint64_t disk_bytes() const override { return database_->disk_bytes(); }
  Status Checkpoint(const std::string& path) override { return database_->Checkpoint(path); }
  [[nodiscard]] std::uint64_t last_commit() const override { return database_->last_commit(); }
  Status Verify(const std::function<void(std::uint64_t, std::uint64_t)>& progress) override;

 private:
  struct PendingBatch {
    std::size_t slot = 0;
    std::shared_ptr<Batch> batch;
  };
  struct PendingTrim {
    TopicPartition where;
    std::uint64_t begin = 0;
  };
  // A unit or a trim that is not yet on disk.
  struct Pending {
    std::uint64_t ticket = 0;
    std::vector<PendingBatch> batches;
    std::vector<std::pair<std::string, std::string>> rows;
    std::optional<PendingTrim> trim;
    std::function<void()> on_durable;
    std::uint64_t bytes = 0;  // of memory
  };
  struct PendingRow {
    std::string value;
    std::uint64_t ticket = 0;
  };
  struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  [[nodiscard]] std::size_t SlotOf(TopicPartition where) const;
  [[nodiscard]] std::string Name(TopicPartition where) const;
  void Commit(std::deque<Pending>& units);
  void PutBatches(const std::deque<Pending>& units, rocksdb::WriteBatch& to);
  void RunCommitter();
  void RunReclaimer();
  [[nodiscard]] double TrimmedShare() const;  // of the records of trimmed topics; with mutex_
  Status VerifyPartition(TopicPartition where, const std::function<void(std::uint64_t)>& progress) const;
  [[noreturn]] void Die(const std::string& what) const;

  const LogOptions options_;
  const std::unique_ptr<LogDatabase> database_;
  const std::vector<std::size_t> first_slots_;  // of each topic: its partition 0
  StoredReader stored_;

  mutable std::mutex mutex_;
  std::condition_variable work_;       // wakes the committer
  std::condition_variable room_;       // Append() waits for space
  std::condition_variable called_cv_;  // WaitDurable() waits for callbacks
  std::deque<Pending> pending_;
  AppendClock clock_;
  std::vector<Extent> extents_;  // by slot
  Tail tail_;
  std::map<std::string, PendingRow, std::less<>> pending_rows_;
  std::uint64_t pending_bytes_ = 0;
  std::uint64_t last_ticket_ = 0;
  std::uint64_t last_trim_ticket_ = 0;
  std::uint64_t durable_ticket_ = 0;
  std::uint64_t called_ticket_ = 0;  // callbacks have run up to this ticket
  bool calling_ = false;
  bool stopping_ = false;
  bool gathering_ = false;  // the committer waits for more units, not for the first one
  bool hastened_ = false;   // the committer must not wait any longer
  LogCounters counters_;

  std::shared_mutex listener_mutex_;
  std::function<void()> listener_;

  std::string merged_;  // the committer's buffer, reused

  std::mutex reclaim_mutex_;           // one Reclaim() at a time
  std::condition_variable trimmed_;    // wakes the reclaimer; guarded by mutex_
  std::uint64_t trimmed_records_ = 0;  // since the reclaimer last checked
  bool reclaiming_ = false;
  std::condition_variable reclaimed_;  // signalled when a Reclaim() ends

  std::thread committer_;
  std::thread reclaimer_;
};

LogImpl::LogImpl(const LogOptions& options, std::unique_ptr<LogDatabase> database,
                 std::vector<std::size_t> first_slots, const std::vector<StoredExtent>& extents)
    : options_(options),
      database_(std::move(database)),
      first_slots_(std::move(first_slots)),
      stored_(*database_, kStoredCacheBytes),
      clock_(options.clock ? options.clock : WallClock, options.steady ? options.steady : SteadyClock,
             options.accept_clock ? 0 : LastAppend(extents)),
      tail_(
          [&] {
            std::vector<std::uint64_t> ends;
            for (const StoredExtent& extent : extents) ends.push_back(extent.end);
            return ends;
          }(),
          options.tail_bytes) {
  for (const StoredExtent& extent : extents) extents_.push_back({.begin = extent.begin, .end = extent.end});
  if (options_.read_only) return;
  committer_ = std::thread([this] {
    NameThread("log-commit");
    RunCommitter();
  });
  reclaimer_ = std::thread([this] {
    NameThread("log-reclaim");
    LowerThreadPriority();
    RunReclaimer();
  });
}

LogImpl::~LogImpl() {
  database_->StopReclaim();
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  trimmed_.notify_all();
  if (committer_.joinable()) committer_.join();
  if (reclaimer_.joinable()) reclaimer_.join();
}

std::size_t LogImpl::SlotOf(TopicPartition where) const {
  COBBLESTONE_CHECK(where.topic < options_.topics.size(), "topic number " + std::to_string(where.topic));
  COBBLESTONE_CHECK(where.partition < options_.topics[where.topic].partitions, Name(where));
  return first_slots_[where.topic] + where.partition;
}

std::string LogImpl::Name(TopicPartition where) const {
  return "partition " + std::to_string(where.partition) + " of topic '" + options_.topics[where.topic].name +
         "'";
}

void LogImpl::Die(const std::string& what) const {
  const std::string message =
      what +
      "; the process ends now; start the process again when the cause is fixed; acknowledged "
      "data is not lost";
  if (options_.on_fatal) options_.on_fatal(message);
  SayLastWords(message);
  // Not exit(): destructors would wait for units that can never be written.
  ::_exit(kFailedWriteExitCode);
}

std::uint64_t LogImpl::Append(LogUnit unit) {
  COBBLESTONE_CHECK(!options_.read_only, "Append() to a log opened read_only");
  Pending pending;
  pending.rows = std::move(unit.rows);
  pending.on_durable = std::move(unit.on_durable);
  pending.batches.reserve(unit.outputs.size());
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;
  for (LogOutput& output : unit.outputs) {
    if (output.count == 0) continue;
    auto batch = std::make_shared<Batch>();
    batch->where = output.where;
    batch->count = output.count;
    batch->append_time = output.append_time;
    batch->payload = std::move(output.payload);
    records += output.count;
    raw_bytes += batch->payload.size();
    pending.bytes += batch->payload.size();
    pending.batches.push_back({.slot = SlotOf(output.where), .batch = std::move(batch)});
  }
  for (const auto& [key, value] : pending.rows) pending.bytes += key.size() + value.size();

  std::uint64_t ticket = 0;
  bool wake = false;
  {
    std::unique_lock lock(mutex_);
    // Append() does not wait while callbacks run: a callback may need a mutex that a caller of Append()
    // holds.
    room_.wait(lock, [&] { return pending_bytes_ < options_.pending_bytes || calling_; });
    ticket = pending.ticket = ++last_ticket_;
    pending_bytes_ += pending.bytes;
    counters_.units += 1;
    counters_.records += records;
    counters_.raw_bytes += raw_bytes;
    const double now = Coarse(clock_.Now());
    for (PendingBatch& one : pending.batches) {
      Extent& extent = extents_[one.slot];
      one.batch->first = extent.end;
      if (one.batch->append_time == 0) one.batch->append_time = now;
      extent.end += one.batch->count;
      tail_.Add(one.slot, one.batch);
    }
    for (const auto& [key, value] : pending.rows) pending_rows_[key] = {.value = value, .ticket = ticket};
    pending_.push_back(std::move(pending));
    wake = !gathering_ || pending_bytes_ > kGatheredBytes;
  }
  if (wake) work_.notify_one();
  const std::shared_lock lock(listener_mutex_);
  if (listener_) listener_();
  return ticket;
}

void LogImpl::RunCommitter() {
  std::deque<Pending> units;
  auto last_commit = std::chrono::steady_clock::now();
  while (true) {
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [&] { return !pending_.empty() || stopping_; });
      if (pending_.empty()) return;
      gathering_ = true;
      work_.wait_until(lock, last_commit + options_.commit_gap,
                       [&] { return stopping_ || hastened_ || pending_bytes_ > kGatheredBytes; });
      gathering_ = hastened_ = false;
      last_commit = std::chrono::steady_clock::now();
      units.swap(pending_);
    }
    Failpoint("E2");
    Commit(units);
    units.clear();
  }
}

// Merges what several units contain for one partition into one batch: a batch costs about as much as a
// hundred records.
void LogImpl::PutBatches(const std::deque<Pending>& units, rocksdb::WriteBatch& to) {
  std::vector<const PendingBatch*> batches;
  for (const Pending& unit : units)
    for (const PendingBatch& one : unit.batches) batches.push_back(&one);
  // The batches of a partition stay in order.
  std::stable_sort(batches.begin(), batches.end(),
                   [](const PendingBatch* a, const PendingBatch* b) { return a->slot < b->slot; });
  for (std::size_t i = 0; i < batches.size();) {
    const Batch& first = *batches[i]->batch;
    std::size_t end = i + 1;
    std::uint64_t bytes = first.payload.size();
    std::uint32_t count = first.count;
    for (; end < batches.size() && batches[end]->slot == batches[i]->slot; ++end) {
      const Batch& next = *batches[end]->batch;
      if (next.append_time != first.append_time || bytes + next.payload.size() > kMergedBytes) break;
      bytes += next.payload.size();
      count += next.count;
    }
    std::string_view payload = first.payload;
    if (end > i + 1) {
      merged_.clear();
      for (std::size_t k = i; k < end; ++k) merged_.append(batches[k]->batch->payload);
      payload = merged_;
    }
    PackedBatch packed(payload, count);
    packed.Seal(first.where, first.first, first.append_time);
    database_->PutBatch(to, first.where, first.first, packed.bytes());
    i = end;
  }
}

void LogImpl::Commit(std::deque<Pending>& units) {
  rocksdb::WriteBatch batch;
  bool synced = false;
  database_->BeginCommit(batch);
  PutBatches(units, batch);
  for (Pending& unit : units) {
    for (const auto& [key, value] : unit.rows) database_->PutRow(batch, key, value);
    if (unit.trim) {
      database_->TrimTo(batch, unit.trim->where, unit.trim->begin);
    } else {
      synced = true;  // a trim alone may be lost
    }
  }
  Failpoint("E3");
  const std::uint64_t stored_bytes = batch.GetDataSize();
  Failpoint("E4");
  const auto before = std::chrono::steady_clock::now();
  if (const rocksdb::Status status = database_->Write(batch, synced); !status.ok()) {
    Die(FromRocksdb(status, database_->doing("writing to")).message());
  }
  const auto took = std::chrono::steady_clock::now() - before;
  Failpoint("E4b");
  if (synced) {
    if (const Status status = database_->Acknowledge(); !status.ok()) Die(status.message());
  }

  std::vector<BatchRef> evicted;
  {
    const std::scoped_lock lock(mutex_);
    for (const Pending& unit : units) {
      calling_ = calling_ || unit.on_durable != nullptr;
      for (const PendingBatch& one : unit.batches) tail_.Durable(one.slot, one.batch->end());
      for (const auto& [key, value] : unit.rows) {
        const auto row = pending_rows_.find(key);
        if (row != pending_rows_.end() && row->second.ticket == unit.ticket) pending_rows_.erase(row);
      }
      pending_bytes_ -= unit.bytes;
    }
    durable_ticket_ = units.back().ticket;
    tail_.Evict(evicted);
    counters_.stored_bytes += stored_bytes;
    if (synced && options_.sync) {
      counters_.syncs += 1;
      const auto nanos =
          static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
      counters_.sync_nanos += nanos;
      counters_.longest_sync_nanos = std::max(counters_.longest_sync_nanos, nanos);
    }
  }
  room_.notify_all();
  for (Pending& unit : units) unit.batches.clear();
  for (const Pending& unit : units) {
    if (unit.on_durable) unit.on_durable();
  }
  {
    const std::scoped_lock lock(mutex_);
    called_ticket_ = units.back().ticket;
    calling_ = false;
  }
  called_cv_.notify_all();
}

void LogImpl::WaitDurable(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  COBBLESTONE_CHECK(ticket <= last_ticket_, "waiting for ticket " + std::to_string(ticket) +
                                                ", but the last ticket is " + std::to_string(last_ticket_));
  called_cv_.wait(lock, [&] { return called_ticket_ >= ticket; });
}

void LogImpl::CommitSoon() {
  {
    const std::scoped_lock lock(mutex_);
    if (pending_.empty()) return;
    hastened_ = true;
  }
  work_.notify_one();
}

std::uint64_t LogImpl::durable_ticket() const {
  const std::scoped_lock lock(mutex_);
  return durable_ticket_;
}

Result<BatchRef> LogImpl::Read(TopicPartition where, std::uint64_t offset) {
  const std::size_t slot = SlotOf(where);
  const auto trimmed = [&](std::uint64_t begin) {
    return Status::Corrupted(
        Name(where) + " of the log in " + options_.path + " was read at offset " + std::to_string(offset) +
        ", but the log starts at " + std::to_string(begin) +
        ": earlier records were trimmed; the reader is older than the log: rebuild the reader "
        "from a newer copy");
  };
  {
    const std::scoped_lock lock(mutex_);
    const Extent& extent = extents_[slot];
    if (offset == extent.end) return BatchRef();
    if (offset > extent.end) {
      return Status::Corrupted(
          Name(where) + " of the log in " + options_.path + " was read at offset " + std::to_string(offset) +
          ", but the log ends at " + std::to_string(extent.end) +
          ": the reader is newer than the log: the log has lost its end or is an older copy");
    }
    if (offset < extent.begin) return trimmed(extent.begin);
    if (BatchRef batch = tail_.Find(slot, offset)) return batch;
  }
  Result<BatchRef> batch = stored_.Read(where, offset);
  if (!batch.ok() || *batch != nullptr) return batch;
  if (const std::uint64_t begin = Begin(where); offset < begin) return trimmed(begin);  // since the check
  return Status::Corrupted(Name(where) + " of the log in " + options_.path + " has a gap at offset " +
                           std::to_string(offset) +
                           ": stored batches are missing; restore the log from a copy");
}

std::uint64_t LogImpl::Begin(TopicPartition where) const {
  const std::size_t slot = SlotOf(where);
  const std::scoped_lock lock(mutex_);
  return extents_[slot].begin;
}

std::uint64_t LogImpl::End(TopicPartition where) const {
  const std::size_t slot = SlotOf(where);
  const std::scoped_lock lock(mutex_);
  return extents_[slot].end;
}

std::uint64_t LogImpl::DurableEnd(TopicPartition where) const {
  const std::size_t slot = SlotOf(where);
  const std::scoped_lock lock(mutex_);
  return tail_.durable_end(slot);
}

double LogImpl::Now() {
  const std::scoped_lock lock(mutex_);
  return Coarse(clock_.Now());
}

void LogImpl::Consumed(TopicPartition where, std::uint64_t offset) {
  const std::size_t slot = SlotOf(where);
  std::vector<BatchRef> evicted;  // freed after the mutex
  const std::scoped_lock lock(mutex_);
  tail_.Consumed(slot, offset, evicted);
}

Result<std::string> LogImpl::GetRow(std::string_view key) const {
  {
    const std::scoped_lock lock(mutex_);
    const auto row = pending_rows_.find(key);
    if (row != pending_rows_.end()) return row->second.value;
  }
  return database_->GetRow(key);  // contains every row that has left pending_rows_
}

Status LogImpl::ScanRows(std::string_view prefix,
                         const std::function<void(std::string_view, std::string_view)>& visit) const {
  // Both views are of one moment: the stored rows and the pending rows.
  std::vector<std::pair<std::string, std::string>> pending;
  std::unique_ptr<rocksdb::Iterator> stored;
  {
    const std::scoped_lock lock(mutex_);
    for (auto row = pending_rows_.lower_bound(prefix);
         row != pending_rows_.end() && std::string_view(row->first).starts_with(prefix); ++row) {
      pending.emplace_back(row->first, row->second.value);
    }
    stored = database_->RowIterator();
  }
  auto next = pending.begin();
  for (LogDatabase::SeekRow(*stored, prefix); LogDatabase::AtRow(*stored); stored->Next()) {
    const std::string_view key = LogDatabase::RowKeyOf(*stored);
    if (!key.starts_with(prefix)) break;
    for (; next != pending.end() && next->first < key; ++next) visit(next->first, next->second);
    if (next != pending.end() && next->first == key) continue;  // pending is newer, and visited next
    visit(key, {stored->value().data(), stored->value().size()});
  }
  for (; next != pending.end(); ++next) visit(next->first, next->second);
  return FromRocksdb(stored->status(), database_->doing("reading rows of"));
}

void LogImpl::Trim(TopicPartition where, std::uint64_t offset) {
  COBBLESTONE_CHECK(options_.topics[where.topic].retention == Retention::kTrimmed,
                    Name(where) + " has unlimited retention");
  const std::size_t slot = SlotOf(where);
  std::uint64_t begin = offset;
  {
    const std::scoped_lock lock(mutex_);
    COBBLESTONE_CHECK(offset <= tail_.durable_end(slot), Name(where) + " is not durable up to this offset");
    if (offset <= extents_[slot].begin) return;
  }
  // The first offset of the stored batch that contains `offset`; `offset` itself if it is the end of the
  // partition. Batches in memory may be smaller.
  const Result<BatchRef> batch = stored_.Read(where, offset);
  if (!batch.ok()) return;  // trimmed further meanwhile, or damaged: a reader will report the damage
  if (*batch != nullptr) begin = (*batch)->first;

  std::vector<BatchRef> evicted;
  {
    const std::scoped_lock lock(mutex_);
    if (begin <= extents_[slot].begin) return;
    trimmed_records_ += begin - extents_[slot].begin;
    extents_[slot].begin = begin;
    tail_.Consumed(slot, begin, evicted);
    Pending trim;
    trim.ticket = last_trim_ticket_ = ++last_ticket_;
    trim.trim = PendingTrim{.where = where, .begin = begin};
    pending_.push_back(std::move(trim));
  }
  work_.notify_one();
  trimmed_.notify_one();
}

double LogImpl::TrimmedShare() const {
  std::uint64_t kept_records = 0;
  for (std::size_t topic = 0; topic < options_.topics.size(); ++topic) {
    if (options_.topics[topic].retention != Retention::kTrimmed) continue;
    for (std::uint32_t p = 0; p < options_.topics[topic].partitions; ++p) {
      const Extent& extent = extents_[first_slots_[topic] + p];
      kept_records += extent.end - extent.begin;
    }
  }
  return static_cast<double>(trimmed_records_) / static_cast<double>(trimmed_records_ + kept_records);
}

void LogImpl::RunReclaimer() {
  std::unique_lock lock(mutex_);
  while (true) {
    trimmed_.wait(lock, [&] { return trimmed_records_ > 0 || stopping_; });
    if (stopping_) return;
    lock.unlock();
    // The size of the trimmed records is unknown without reading them; their share of all records is known.
    const std::uint64_t file_bytes = database_->trimmed_file_bytes();
    lock.lock();
    if (TrimmedShare() * static_cast<double>(file_bytes) < static_cast<double>(options_.write_buffer_bytes)) {
      // Not worth the small files that a reclaim would create, unless no further trims or appends arrive.
      const std::uint64_t seen = trimmed_records_;
      const std::uint64_t ticket_before = last_ticket_;
      const bool more = trimmed_.wait_for(lock, options_.reclaim_idle,
                                          [&] { return trimmed_records_ > seen || stopping_; });
      if (more || last_ticket_ != ticket_before) continue;
    }
    trimmed_records_ = 0;
    reclaiming_ = true;
    lock.unlock();
    // A failed reclaim loses nothing; the next commit reports a disk that cannot be written.
    [[maybe_unused]] const Status ignored = Reclaim();
    lock.lock();
    reclaiming_ = false;
    reclaimed_.notify_all();
  }
}

bool LogImpl::WaitReclaimed(std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  return reclaimed_.wait_for(lock, at_most, [&] { return trimmed_records_ == 0 && !reclaiming_; });
}

Status LogImpl::Reclaim() {
  COBBLESTONE_CHECK(!options_.read_only, "Reclaim() of a log opened read_only");
  const std::scoped_lock one(reclaim_mutex_);
  std::uint64_t ticket = 0;
  {
    const std::scoped_lock lock(mutex_);
    ticket = last_trim_ticket_;
  }
  WaitDurable(ticket);  // pending trims count too
  return database_->Reclaim();
}

void LogImpl::SetListener(std::function<void()> wake) {
  const std::unique_lock lock(listener_mutex_);
  listener_ = std::move(wake);
}

LogCounters LogImpl::counters() const {
  const std::scoped_lock lock(mutex_);
  return counters_;
}

Status LogImpl::VerifyPartition(TopicPartition where,
                                const std::function<void(std::uint64_t)>& progress) const {
  const std::uint64_t end = DurableEnd(where);
  const std::uint64_t begin = Begin(where);
  std::uint64_t next = begin;
  Status damage;
  const Status status = database_->ReadFrom(where, begin, [&](std::uint64_t first, std::string_view stored) {
    if (first >= end) return false;
    if (first < begin) return true;  // the trim is not yet on disk
    const Result<BatchHeader> header = CheckBatch({.where = where, .first = first}, stored);
    if (!header.ok()) {
      damage = header.status();
      return false;
    }
    if (first != next) {
      damage = Status::Corrupted(Name(where) + " of the log in " + options_.path + " has a gap: offsets " +
                                 std::to_string(next) + " to " + std::to_string(first) +
                                 " are missing; restore the log from a copy");
      return false;
    }
    next = header->end();
    progress(stored.size());
    return true;
  });
  if (!status.ok()) return status;
  if (!damage.ok()) return damage;
  if (next >= end || Begin(where) > begin)
    return Status::Ok();  // trimmed meanwhile: a later Verify() checks again
  return Status::Corrupted(Name(where) + " of the log in " + options_.path + " ends at offset " +
                           std::to_string(next) + " on disk, but at " + std::to_string(end) +
                           " by its metadata; restore the log from a copy");
}

Status LogImpl::Verify(const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  std::uint64_t done = 0;
  const std::uint64_t all = disk_bytes();
  for (TopicIndex topic = 0; const TopicSpec& spec : options_.topics) {
    for (std::uint32_t partition = 0; partition < spec.partitions; ++partition) {
      Status status = VerifyPartition({.topic = topic, .partition = partition}, [&](std::uint64_t bytes) {
        done += bytes;
        if (progress) progress(std::min(done, all), all);
      });
      if (!status.ok()) return status;
    }
    ++topic;
  }
  Status status = database_->VerifyFiles();
  if (status.ok() && progress) progress(all, all);
  return status;
}

}  // namespace

Result<std::unique_ptr<Log>> Log::Open(const LogOptions& options) {
  std::vector<std::size_t> first_slots;
  std::size_t slots = 0;
  for (const TopicSpec& topic : options.topics) {
    COBBLESTONE_CHECK(
        !topic.name.empty() && topic.name.find_first_of(" \n") == std::string::npos && topic.partitions > 0,
        "topic '" + topic.name + "' with " + std::to_string(topic.partitions) + " partitions");
    first_slots.push_back(slots);
    slots += topic.partitions;
  }
  auto database = LogDatabase::Open({.path = options.path,
                                     .read_only = options.read_only,
                                     .sync = options.sync,
                                     .accept_loss = options.accept_loss,
                                     .write_buffer_bytes = options.write_buffer_bytes},
                                    options.topics);
  if (!database.ok()) return database.status();
  std::vector<StoredExtent> extents;
  extents.reserve(slots);
  for (TopicIndex topic = 0; const TopicSpec& spec : options.topics) {
    for (std::uint32_t partition = 0; partition < spec.partitions; ++partition) {
      const Result<StoredExtent> extent = (*database)->Extent({.topic = topic, .partition = partition});
      if (!extent.ok()) return extent.status();
      extents.push_back(*extent);
    }
    ++topic;
  }
  return std::unique_ptr<Log>(
      std::make_unique<LogImpl>(options, *std::move(database), std::move(first_slots), extents));
}

}  // namespace cobblestone::stream::embedded
