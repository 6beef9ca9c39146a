#include "common/stream/embedded/log_database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/wal_filter.h>

#include "common/base/check.h"
#include "common/store/rocksdb/rocksdb_status.h"
#include "common/store/rocksdb/silent_logger.h"
#include "common/stream/bytes.h"
#include "common/stream/embedded/batch_format.h"

namespace cobblestone::stream::embedded {

using store::FromRocksdb;
namespace {

namespace fs = std::filesystem;

// Rows of the default column family.
constexpr std::string_view kCommitRow = "c";    // number of the last commit, u64
constexpr std::string_view kEpochRow = "e";     // owner's epoch, u64
constexpr std::string_view kManifestRow = "m";  // the topics, one per line
constexpr char kBeginPrefix = 'b';  // + topic and partition: first offset that is not trimmed, u64
constexpr char kUserPrefix = 'r';   // + the caller's key

// For damage that Open() never accepts.
constexpr std::string_view kRestore =
    "nothing was changed; check the disk and restore the data directory from a copy";

// For damage that LogOptions::accept_loss accepts; the message names the program's option.
std::string Remedy(const LogDatabaseOptions& options) {
  std::string text(kRestore);
  if (!options.accept_loss)
    text +=
        ", or, without a copy, start once with --accept-loss: the readable records are then "
        "kept, and all states that include lost records are rebuilt";
  return text;
}

std::string BeginKey(TopicPartition where) {
  std::string key(1, kBeginPrefix);
  AppendOrdered(key, where.topic);
  AppendOrdered(key, where.partition);
  return key;
}

std::string Number(std::uint64_t value) {
  std::string bytes(sizeof value, '\0');
  StoreNumber(bytes.data(), value);
  return bytes;
}

std::string ManifestText(const std::vector<TopicSpec>& topics) {
  std::string text;
  for (const TopicSpec& topic : topics) {
    text += topic.name + " " + std::to_string(topic.partitions) +
            (topic.retention == Retention::kForever ? " forever\n" : " trimmed\n");
  }
  return text;
}

// The first line in which the two texts differ, from each text.
std::pair<std::string, std::string> FirstDifference(std::string_view a, std::string_view b) {
  while (true) {
    const std::string_view line_a = a.substr(0, a.find('\n'));
    const std::string_view line_b = b.substr(0, b.find('\n'));
    if (line_a != line_b || (a.empty() && b.empty())) return {std::string(line_a), std::string(line_b)};
    a.remove_prefix(std::min(a.size(), line_a.size() + 1));
    b.remove_prefix(std::min(b.size(), line_b.size() + 1));
  }
}

// The number of a commit is the first row of its batch.
class FirstCommit final : public rocksdb::WriteBatch::Handler {
 public:
  rocksdb::Status PutCF(std::uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    seen_ = true;
    if (family == 0 && std::string_view(key.data(), key.size()) == kCommitRow && value.size() == 8) {
      commit_ = LoadNumber<std::uint64_t>(value.data());
    }
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteRangeCF(std::uint32_t, const rocksdb::Slice&, const rocksdb::Slice&) override {
    seen_ = true;
    return rocksdb::Status::OK();
  }
  bool Continue() override { return !seen_; }
  [[nodiscard]] std::optional<std::uint64_t> commit() const { return commit_; }

 private:
  bool seen_ = false;
  std::optional<std::uint64_t> commit_;
};

// Sees every commit that recovery reads from the write-ahead log, and stops recovery at a gap: recovery
// accepts an incomplete last record in each of several files, and would continue with the next file.
class CommitsWithoutGap final : public rocksdb::WalFilter {
 public:
  WalProcessingOption LogRecordFound(unsigned long long /*file*/, const std::string& /*name*/,
                                     const rocksdb::WriteBatch& batch, rocksdb::WriteBatch* /*changed*/,
                                     bool* /*was_changed*/) override {
    FirstCommit first;
    if (!batch.Iterate(&first).ok()) return WalProcessingOption::kCorruptedRecord;
    if (!first.commit()) return WalProcessingOption::kContinueProcessing;
    if (last_ && *first.commit() != *last_ + 1) {
      gap_ = "commit " + std::to_string(*last_) + " is followed by commit " + std::to_string(*first.commit());
      return WalProcessingOption::kCorruptedRecord;
    }
    last_ = first.commit();
    if (!first_) first_ = last_;
    return WalProcessingOption::kContinueProcessing;
  }
  [[nodiscard]] const char* Name() const override { return "cobblestone.commits_without_gap"; }
  [[nodiscard]] const std::string& gap() const { return gap_; }
  [[nodiscard]] std::optional<std::uint64_t> first() const { return first_; }

