// The RocksDB under the log: three column families behind one write-ahead log.
//
//   default   small rows: the manifest of topics, the owner's epoch, the number of the last commit, the first
//             offset of each trimmed partition, the caller's rows
//   trimmed   batches of topics that are trimmed
//   forever   batches of topics that are kept forever
//
// Batches are blobs: a flush writes them once into a blob file and leaves a key of a few dozen bytes in the
// tree, so a compaction never rewrites the ledger. A trim deletes a range of keys; RocksDB deletes a blob
// file once all its batches are gone. Measured (tests/bench/log_bench.cc): every stored byte is written
// twice, to the write-ahead log and to the blob file, whatever the age of the log.
//
// Recovery: mode kTolerateCorruptedTailRecords, which stops at a damaged record and drops an incomplete last
// one. (RocksDB's default, kPointInTimeRecovery, silently drops everything after a damaged record.) Three
// checks catch the remaining damage: RocksDB's manifest has the length of each closed write-ahead file; each
// commit has a number, and a gap in the numbers stops the recovery; the file `acknowledged` (acknowledged.h)
// has the acknowledged length of the log.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "common/base/status.h"
#include "common/stream/embedded/acknowledged.h"
#include "common/stream/embedded/lock_file.h"
#include "common/stream/record.h"

namespace cobblestone::stream::embedded {

struct LogDatabaseOptions {
  std::string path;
  bool read_only = false;
  bool sync = true;
  bool accept_loss = false;
  std::uint64_t write_buffer_bytes = 0;
};

// The stored range of a partition.
struct StoredExtent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  double append_time = 0;  // of the last batch, UNIX s; 0: no batch
};

class LogDatabase {
 public:
  // Statuses as Log::Open(). Takes the lock unless read_only.
  static Result<std::unique_ptr<LogDatabase>> Open(const LogDatabaseOptions& options,
                                                   const std::vector<TopicSpec>& topics);
  ~LogDatabase();
  LogDatabase(const LogDatabase&) = delete;
  LogDatabase& operator=(const LogDatabase&) = delete;

  [[nodiscard]] std::uint64_t owner_epoch() const { return owner_epoch_; }
  [[nodiscard]] std::uint64_t last_commit() const { return commit_; }

  // Builds a commit. Every commit starts with BeginCommit(), which numbers it.
  void BeginCommit(rocksdb::WriteBatch& batch);
  void PutBatch(rocksdb::WriteBatch& batch, TopicPartition where, std::uint64_t first,
                std::string_view stored) const;
  void PutRow(rocksdb::WriteBatch& batch, std::string_view key, std::string_view value) const;
  void TrimTo(rocksdb::WriteBatch& batch, TopicPartition where, std::uint64_t begin) const;

  // One thread at a time (the committer). Atomic; durable on return if both `sync` and
  // LogDatabaseOptions::sync are true.
  rocksdb::Status Write(rocksdb::WriteBatch& batch, bool sync);
  // Call after a synced Write(), before the write is acknowledged.
  Status Acknowledge();

  // Any thread from here on.
  [[nodiscard]] Result<StoredExtent> Extent(TopicPartition where) const;
  // Visits the stored batch that contains `offset` and then the later ones, until `visit` returns false.
  // Nothing is visited when there is no batch at or before `offset`.
  Status ReadFrom(TopicPartition where, std::uint64_t offset,
                  const std::function<bool(std::uint64_t first, std::string_view stored)>& visit) const;
  [[nodiscard]] Result<std::string> GetRow(std::string_view key) const;  // kNotFound
  // Rows as of the call, ascending.
  std::unique_ptr<rocksdb::Iterator> RowIterator() const;
  static std::string_view RowKeyOf(const rocksdb::Iterator& it);
  static void SeekRow(rocksdb::Iterator& it, std::string_view key);
  static bool AtRow(const rocksdb::Iterator& it);

  // Returns the space of trimmed batches to the file system: on return it is free. Takes long; one thread at a time.
  Status Reclaim();
  // Makes a running Reclaim() return early and every later one at once.
  void StopReclaim();

  // Checks the files that Log::Verify() does not cover by reading batches: the tree's files, the lists of files, the
  // write-ahead log.
  Status VerifyFiles() const;

  // See Log::Checkpoint().
  Status Checkpoint(const std::string& path) const;

  [[nodiscard]] std::uint64_t disk_bytes() const;
  // Bytes of trimmed topics in files, including those not yet reclaimed.
  [[nodiscard]] std::uint64_t trimmed_file_bytes() const;
  [[nodiscard]] std::string doing(const std::string& verb) const {
    return verb + " the log in " + options_.path;
  }

 private:
  LogDatabase(LogDatabaseOptions options, const std::vector<TopicSpec>& topics);

  Status Prepare();
  Status OpenFiles();
  Status CheckWalStart(std::uint64_t first_commit) const;
  Status CheckBlobFiles() const;
  Status CheckAcknowledged();
  Status CheckManifest();
  Status Claim();
  Status LoadCommit();
  // On return no file is on disk that the database does not need.
  Status DeleteObsoleteFiles();
  [[nodiscard]] rocksdb::ColumnFamilyHandle* FamilyOf(TopicIndex topic) const;
  [[nodiscard]] rocksdb::ColumnFamilyHandle* rows() const { return families_[0]; }
  Result<std::optional<std::string>> Lookup(std::string_view key) const;

  LogDatabaseOptions options_;
  std::vector<TopicSpec> topics_;
  std::string db_path_;
  std::optional<LockFile> lock_;
  std::optional<AcknowledgedMark> acknowledged_before_;
  std::optional<AcknowledgedFile> acknowledged_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;  // default, trimmed, forever
  std::uint64_t owner_epoch_ = 0;
  std::atomic<std::uint64_t> commit_ = 0;  // written by the committer; VerifyFiles() reads it
  // Held while no file may be deleted. RocksDB before 9 allows deletions again when the first of several
  // holders ends.
  mutable std::mutex files_mutex_;
};

}  // namespace cobblestone::stream::embedded
