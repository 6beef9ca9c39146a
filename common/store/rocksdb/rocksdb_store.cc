#include "common/store/rocksdb/rocksdb_store.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#if __has_include(<rocksdb/advanced_cache.h>)  // since 7.10: declares the functions of a Cache
#include <rocksdb/advanced_cache.h>
#endif
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/universal_compaction.h>
#include <rocksdb/utilities/checkpoint.h>

#define XXH_INLINE_ALL  // keys are short: a call would cost more than the hash
#include <xxhash.h>

#include "common/base/check.h"
#include "common/base/failpoint.h"
#include "common/store/rocksdb/rocksdb_internal.h"
#include "common/store/rocksdb/silent_logger.h"

namespace cobblestone::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChecksumBytes = 4;
constexpr const char* kStagedName = "apply.staged";  // the file that an Apply writes before ingesting it

rocksdb::Slice AsSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view AsView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// The hash covers the key too: a valid value under a wrong key is damage. Only 32 bits are kept: blocks have
// their own checksums; this checksum protects the path from the writer's memory to the reader's.
std::uint32_t ChecksumOf(std::string_view key, std::string_view value) {
  const std::uint64_t of_key = XXH3_64bits(key.data(), key.size());
  const std::uint64_t of_value = XXH3_64bits(value.data(), value.size());
  return static_cast<std::uint32_t>((of_key * 0x9E3779B97F4A7C15u + of_value) >> 16);
}

// False: too short, or the checksum does not match.
bool SplitChecksum(std::string_view key, std::string_view stored, std::string_view* value) {
  if (stored.size() < kChecksumBytes) return false;
  *value = stored.substr(0, stored.size() - kChecksumBytes);
  std::uint32_t sum = 0;
  for (unsigned i = 0; i < kChecksumBytes; ++i) {
    sum |= static_cast<std::uint32_t>(static_cast<unsigned char>(stored[value->size() + i])) << (8 * i);
  }
  return sum == ChecksumOf(key, *value);
}

std::string Printable(std::string_view key) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : key.substr(0, 64)) {
    out += kHex[static_cast<unsigned char>(c) >> 4];
    out += kHex[static_cast<unsigned char>(c) & 15];
  }
  return key.size() > 64 ? out + "..." : out;
}

Status Damaged(const std::string& path, const std::string& what) {
  return Status::Corrupted(
      "state store " + path + " is damaged: " + what +
      ". The state is a cache of the log: check the disk, and remove this directory; the "
      "state is then rebuilt from its checkpoint and the log");
}

// Maps an error to the reaction that it requires. A file that is in the manifest but not on the disk is
// damage.
Status ToStatus(const rocksdb::Status& status, const std::string& path, const std::string& doing) {
  if (status.ok()) return Status::Ok();
  const std::string what = doing + ": " + status.ToString();
  if (status.IsCorruption() || status.IsPathNotFound() || status.IsNotFound()) return Damaged(path, what);
  if (status.IsIOError() && status.ToString().find("No such file") != std::string::npos)
    return Damaged(path, what);
  if (status.IsIOError() && status.ToString().find("LOCK") != std::string::npos) {
    return Status::Fenced("state store " + path + " is open elsewhere: " + what +
                          ". Stop the other process that uses this data directory");
  }
  if (status.IsNoSpace()) {
    return Status::Full("state store " + path + ": the disk is full: " + what +
                        ". Free disk space and start again; committed data is not lost");
  }
  return Status::Fatal("state store " + path + ": " + what +
                       ". Check the disk and its permissions, then start again");
}

Status WrongChecksum(const std::string& path, std::string_view key) {
  return Damaged(path, "the value under key " + Printable(key) + " (hex) is corrupted");
}

Status SyncDirectory(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool ok = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (ok) return Status::Ok();
  return Status::Unwritten(error, "cannot sync directory " + path.string() + ": " + std::strerror(error));
}