 private:
  std::optional<std::uint64_t> first_;
  std::optional<std::uint64_t> last_;
  std::string gap_;
};

// Stores in each file of rows the number of the last commit that it contains, so that Open() can check
// whether the write-ahead log continues from there: its first file may have been lost.
class CommitOfFile final : public rocksdb::TablePropertiesCollector {
 public:
  static constexpr const char* kProperty = "cobblestone.commit";

  rocksdb::Status AddUserKey(const rocksdb::Slice& key, const rocksdb::Slice& value, rocksdb::EntryType type,
                             rocksdb::SequenceNumber /*sequence*/, std::uint64_t /*file_size*/) override {
    if (type == rocksdb::kEntryPut && std::string_view(key.data(), key.size()) == kCommitRow &&
        value.size() == 8) {
      commit_ = std::max(commit_, LoadNumber<std::uint64_t>(value.data()));
    }
    return rocksdb::Status::OK();
  }
  rocksdb::Status Finish(rocksdb::UserCollectedProperties* properties) override {
    (*properties)[kProperty] = Number(commit_);
    return rocksdb::Status::OK();
  }
  [[nodiscard]] rocksdb::UserCollectedProperties GetReadableProperties() const override {
    return {{kProperty, std::to_string(commit_)}};
  }
  [[nodiscard]] const char* Name() const override { return kProperty; }

 private:
  std::uint64_t commit_ = 0;
};

class CommitOfFileFactory final : public rocksdb::TablePropertiesCollectorFactory {
 public:
  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(Context /*context*/) override {
    return new CommitOfFile;
  }
  [[nodiscard]] const char* Name() const override { return CommitOfFile::kProperty; }
};

rocksdb::ColumnFamilyOptions BatchFamily(std::uint64_t write_buffer_bytes,
                                         const std::shared_ptr<rocksdb::TableFactory>& table) {
  rocksdb::ColumnFamilyOptions family;
  family.table_factory = table;
  family.compression = rocksdb::kNoCompression;  // batches are already compressed
  family.write_buffer_size = write_buffer_bytes / 2;
  family.max_write_buffer_number = 4;
  family.enable_blob_files = true;
  family.min_blob_size = 0;
  family.blob_file_size = 1u << 30;               // one blob file per flush
  family.enable_blob_garbage_collection = false;  // only when Reclaim() requests it
  return family;
}

std::vector<rocksdb::ColumnFamilyDescriptor> Families(std::uint64_t write_buffer_bytes) {
  rocksdb::BlockBasedTableOptions table_options;
  table_options.block_cache = rocksdb::NewLRUCache(8u << 20);
  const std::shared_ptr<rocksdb::TableFactory> table(rocksdb::NewBlockBasedTableFactory(table_options));
  rocksdb::ColumnFamilyOptions rows;
  rows.table_factory = table;
  rows.compression = rocksdb::kNoCompression;
  rows.write_buffer_size = 16u << 20;
  rows.table_properties_collector_factories.push_back(std::make_shared<CommitOfFileFactory>());
  return {{rocksdb::kDefaultColumnFamilyName, rows},
          {"trimmed", BatchFamily(write_buffer_bytes, table)},
          {"forever", BatchFamily(write_buffer_bytes, table)}};
}

// Names and sizes of the files of a directory.
std::map<std::string, std::uint64_t> FilesOf(const std::string& path) {
  std::map<std::string, std::uint64_t> files;
  std::error_code error;
  for (auto it = fs::directory_iterator(path, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    std::error_code missing;
    files[it->path().filename()] = it->file_size(missing);
  }
  return files;
}

// Recovery flushes the records it has read when they fill a write buffer. A refused open then leaves files
// that no manifest contains: one more set at each attempt of a service manager. As long as the manifests are
// unchanged, every file that did not exist `before` is such a file and is removed.
void RemoveWhatRefusedOpenMade(const std::string& path, const std::map<std::string, std::uint64_t>& before) {
  const std::map<std::string, std::uint64_t> after = FilesOf(path);
  for (const auto& [name, size] : before) {
    const bool list = name == "CURRENT" || name.starts_with("MANIFEST");
    const auto now = after.find(name);
    if (list && (now == after.end() || now->second != size)) return;
  }
  for (const auto& [name, size] : after) {
    std::error_code stays;  // ignored: the next successful open removes the file
    if (before.count(name) == 0) fs::remove(path + "/" + name, stays);
  }
}

rocksdb::DBOptions CommonOptions(std::uint64_t write_buffer_bytes) {
  rocksdb::DBOptions db;
  // No request waits for a compaction or, while another write buffer is free, for a flush; requests do wait
  // for results.
  for (const auto pool : {rocksdb::Env::LOW, rocksdb::Env::HIGH})
    (void)db.env->LowerThreadPoolCPUPriority(pool, rocksdb::CpuPriority::kLow);
  db.info_log = std::make_shared<store::SilentLogger>();
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  db.track_and_verify_wals_in_manifest = true;
  // Limits the bytes that an open may have to read again, and so its duration.
  db.max_total_wal_size = write_buffer_bytes;
  // An open that is refused for lack of evidence must leave the write-ahead log unchanged.
  db.avoid_flush_during_recovery = true;
  db.skip_stats_update_on_db_open = true;
  db.max_open_files = 256;           // blob files are many and rarely read
  db.advise_random_on_open = false;  // readers read sequentially from an offset
  db.bytes_per_sync = 1u << 20;      // a flush must not leave many unsynced bytes to the next commit's sync
  db.max_background_jobs = 2;
  db.max_bgerror_resume_count = 0;  // a failed write ends the process, see log.h
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  return db;
}

}  // namespace

LogDatabase::LogDatabase(LogDatabaseOptions options, const std::vector<TopicSpec>& topics)
    : options_(std::move(options)), topics_(topics), db_path_(options_.path + "/db") {}

LogDatabase::~LogDatabase() {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    // Destroying a handle fails only if the handle belongs to another database.
    [[maybe_unused]] const rocksdb::Status ignored = db_->DestroyColumnFamilyHandle(family);
  }
  // A failed close loses nothing: acknowledged data is already in the write-ahead log.
  [[maybe_unused]] const rocksdb::Status closed = db_->Close();
}

Result<std::unique_ptr<LogDatabase>> LogDatabase::Open(const LogDatabaseOptions& options,
                                                       const std::vector<TopicSpec>& topics) {
  std::unique_ptr<LogDatabase> self(new LogDatabase(options, topics));
  for (const auto step : {&LogDatabase::Prepare, &LogDatabase::OpenFiles, &LogDatabase::CheckAcknowledged,
                          &LogDatabase::CheckManifest, &LogDatabase::Claim}) {
    if (Status status = (self.get()->*step)(); !status.ok()) return status;
  }
  return self;
}

// All checks that do not need RocksDB, which changes files when it opens them.
Status LogDatabase::Prepare() {
  std::error_code error;
  if (options_.read_only) {
    if (Status status = LockFile::CheckFree(options_.path + "/LOCK"); !status.ok()) return status;
  } else {
    fs::create_directories(options_.path, error);
    if (error) {
      return Status::Unwritten(error.value(), "cannot create the directory " + options_.path + ": " +
                                                  error.message() +
                                                  "; create the directory, or use another one");
    }
    Result<LockFile> lock = LockFile::Take(options_.path + "/LOCK");
    if (!lock.ok()) return lock.status();
    lock_ = *std::move(lock);
  }

  const Result<AcknowledgedMark> mark = AcknowledgedFile::Read(options_.path + "/acknowledged");
  if (mark.ok()) {
    acknowledged_before_ = *mark;
  } else if (mark.status().code() != StatusCode::kNotFound && !options_.accept_loss) {
    return Status(mark.status().code(), mark.status().message() + "; " + Remedy(options_));
  }

  std::vector<fs::path> wal_files;
  bool has_current = false;
  bool has_data = false;
  for (auto it = fs::directory_iterator(db_path_, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const fs::path& path = it->path();
    has_current = has_current || path.filename() == "CURRENT";
    has_data = has_data || path.extension() == ".sst" || path.extension() == ".blob";
    if (path.extension() == ".log") wal_files.push_back(path);
  }
  if (!has_current) {
    if (acknowledged_before_ || has_data) {
      return Status::Corrupted("the log in " + options_.path + " is damaged: the file " + db_path_ +
                               "/CURRENT is missing; " + std::string(kRestore));
    }
    if (options_.read_only) return Status::NotFound("no log in " + options_.path);
    fs::remove_all(db_path_, error);  // left by a process that crashed while it created a new log
    return Status::Ok();
  }

  for (const fs::path& path : wal_files) {
    if (acknowledged_before_ && !options_.accept_loss &&
        std::strtoull(path.stem().c_str(), nullptr, 10) == acknowledged_before_->wal_file) {
      const std::uint64_t size = fs::file_size(path, error);
      if (!error && size < acknowledged_before_->wal_bytes) {
        return Status::Corrupted("the log in " + options_.path + " has lost its end: " + path.string() +
                                 " has " + std::to_string(size) + " bytes, but " +
                                 std::to_string(acknowledged_before_->wal_bytes) + " were acknowledged; " +
                                 Remedy(options_));
      }
    }
    if (options_.read_only) continue;
    // The previous owner may have been killed between writing and syncing. The data found now counts as
    // durable from here on, so it must be synced.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool synced = fd >= 0 && ::fdatasync(fd) == 0;
    const int why = errno;
    if (fd >= 0) ::close(fd);
    if (!synced) {
      return Status::Unwritten(
          why, "cannot sync " + path.string() + ": " + std::strerror(why) + "; check the disk");
    }
  }
  return Status::Ok();
}

Status LogDatabase::OpenFiles() {
  rocksdb::DBOptions db_options = CommonOptions(options_.write_buffer_bytes);
  CommitsWithoutGap commits;
  db_options.wal_filter = &commits;
  if (options_.accept_loss) {
    db_options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
    db_options.avoid_flush_during_recovery = false;  // the next open must not meet the damage again
  }
  // A log that has acknowledged a commit has all its column families: a missing one is damage and must not be
  // created.
  const bool may_be_new = !acknowledged_before_ && !options_.read_only;
  db_options.create_if_missing = may_be_new;
  // Nothing reads the options file, and its error does not name a cause.
  db_options.fail_if_options_file_error = false;
  db_options.create_missing_column_families = may_be_new;

  const std::map<std::string, std::uint64_t> files_before = FilesOf(db_path_);
  rocksdb::DB* db = nullptr;
  const auto families = Families(options_.write_buffer_bytes);
  const rocksdb::Status status =
      options_.read_only ? rocksdb::DB::OpenForReadOnly(db_options, db_path_, families, &families_, &db)
                         : rocksdb::DB::Open(db_options, db_path_, families, &families_, &db);
  if (!status.ok() && acknowledged_before_ && !options_.read_only)
    RemoveWhatRefusedOpenMade(db_path_, files_before);
  if (!commits.gap().empty() && !status.ok()) {
    return Status::Corrupted(doing("opening") + " failed: the write-ahead log has a gap, " + commits.gap() +
                             "; " + Remedy(options_));
  }
  if (!status.ok()) {
    Status ours = FromRocksdb(status, doing("opening"));
    if (ours.code() != StatusCode::kCorrupted) return ours;
    return Status::Corrupted(doing("opening") + " failed, files of the log are damaged: " +
                             status.ToString() + "; " + Remedy(options_));
  }
  db_.reset(db);
  if (commits.first() && !options_.accept_loss) {
    if (Status start = CheckWalStart(*commits.first()); !start.ok()) return start;
  }
  return CheckBlobFiles();
}

Status LogDatabase::CheckWalStart(std::uint64_t first_commit) const {
  rocksdb::TablePropertiesCollection tables;
  if (const rocksdb::Status status = db_->GetPropertiesOfAllTables(rows(), &tables); !status.ok()) {
    return FromRocksdb(status, doing("opening"));
  }
  std::uint64_t flushed = 0;
  for (const auto& [file, properties] : tables) {
    const auto commit = properties->user_collected_properties.find(CommitOfFile::kProperty);
    if (commit != properties->user_collected_properties.end() && commit->second.size() == 8) {
      flushed = std::max(flushed, LoadNumber<std::uint64_t>(commit->second.data()));
    }
  }
  if (first_commit <= flushed + 1) return Status::Ok();
  return Status::Corrupted(doing("opening") + " failed: the files end at commit " + std::to_string(flushed) +
                           ", but the write-ahead log starts with commit " + std::to_string(first_commit) +
                           ": a file of the write-ahead log is missing; " + Remedy(options_));
}

// RocksDB opens a blob file only when reading from it; a missing file must stop Open().
Status LogDatabase::CheckBlobFiles() const {
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    rocksdb::ColumnFamilyMetaData meta;
    db_->GetColumnFamilyMetaData(family, &meta);
    for (const rocksdb::BlobMetaData& blob : meta.blob_files) {
      const std::string path = db_path_ + "/" + blob.blob_file_name;
      std::error_code error;
      const std::uint64_t size = fs::file_size(path, error);
      if (!error && size == blob.blob_file_size) continue;
      return Status::Corrupted("the log in " + options_.path + " is damaged: " + path +
                               (error ? " is missing"
                                      : " has " + std::to_string(size) + " bytes instead of " +
                                            std::to_string(blob.blob_file_size)) +
                               "; " + std::string(kRestore));
    }
  }
  return Status::Ok();
}

Status LogDatabase::LoadCommit() {
  const auto row = Lookup(kCommitRow);
  if (!row.ok()) return row.status();
  commit_ = row->has_value() ? LoadNumber<std::uint64_t>((*row)->data()) : 0;
  return Status::Ok();
}

Status LogDatabase::CheckAcknowledged() {
  if (Status status = LoadCommit(); !status.ok()) return status;
  if (options_.accept_loss) return Status::Ok();
  if (!acknowledged_before_) {
    // The first commit creates the log, and the file `acknowledged` is written after it.
    if (commit_ <= 1) return Status::Ok();
    return Status::Corrupted("the log in " + options_.path +
                             " is damaged: the file `acknowledged` is missing; " + Remedy(options_));
  }
  if (commit_ >= acknowledged_before_->commit) return Status::Ok();
  return Status::Corrupted("the log in " + options_.path + " has lost its end: the log ends at commit " +
                           std::to_string(commit_) + ", but commit " +
                           std::to_string(acknowledged_before_->commit) + " was acknowledged; " +
                           Remedy(options_));
}

Status LogDatabase::CheckManifest() {
  const auto row = Lookup(kManifestRow);
  if (!row.ok()) return row.status();
  if (!row->has_value()) {
    if (options_.read_only) return Status::NotFound("no log in " + options_.path);
    if (commit_ == 0) return Status::Ok();  // new log: Claim() writes the row
    return Status::Corrupted("the log in " + options_.path + " has no list of topics; " +
                             std::string(kRestore));
  }
  const std::string asked = ManifestText(topics_);
  if (**row == asked) return Status::Ok();
  const auto [there, wanted] = FirstDifference(**row, asked);
  return Status::InvalidArgument(
      "the log in " + options_.path +
      " was created for other topics (name, partitions, retention): the log has '" + there +
      "', but this configuration has '" + wanted + "'; use the original configuration, or another directory");
}

Status LogDatabase::Claim() {
  const auto row = Lookup(kEpochRow);
  if (!row.ok()) return row.status();
  owner_epoch_ = row->has_value() ? LoadNumber<std::uint64_t>((*row)->data()) : 0;
  if (options_.read_only) return Status::Ok();
  ++owner_epoch_;
  rocksdb::WriteBatch batch;
  BeginCommit(batch);
  batch.Put(rows(), rocksdb::Slice(kEpochRow.data(), kEpochRow.size()), Number(owner_epoch_));
  batch.Put(rows(), rocksdb::Slice(kManifestRow.data(), kManifestRow.size()), ManifestText(topics_));
  if (const rocksdb::Status status = Write(batch, true); !status.ok()) {
    return FromRocksdb(status, doing("writing the owner's epoch to"));
  }
  Result<AcknowledgedFile> file =
      AcknowledgedFile::Start(options_.path + "/acknowledged", {.commit = commit_});
  if (!file.ok()) return file.status();
  acknowledged_ = *std::move(file);
  return Status::Ok();
}

rocksdb::ColumnFamilyHandle* LogDatabase::FamilyOf(TopicIndex topic) const {
  return topics_[topic].retention == Retention::kForever ? families_[2] : families_[1];
}

void LogDatabase::BeginCommit(rocksdb::WriteBatch& batch) {
  batch.Clear();
  // Must be the first row: recovery reads no further (CommitsWithoutGap).
  batch.Put(rows(), rocksdb::Slice(kCommitRow.data(), kCommitRow.size()), Number(commit_ + 1));
}

void LogDatabase::PutBatch(rocksdb::WriteBatch& batch, TopicPartition where, std::uint64_t first,
                           std::string_view stored) const {
  batch.Put(FamilyOf(where.topic), BatchKey(where, first), rocksdb::Slice(stored.data(), stored.size()));
}

void LogDatabase::PutRow(rocksdb::WriteBatch& batch, std::string_view key, std::string_view value) const {
  batch.Put(rows(), std::string(1, kUserPrefix).append(key), rocksdb::Slice(value.data(), value.size()));
}

void LogDatabase::TrimTo(rocksdb::WriteBatch& batch, TopicPartition where, std::uint64_t begin) const {
  batch.DeleteRange(FamilyOf(where.topic), BatchKey(where, 0), BatchKey(where, begin));
  batch.Put(rows(), BeginKey(where), Number(begin));
}

rocksdb::Status LogDatabase::Write(rocksdb::WriteBatch& batch, bool sync) {
  rocksdb::WriteOptions options;
  options.sync = sync && options_.sync;
  rocksdb::Status status = db_->Write(options, &batch);
  if (status.ok()) ++commit_;
  return status;
}

Status LogDatabase::Acknowledge() {
  if (!options_.sync) return Status::Ok();  // without sync nothing is proven durable
  AcknowledgedMark mark{.commit = commit_};
  std::unique_ptr<rocksdb::LogFile> wal;
  // A flush may have started a new file since the write: the mark then proves less, but is still true.
  if (db_->GetCurrentWalFile(&wal).ok() && wal != nullptr) {
    mark.wal_file = wal->LogNumber();
    mark.wal_bytes = wal->SizeFileBytes();
  }
  return acknowledged_->Write(mark);
}

Result<StoredExtent> LogDatabase::Extent(TopicPartition where) const {
  const auto row = Lookup(BeginKey(where));
  if (!row.ok()) return row.status();
  StoredExtent extent;
  if (row->has_value()) extent.begin = LoadNumber<std::uint64_t>((*row)->data());
  extent.end = extent.begin;
  Status damage;
  const Status status = ReadFrom(where, UINT64_MAX, [&](std::uint64_t first, std::string_view stored) {
    const Result<BatchHeader> header = ReadBatchHeader({.where = where, .first = first}, stored);
    if (header.ok()) {
      extent.end = std::max(extent.end, header->end());
      extent.append_time = header->append_time;
    } else {
      damage = header.status();
    }
    return false;
  });
  if (!status.ok()) return status;
  if (!damage.ok()) return damage;
  return extent;
}

Status LogDatabase::ReadFrom(TopicPartition where, std::uint64_t offset,
                             const std::function<bool(std::uint64_t, std::string_view)>& visit) const {
  // Bounds: without them, a step beyond the partition would read a blob of the next partition for nothing.
  const std::string lower = BatchKey(where, 0);
  const std::string upper = BatchKey(where, UINT64_MAX);
  const rocksdb::Slice lower_bound(lower);
  const rocksdb::Slice upper_bound(upper);
  rocksdb::ReadOptions options;
  options.iterate_lower_bound = &lower_bound;
  options.iterate_upper_bound = &upper_bound;
  options.fill_cache = true;
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options, FamilyOf(where.topic)));
  for (it->SeekForPrev(BatchKey(where, offset)); it->Valid(); it->Next()) {
    const auto place = ParseBatchKey({it->key().data(), it->key().size()});
    COBBLESTONE_CHECK(place && place->where == where, "a key outside the bounds of its partition");
    if (!visit(place->first, {it->value().data(), it->value().size()})) return Status::Ok();
  }
  return FromRocksdb(it->status(), doing("reading"));
}