// Wakes an Apply that waits for compaction, and lowers the priority of the compaction thread: compaction has
// no deadline, while every commit has one. Nice 5, not 19: a thread without CPU time for minutes would lead
// to kMaxRuns and a long wait.
class BackgroundWatch : public rocksdb::EventListener {
 public:
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    static thread_local bool lowered = false;
    if (std::exchange(lowered, true)) return;
    // A policy may forbid the change: compaction then runs at the usual priority, which is correct but less
    // considerate.
    (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 5);
  }
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override { Wake(); }
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* error) override {
    {
      const std::lock_guard lock(mutex_);
      if (failure_.ok()) failure_ = *error;
    }
    Wake();
  }
  // The reason of the first failed compaction.
  rocksdb::Status Failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  void WaitAtMost(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    const std::uint64_t seen = changes_;
    changed_.wait_for(lock, time, [&] { return changes_ != seen; });
  }

 private:
  void Wake() {
    {
      const std::lock_guard lock(mutex_);
      ++changes_;
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t changes_ = 0;
  rocksdb::Status failure_;
};

bool IsCallersKey(std::string_view key) { return !key.empty() && key != kMetaKey; }

// Reads a database in its current state, or as of a snapshot.
class DatabaseReader {
 public:
  DatabaseReader(std::string path, rocksdb::DB& db, const rocksdb::Snapshot* snapshot)
      : path_(std::move(path)), db_(db), snapshot_(snapshot) {}

  Status Get(std::string_view key, std::string* value) const {
    COBBLESTONE_CHECK(IsCallersKey(key), "reserved key " + Printable(key));
    return GetRow(key, value);
  }

  Status ScanFrom(std::string_view prefix, std::string_view from, const Reader::Visit& visit) const {
    rocksdb::ReadOptions read;
    read.snapshot = snapshot_;
    read.fill_cache = false;  // a scan reads each block once and must not evict blocks that Get needs
    read.readahead_size = 1u << 20;
    std::string end(prefix);  // the first key after all keys that start with `prefix`
    while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
    if (!end.empty()) end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
    const rocksdb::Slice bound(end);
    if (!end.empty()) read.iterate_upper_bound = &bound;
    const std::unique_ptr<rocksdb::Iterator> at(db_.NewIterator(read));
    for (at->Seek(AsSlice(from)); at->Valid(); at->Next()) {
      const std::string_view key = AsView(at->key());
      std::string_view value;
      if (!SplitChecksum(key, AsView(at->value()), &value)) return WrongChecksum(path_, key);
      if (key == kMetaKey) continue;
      if (Status s = visit(key, value); !s.ok()) return s;
    }
    return ToStatus(at->status(), path_, "reading");
  }

  Result<std::string> Meta() const {
    std::string meta;
    if (Status s = GetRow(kMetaKey, &meta); !s.ok()) return s;
    if (meta.empty() || meta.front() != kMetaFormat) {
      return Status::Corrupted(
          "state store " + path_ + " was written in format " +
          std::to_string(meta.empty() ? 0 : static_cast<unsigned char>(meta.front())) +
          ", but this program uses format " + std::to_string(kMetaFormat) +
          ". Run the newer program, or remove this directory to rebuild the state from the log");
    }
    meta.erase(0, 1);
    return meta;
  }

 private:
  Status GetRow(std::string_view key, std::string* value) const {
    rocksdb::PinnableSlice stored;
    rocksdb::ReadOptions read;
    read.snapshot = snapshot_;
    const rocksdb::Status status = db_.Get(read, db_.DefaultColumnFamily(), AsSlice(key), &stored);
    if (status.IsNotFound() && !status.IsPathNotFound()) return Status(StatusCode::kNotFound, {});
    if (!status.ok()) return ToStatus(status, path_, "reading key " + Printable(key));
    std::string_view found;
    if (!SplitChecksum(key, AsView(stored), &found)) return WrongChecksum(path_, key);
    value->assign(found);
    return Status::Ok();
  }

  const std::string path_;
  rocksdb::DB& db_;
  const rocksdb::Snapshot* snapshot_;
};

// Reader of a store without any write.
class NothingYet final : public Reader {
 public:
  Status Get(std::string_view, std::string*) const override { return Status(StatusCode::kNotFound, {}); }
  Status ScanFrom(std::string_view, std::string_view, const Visit&) const override { return Status::Ok(); }
  Result<std::string> Meta() const override { return Status(StatusCode::kNotFound, {}); }
};

// If the last sequence number is 0, the store is open for reading only and does not change.
class RocksdbSnapshot final : public Reader {
 public:
  RocksdbSnapshot(const std::string& path, rocksdb::DB& db)
      : db_(db),
        snapshot_(db.GetLatestSequenceNumber() > 0 ? db.GetSnapshot() : nullptr),
        reader_(path, db, snapshot_) {}
  ~RocksdbSnapshot() override {
    if (snapshot_ != nullptr) db_.ReleaseSnapshot(snapshot_);
  }

  Status Get(std::string_view key, std::string* value) const override { return reader_.Get(key, value); }
  Status ScanFrom(std::string_view prefix, std::string_view from, const Visit& visit) const override {
    return reader_.ScanFrom(prefix, from, visit);
  }
  Result<std::string> Meta() const override { return reader_.Meta(); }

 private:
  rocksdb::DB& db_;
  const rocksdb::Snapshot* snapshot_;
  DatabaseReader reader_;
};

class RocksdbStore final : public Store {
 public:
  RocksdbStore(std::string path, rocksdb::Options options, std::shared_ptr<StoreMemory> memory,
               std::shared_ptr<BackgroundWatch> watch, std::unique_ptr<rocksdb::DB> db, bool read_only)
      : path_(std::move(path)),
        options_(std::move(options)),
        memory_(std::move(memory)),
        watch_(std::move(watch)),
        db_(std::move(db)),
        reader_(path_, *db_, nullptr),
        read_only_(read_only) {}

  ~RocksdbStore() override {
    // An active compaction is cancelled, not awaited: all its input files still exist.
    rocksdb::CancelAllBackgroundWork(db_.get(), /*wait=*/true);
  }

  Status Get(std::string_view key, std::string* value) const override { return reader_.Get(key, value); }
  Status ScanFrom(std::string_view prefix, std::string_view from, const Visit& visit) const override {
    return reader_.ScanFrom(prefix, from, visit);
  }
  Result<std::string> Meta() const override { return reader_.Meta(); }
  std::unique_ptr<const Reader> Snapshot() const override {
    if (NeverNumbered() && !read_only_) return std::make_unique<NothingYet>();
    return std::make_unique<RocksdbSnapshot>(path_, *db_);
  }

  Status Apply(const std::vector<Row>& rows, std::string_view meta) override {
    if (read_only_) return Status::InvalidArgument("state store " + path_ + " was opened for reading only");
    if (Status s = WaitForMerges(); !s.ok()) return s;
    const std::string staged = path_ + "/" + kStagedName;
    rocksdb::Status wrote = WriteTable(staged, rows, meta);
    if (!wrote.ok()) {
      (void)options_.env->DeleteFile(staged);  // Open() removes it as well
      Status status = ToStatus(wrote, path_, "writing " + staged);
      return wrote.IsNoSpace() ? Status::Retry(status.message()) : status;
    }
    Failpoint("S0");

    rocksdb::IngestExternalFileOptions ingest;
    ingest.move_files = true;             // a hard link and an unlink
    ingest.write_global_seqno = false;    // the manifest contains the number; the file keeps its synced bytes
    ingest.allow_blocking_flush = false;  // there is no memtable; if one ever exists, the call fails
    // On return the file, the directory and the manifest are synced (StorePowerLoss tests).
    // A file that overlaps no other gets sequence number 0, and so would a snapshot of it. Under a snapshot
    // with number 0, RocksDB before 9.10 loses keys when it compacts. While a snapshot exists, an ingested
    // file gets its own number; the database is empty, so nothing can be lost meanwhile.
    rocksdb::Status added;
    {
      std::optional<rocksdb::ManagedSnapshot> numbered;
      if (NeverNumbered()) numbered.emplace(db_.get());
      added = db_->IngestExternalFile({staged}, ingest);
    }
    Failpoint("S1");
    return ToStatus(added, path_, "adding " + staged);
  }

  Status Checkpoint(const std::string& path) override {
    std::error_code error;
    if (fs::exists(path, error) || error) {
      return Status::InvalidArgument("checkpoint of " + path_ + ": " + path +
                                     " already exists or is not accessible");
    }
    rocksdb::Checkpoint* made = nullptr;
    rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &made);
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
    if (status.ok()) status = checkpoint->CreateCheckpoint(path);
    if (!status.ok()) return ToStatus(status, path_, "copying to " + path);
    // RocksDB renames the copy into place and syncs it, but does not sync the directory that contains it.
    const fs::path parent = fs::path(path).parent_path();
    return SyncDirectory(parent.empty() ? fs::path(".") : parent);
  }

  // Per file: checks every block, then every value as a reader gets it, including older values that no reader
  // gets any more. Reading each file in its own order costs a fraction of reading all files in merged order.
  Status VerifyBeyond(const std::string& copy) const override {
    if (!read_only_)  // otherwise a compaction could end meanwhile and remove its input files
      if (Status s = ToStatus(db_->DisableFileDeletions(), path_, "verifying"); !s.ok()) return s;
    Status found = Status::Ok();
    std::vector<rocksdb::LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    for (const rocksdb::LiveFileMetaData& file : files)
      if (found.ok() && !IsShared(file, copy)) found = VerifyFile(file.db_path + file.name);
    if (!read_only_)
      if (Status s = ToStatus(db_->EnableFileDeletions(), path_, "verifying"); !s.ok()) return s;
    return found;
  }

  // No row has a sequence number: a snapshot must not be taken.
  bool NeverNumbered() const { return db_->GetLatestSequenceNumber() == 0; }

  std::uint64_t disk_bytes() const override {
    std::uint64_t bytes = 0;
    (void)db_->GetIntProperty(rocksdb::DB::Properties::kTotalSstFilesSize,
                              &bytes);  // known for every database
    return bytes;
  }

 private:
  rocksdb::Status WriteTable(const std::string& staged, const std::vector<Row>& rows, std::string_view meta) {
    // Dropping written pages from the page cache (RocksDB's default) would make the next compaction read them
    // from the disk.
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(options_), options_, db_->DefaultColumnFamily(),
                                  /*invalidate_page_cache=*/false);
    rocksdb::Status status = writer.Open(staged);
    if (!status.ok()) return status;
    std::string& value = value_buffer_;
    value.assign(1, kMetaFormat).append(meta);
    AppendChecksum(kMetaKey, &value);
    status = writer.Put(AsSlice(kMetaKey), value);
    for (const Row& row : rows) {
      if (!status.ok()) break;
      COBBLESTONE_CHECK(IsCallersKey(row.key), "reserved key " + Printable(row.key));
      if (row.deleted) {
        status = writer.Delete(AsSlice(row.key));
      } else {
        value.assign(row.value);
        AppendChecksum(row.key, &value);
        status = writer.Put(AsSlice(row.key), value);
      }
      COBBLESTONE_CHECK(!status.IsInvalidArgument(), "rows not ascending at key " + Printable(row.key));
    }
    return status.ok() ? writer.Finish() : status;
  }

  // Ingesting a file never waits for compaction by itself (writes to a memtable do): without this wait, reads
  // would slow down without bound as runs accumulate.
  Status WaitForMerges() {
    for (;;) {
      std::string runs;
      // Known for every database; an answer that is not a number reads as 0, and Apply does not wait.
      (void)db_->GetProperty(rocksdb::DB::Properties::kNumFilesAtLevelPrefix + "0", &runs);
      if (std::atoi(runs.c_str()) < kMaxRuns) return Status::Ok();
      std::uint64_t failures = 0;
      (void)db_->GetIntProperty(rocksdb::DB::Properties::kBackgroundErrors, &failures);
      if (failures != 0) {
        const rocksdb::Status why = watch_->Failure();
        const std::string doing = "merging its files has failed " + std::to_string(failures) + " times";
        if (why.ok())
          return Status::Fatal("state store " + path_ + ": " + doing + ". Check the disk, then start again");
        return ToStatus(why, path_, doing);
      }
      watch_->WaitAtMost(std::chrono::milliseconds(100));
    }
  }

  static bool IsShared(const rocksdb::LiveFileMetaData& file, const std::string& copy) {
    std::error_code none;  // false
    return !copy.empty() && fs::equivalent(file.db_path + file.name, copy + file.name, none);
  }

  Status VerifyFile(const std::string& path) const {
    rocksdb::ReadOptions read;
    read.readahead_size = 1u << 20;
    read.fill_cache = false;
    rocksdb::SstFileReader file(options_);
    if (Status s = ToStatus(file.Open(path), path_, "verifying " + path); !s.ok()) return s;
    if (Status s = ToStatus(file.VerifyChecksum(read), path_, "verifying " + path); !s.ok()) return s;
    const std::unique_ptr<rocksdb::Iterator> at(file.NewIterator(read));
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      std::string_view value;
      if (!SplitChecksum(AsView(at->key()), AsView(at->value()), &value))
        return WrongChecksum(path_, AsView(at->key()));
    }
    return ToStatus(at->status(), path_, "verifying " + path);
  }

  const std::string path_;
  const rocksdb::Options options_;
  const std::shared_ptr<StoreMemory> memory_;
  const std::shared_ptr<BackgroundWatch> watch_;
  const std::unique_ptr<rocksdb::DB> db_;
  const DatabaseReader reader_;
  const bool read_only_;
  std::string value_buffer_;  // of Apply, kept for its capacity
};

// RocksDB treats a directory without CURRENT as a new database and clears it. Tables without CURRENT are
// damage.
bool LostItsRoot(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path / "CURRENT", error)) return false;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".sst") return true;
  }
  return false;
}

}  // namespace

void AppendChecksum(std::string_view key, std::string* value) {
  const std::uint32_t sum = ChecksumOf(key, *value);
  for (unsigned i = 0; i < kChecksumBytes; ++i) value->push_back(static_cast<char>(sum >> (8 * i)));
}

StoreMemory::StoreMemory(std::uint64_t block_cache_bytes) : parts_(std::make_unique<Parts>()) {
  // A fifth is reserved for index and filter blocks, without which a read of an absent key would access the
  // disk.
  parts_->cache =
      rocksdb::NewLRUCache(block_cache_bytes, /*num_shard_bits=*/-1, /*strict_capacity_limit=*/false,
                           /*high_pri_pool_ratio=*/0.2);
  parts_->filter.reset(rocksdb::NewBloomFilterPolicy(10));
}

StoreMemory::~StoreMemory() = default;

std::uint64_t StoreMemory::used_bytes() const { return parts_->cache->GetUsage(); }

rocksdb::Options TunedOptions(const StoreMemory& memory) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = memory.parts().cache;
  table.filter_policy = memory.parts().filter;
  table.whole_key_filtering = true;
  table.cache_index_and_filter_blocks = true;  // otherwise they grow outside of every budget
  table.cache_index_and_filter_blocks_with_high_priority = true;
  // For all tables, not only for those as small as a memtable: a Get reads the filter of every run.
  table.metadata_cache_options.unpartitioned_pinning = rocksdb::PinningTier::kAll;
  table.block_size = 8u << 10;
  table.format_version = 5;  // the newest that RocksDB 7.8 and 9.10 both read
  table.checksum = rocksdb::kXXH3;

  rocksdb::Options options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.compression = rocksdb::kNoCompression;  // values are packed; lz4 costs more CPU than all other work
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.level0_file_num_compaction_trigger = kCompactAtRuns;
  options.level0_slowdown_writes_trigger = kMaxRuns;  // applies to memtables, which do not exist
  options.level0_stop_writes_trigger = kMaxRuns + 4;
  options.compaction_options_universal.max_size_amplification_percent = 200;
  options.compaction_options_universal.allow_trivial_move = false;
  options.level_compaction_dynamic_level_bytes = false;  // its default differs between releases
  options.num_levels = 7;
  options.target_file_size_base = 256u << 20;
  options.write_buffer_size = 1u << 20;  // never used; reserved per database
  options.max_background_jobs = 2;       // one compaction thread for all stores of the process
  options.max_subcompactions = 1;
  options.compaction_readahead_size = 2u << 20;
  options.bytes_per_sync = 1u << 20;  // otherwise the sync at the end of a large file stalls the log's syncs
  options.max_open_files = 128;
  options.skip_stats_update_on_db_open = true;
  options.max_manifest_file_size = 16u << 20;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.info_log = std::make_shared<SilentLogger>();
  options.paranoid_checks = true;
  return options;
}