Result<std::optional<std::string>> LogDatabase::Lookup(std::string_view key) const {
  std::string value;
  const rocksdb::Status status =
      db_->Get(rocksdb::ReadOptions(), rows(), rocksdb::Slice(key.data(), key.size()), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return FromRocksdb(status, doing("reading"));
  return std::optional<std::string>(std::move(value));
}

Result<std::string> LogDatabase::GetRow(std::string_view key) const {
  auto row = Lookup(std::string(1, kUserPrefix).append(key));
  if (!row.ok()) return row.status();
  if (!row->has_value()) return Status::NotFound("the log has no row '" + std::string(key) + "'");
  return **std::move(row);
}

std::unique_ptr<rocksdb::Iterator> LogDatabase::RowIterator() const {
  return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(rocksdb::ReadOptions(), rows()));
}

std::string_view LogDatabase::RowKeyOf(const rocksdb::Iterator& it) {
  return {it.key().data() + 1, it.key().size() - 1};
}

void LogDatabase::SeekRow(rocksdb::Iterator& it, std::string_view key) {
  it.Seek(std::string(1, kUserPrefix).append(key));
}

bool LogDatabase::AtRow(const rocksdb::Iterator& it) { return it.Valid() && it.key()[0] == kUserPrefix; }

Status LogDatabase::Reclaim() {
  // Batches that were trimmed before any flush are only in the write-ahead log, which is deleted once all
  // families are flushed.
  if (const rocksdb::Status flushed = db_->Flush(rocksdb::FlushOptions(), families_); !flushed.ok()) {
    return FromRocksdb(flushed, doing("reclaiming space of"));
  }
  rocksdb::ColumnFamilyHandle* const family = families_[1];
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  options.blob_garbage_collection_policy = rocksdb::BlobGarbageCollectionPolicy::kDisable;
  rocksdb::Status status = db_->CompactRange(options, family, nullptr, nullptr);

  // A slow partition keeps files that are mostly garbage. If the oldest files together are half garbage,
  // their live batches move to a new file: at most one byte is written for each byte freed.
  rocksdb::ColumnFamilyMetaData meta;
  db_->GetColumnFamilyMetaData(family, &meta);
  std::sort(meta.blob_files.begin(), meta.blob_files.end(),
            [](const auto& a, const auto& b) { return a.blob_file_number < b.blob_file_number; });
  std::uint64_t all = 0;
  std::uint64_t garbage = 0;
  std::size_t oldest = 0;
  for (std::size_t i = 0; i < meta.blob_files.size(); ++i) {
    all += meta.blob_files[i].total_blob_bytes;
    garbage += meta.blob_files[i].garbage_blob_bytes;
    if (2 * garbage >= all && garbage >= options_.write_buffer_bytes / 2) oldest = i + 1;
  }
  if (status.ok() && oldest > 0) {
    options.blob_garbage_collection_policy = rocksdb::BlobGarbageCollectionPolicy::kForce;
    options.blob_garbage_collection_age_cutoff =
        std::min(1.0, (static_cast<double>(oldest) + 0.5) / static_cast<double>(meta.blob_files.size()));
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    status = db_->CompactRange(options, family, nullptr, nullptr);
  }
  if (status.IsIncomplete()) return Status::Ok();  // stopped: the next Reclaim() continues
  if (!status.ok()) return FromRocksdb(status, doing("reclaiming space of"));
  return DeleteObsoleteFiles();
}