Result<std::unique_ptr<Store>> OpenRocksdbStoreOn(const RocksdbStoreOptions& wanted, rocksdb::Env* env) {
  COBBLESTONE_CHECK(wanted.memory != nullptr, "a store needs a StoreMemory");
  const std::string& path = wanted.path;
  std::error_code error;
  const bool there = fs::exists(fs::path(path) / "CURRENT", error);
  if (LostItsRoot(path)) return Damaged(path, "the file CURRENT is missing");
  if (!there && (wanted.read_only || !wanted.create)) {
    return Status::NotFound("no state store at " + path);
  }

  auto watch = std::make_shared<BackgroundWatch>();
  rocksdb::Options options = TunedOptions(*wanted.memory);
  options.env = env;
  options.create_if_missing = wanted.create && !wanted.read_only;
  // Nothing reads the options file, and its error does not name a cause.
  options.fail_if_options_file_error = false;
  options.listeners.push_back(watch);
  rocksdb::DB* opened = nullptr;
  rocksdb::Status status = wanted.read_only ? rocksdb::DB::OpenForReadOnly(options, path, &opened)
                                            : rocksdb::DB::Open(options, path, &opened);
  std::unique_ptr<rocksdb::DB> db(opened);
  // RocksDB reports a damaged CURRENT or MANIFEST as an invalid argument.
  if (status.IsInvalidArgument()) return Damaged(path, "opening: " + status.ToString());
  if (!status.ok()) return ToStatus(status, path, "opening");
  if (!wanted.read_only)
    (void)env->DeleteFile(path + "/" + kStagedName);  // left by an Apply that crashed before ingesting it

  auto store = std::make_unique<RocksdbStore>(path, options, wanted.memory, std::move(watch), std::move(db),
                                              wanted.read_only);
  // Reads one block of the newest file, and refuses an unknown format before the store is used.
  const auto meta = store->Meta();
  if (!meta.ok() && meta.status().code() != StatusCode::kNotFound) return meta.status();
  return std::unique_ptr<Store>(std::move(store));
}

Result<std::unique_ptr<Store>> OpenRocksdbStore(const RocksdbStoreOptions& options) {
  return OpenRocksdbStoreOn(options, rocksdb::Env::Default());
}

Status RemoveRocksdbStore(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return Status::Ok();
  rocksdb::Options options;
  const rocksdb::Status status = rocksdb::DestroyDB(path, options);
  if (!status.ok()) return ToStatus(status, path, "removing");
  fs::remove(fs::path(path) / kStagedName, error);
  if (!fs::exists(path, error)) return Status::Ok();
  fs::remove(path, error);
  if (error) {
    return Status::InvalidArgument(
        "cannot remove " + path + ": " + error.message() +
        ". The directory contains files that do not belong to a state store; check these files");
  }
  return Status::Ok();
}

}  // namespace cobblestone::store