// A flush or a compaction may return while a background thread still deletes the files that it replaced. With deletions
// disabled, the list of write-ahead logs is made behind the last of these; and enabling them deletes what is left.
Status LogDatabase::DeleteObsoleteFiles() {
  const std::scoped_lock files(files_mutex_);
  rocksdb::Status status = db_->DisableFileDeletions();
  if (!status.ok()) return FromRocksdb(status, doing("reclaiming space of"));
  rocksdb::VectorLogPtr ignored;
  status = db_->GetSortedWalFiles(ignored);
  const rocksdb::Status enabled = db_->EnableFileDeletions();
  return FromRocksdb(status.ok() ? enabled : status, doing("reclaiming space of"));
}

void LogDatabase::StopReclaim() { db_->DisableManualCompaction(); }

Status LogDatabase::VerifyFiles() const {
  if (const rocksdb::Status status = db_->VerifyChecksum(); !status.ok()) {
    return FromRocksdb(status, doing("verifying"));
  }
  // Reads everything that an open reads, through a second instance. No file may be deleted meanwhile.
  const std::scoped_lock files(files_mutex_);
  const std::uint64_t commit = commit_;
  const bool owner = !options_.read_only;
  if (owner) {
    if (const rocksdb::Status status = db_->DisableFileDeletions(); !status.ok()) {
      return FromRocksdb(status, doing("verifying"));
    }
  }
  LogDatabaseOptions options = options_;
  options.read_only = true;
  LogDatabase second(options, topics_);
  Status status = second.OpenFiles();
  if (status.ok()) status = second.LoadCommit();
  if (owner) {
    // Fails only if deletions were not disabled.
    [[maybe_unused]] const rocksdb::Status ignored = db_->EnableFileDeletions();
  }
  if (status.ok() && second.last_commit() < commit) {
    return Status::Corrupted(doing("verifying") + ": the files end at commit " +
                             std::to_string(second.last_commit()) + " of " + std::to_string(commit) + "; " +
                             Remedy(options_));
  }
  if (!status.ok()) return status;
  const Result<AcknowledgedMark> mark = AcknowledgedFile::Read(options_.path + "/acknowledged");
  return mark.ok() ? Status::Ok() : Status::Corrupted(mark.status().message());
}

Status LogDatabase::Checkpoint(const std::string& path) const {
  std::error_code error;
  if (!fs::create_directory(path, error)) {
    const std::string why = error ? error.message() : "it exists already";
    return error ? Status::Unwritten(error.value(), "cannot make " + path + ": " + why)
                 : Status::InvalidArgument("cannot make " + path + ": " + why);
  }
  // Read before the copy is made, so that the copy has every record that the mark counts.
  const Result<AcknowledgedMark> mark = AcknowledgedFile::Read(options_.path + "/acknowledged");
  if (!mark.ok()) return mark.status();
  const std::scoped_lock files(files_mutex_);
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  // Without a flush: the write-ahead log is copied, which is at most a write buffer.
  constexpr std::uint64_t kNeverFlush = UINT64_MAX;
  if (status.ok()) status = checkpoint->CreateCheckpoint(path + "/db", kNeverFlush);
  if (!status.ok()) return FromRocksdb(status, doing("copying"));
  return AcknowledgedFile::Start(path + "/acknowledged", *mark).status();
}

std::uint64_t LogDatabase::disk_bytes() const {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (auto it = fs::directory_iterator(db_path_, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    std::error_code missing;  // files may be created or deleted meanwhile
    const std::uint64_t size = it->file_size(missing);
    if (!missing) bytes += size;
  }
  return bytes;
}

std::uint64_t LogDatabase::trimmed_file_bytes() const {
  rocksdb::ColumnFamilyMetaData meta;
  db_->GetColumnFamilyMetaData(families_[1], &meta);
  std::uint64_t bytes = 0;
  for (const rocksdb::BlobMetaData& blob : meta.blob_files) bytes += blob.total_blob_bytes;
  return bytes;
}

}  // namespace cobblestone::stream::embedded
