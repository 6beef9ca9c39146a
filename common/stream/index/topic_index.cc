#include "common/stream/index/topic_index.h"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include "common/base/check.h"
#include "common/base/thread.h"
#include "common/store/rocksdb/rocksdb_status.h"
#include "common/store/rocksdb/silent_logger.h"
#include "common/stream/bytes.h"

namespace cobblestone::stream {
namespace {

using store::FromRocksdb;
namespace fs = std::filesystem;

// A query of a log without a running owner keeps at most this many entries in memory; the remaining records
// are scanned.
constexpr std::size_t kMaxReadOnlyEntries = 4'000'000;

// Rows other than entries sort before all entries: an entry starts with the length of its key, which is not
// 0.
constexpr std::string_view kNameRow("\0n", 2);
constexpr std::string_view kPositionPrefix("\0p",
                                           2);  // + partition u32: offset up to which it is indexed, u64

std::string PositionRow(std::uint32_t partition) {
  std::string row(kPositionPrefix);
  AppendOrdered(row, partition);
  return row;
}

rocksdb::Options FileOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  // Nothing reads the options file, and its error does not name a cause.
  options.fail_if_options_file_error = false;
  options.info_log = std::make_shared<store::SilentLogger>();
  options.compression = rocksdb::kLZ4Compression;
  // Entries arrive in no order, so every chunk overlaps every other: compaction merges eight files of similar
  // size, and so rewrites an entry about once each time the index grows by a factor of eight. A lookup reads
  // about twenty files.
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.compaction_options_universal.min_merge_width = 8;
  options.compaction_options_universal.max_size_amplification_percent = 1000;  // nothing is ever overwritten
  options.level0_file_num_compaction_trigger = 8;
  options.level0_slowdown_writes_trigger = 64;
  options.level0_stop_writes_trigger = 128;
  options.skip_stats_update_on_db_open = true;
  options.max_background_jobs = 2;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 16u << 10;
  table.block_cache = rocksdb::NewLRUCache(16u << 20);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

class KeyIndexImpl final : public KeyIndex {
 public:
  KeyIndexImpl(std::unique_ptr<IndexedLog> log, KeyIndexOptions options);
  ~KeyIndexImpl() override;

  Status Start();

  Result<std::vector<RecordPlace>> Find(std::string_view key) override { return Gather(key, SIZE_MAX); }
  Result<std::vector<RecordPlace>> FindLast(std::string_view key, std::size_t limit) override {
    return Gather(key, limit);
  }
  Status Flush() override;
  [[nodiscard]] Status health() const override;
  [[nodiscard]] std::uint64_t behind() const override;
  [[nodiscard]] const std::string& rebuilt() const override { return rebuilt_; }
  [[nodiscard]] std::uint64_t disk_bytes() const override;

 private:
  using Positions = std::vector<std::uint64_t>;  // by partition

  Status OpenFiles();
  Status ReadPositions();
  Status Follow(std::size_t entries);
  Status LookThrough(std::string_view key, std::vector<RecordPlace>& places);
  // The last `limit` places of each partition, or all places for SIZE_MAX.
  Status FindInFiles(std::string_view key, std::size_t limit, std::vector<RecordPlace>& places) const;
  Result<std::vector<RecordPlace>> Gather(std::string_view key, std::size_t limit);
  Status WriteChunk();
  void Run();
  [[nodiscard]] std::string doing(const std::string& verb) const {
    return verb + " the index in " + options_.path;
  }

  const std::unique_ptr<IndexedLog> log_;
  const KeyIndexOptions options_;
  const rocksdb::Options file_options_ = FileOptions();
  std::unique_ptr<rocksdb::DB> db_;  // null: read_only and nothing indexed yet
  std::string rebuilt_;

  // Lock order: writing_, then mutex_.
  std::mutex writing_;        // one chunk at a time
  mutable std::mutex mutex_;  // runs and positions
  KeyRuns fresh_;             // entries not being written
  KeyRuns leaving_;           // entries being written
  Positions followed_;        // fresh_ ends before this offset
  Positions leaving_to_;      // leaving_ ends before this offset; empty: nothing is being written
  Positions indexed_;         // the files end before this offset
  std::optional<std::chrono::steady_clock::time_point> fresh_since_;
  Status health_;

  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

KeyIndexImpl::KeyIndexImpl(std::unique_ptr<IndexedLog> log, KeyIndexOptions options)
    : log_(std::move(log)), options_(std::move(options)) {
  COBBLESTONE_CHECK(options_.partitions > 0 && options_.partitions <= 65536,
                    std::to_string(options_.partitions));
}

KeyIndexImpl::~KeyIndexImpl() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status KeyIndexImpl::OpenFiles() {
  const std::string db_path = options_.path + "/db";
  std::error_code error;
  if (options_.read_only) {
    if (!fs::exists(db_path + "/CURRENT", error)) return Status::Ok();
  } else {
    fs::create_directories(options_.path, error);
    if (error)
      return Status::Unwritten(error.value(),
                               "cannot create the directory " + options_.path + ": " + error.message());
  }
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = options_.read_only
                                     ? rocksdb::DB::OpenForReadOnly(file_options_, db_path, &db)
                                     : rocksdb::DB::Open(file_options_, db_path, &db);
  db_.reset(db);
  return FromRocksdb(status, doing("opening"));
}

// kCorrupted: the index belongs to another log.
Status KeyIndexImpl::ReadPositions() {
  followed_.assign(options_.partitions, 0);
  if (db_ != nullptr) {
    std::string value;
    rocksdb::Status status =
        db_->Get(rocksdb::ReadOptions(), rocksdb::Slice(kNameRow.data(), kNameRow.size()), &value);
    if (!status.ok() && !status.IsNotFound()) return FromRocksdb(status, doing("reading"));
    if (status.ok() && value != options_.name) {
      return Status::Corrupted("the index in " + options_.path + " is the index '" + value +
                               "', but the requested index is '" + options_.name +
                               "'; delete the directory; the index is then rebuilt");
    }
    for (std::uint32_t partition = 0; status.ok() && partition < options_.partitions; ++partition) {
      status = db_->Get(rocksdb::ReadOptions(), PositionRow(partition), &value);
      if (!status.ok() || value.size() != 8) return FromRocksdb(status, doing("reading"));
      followed_[partition] = LoadNumber<std::uint64_t>(value.data());
      const std::uint64_t end = log_->End({options_.topic, partition});
      if (followed_[partition] > end) {
        return Status::Corrupted("the index in " + options_.path + " ends at offset " +
                                 std::to_string(followed_[partition]) + " of partition " +
                                 std::to_string(partition) + ", but the log ends at " + std::to_string(end) +
                                 "; if the log is correct, delete the directory; the index is then rebuilt");
      }
    }
  }
  indexed_ = followed_;
  return Status::Ok();
}

Status KeyIndexImpl::Start() {
  Status status = OpenFiles();
  if (status.ok()) status = ReadPositions();
  if (status.code() == StatusCode::kCorrupted && !options_.read_only) {
    rebuilt_ = status.message();
    db_.reset();
    std::error_code error;
    fs::remove_all(options_.path, error);
    status = OpenFiles();
    if (status.ok()) status = ReadPositions();
  }
  if (!status.ok() || options_.read_only) return status;
  thread_ = std::thread([this] {
    NameThread("index");
    LowerThreadPriority();
    Run();
  });
  return status;
}

// Adds the entries of durable records that are not yet followed, until there are at least `entries` or no
// more records. Needs mutex_.
Status KeyIndexImpl::Follow(std::size_t entries) {
  for (std::uint32_t partition = 0; partition < options_.partitions; ++partition) {
    const TopicPartition where{options_.topic, partition};
    std::uint64_t& at = followed_[partition];
    at = std::max(at, log_->Begin(where));
    const std::uint64_t end = log_->End(where);
    while (at < end && fresh_.entries() < entries) {
      const Result<IndexedLog::Piece> piece = log_->Read(where, at);
      if (!piece.ok()) {
        if (at < log_->Begin(where)) break;  // trimmed at this moment
        return piece.status();
      }
      if (piece->end == 0) break;
      if (!fresh_since_) fresh_since_ = std::chrono::steady_clock::now();
      std::uint64_t offset = piece->first;
      const AddKey add = [&](std::string_view key) {
        fresh_.Add(key, {.partition = partition, .offset = offset});
      };
      for (const std::string_view record : piece->records) {
        if (offset >= at) options_.keys(record, add);
        if (!piece->one_place) ++offset;
      }
      at = piece->end;
    }
  }
  return Status::Ok();
}

// Scans the records that Follow() has left because of its limit, without keeping their entries.
Status KeyIndexImpl::LookThrough(std::string_view key, std::vector<RecordPlace>& places) {
  for (std::uint32_t partition = 0; partition < options_.partitions; ++partition) {
    const TopicPartition where{options_.topic, partition};
    const std::uint64_t end = log_->End(where);
    for (std::uint64_t at = std::max(followed_[partition], log_->Begin(where)); at < end;) {
      const Result<IndexedLog::Piece> piece = log_->Read(where, at);
      if (!piece.ok()) return piece.status();
      if (piece->end == 0) break;
      std::uint64_t offset = piece->first;
      const AddKey add = [&](std::string_view found) {
        if (found == key) places.push_back({.partition = partition, .offset = offset});
      };
      for (const std::string_view record : piece->records) {
        options_.keys(record, add);
        if (!piece->one_place) ++offset;
      }
      at = piece->end;
    }
  }
  return Status::Ok();
}

Status KeyIndexImpl::FindInFiles(std::string_view key, std::size_t limit,
                                 std::vector<RecordPlace>& places) const {
  if (db_ == nullptr) return Status::Ok();
  const std::string prefix = IndexPrefix(key);
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(rocksdb::ReadOptions()));
  if (limit != SIZE_MAX) {
    for (std::uint32_t partition = 0; partition < options_.partitions; ++partition) {
      std::size_t found = 0;
      for (it->SeekForPrev(IndexEntry(key, {.partition = partition, .offset = kMaxOffset}));
           found < limit && it->Valid() && it->key().starts_with(prefix); it->Prev(), ++found) {
        const RecordPlace place = PlaceOfEntry({it->key().data(), it->key().size()});
        if (place.partition != partition) break;
        places.push_back(place);
      }
    }
    return FromRocksdb(it->status(), doing("reading"));
  }
  for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
    places.push_back(PlaceOfEntry({it->key().data(), it->key().size()}));
  }
  return FromRocksdb(it->status(), doing("reading"));
}

// Keeps the last `limit` places of each partition; the places of a partition are adjacent and ascend.
void KeepLast(std::size_t limit, std::vector<RecordPlace>& places) {
  std::vector<RecordPlace> kept;
  for (auto first = places.begin(); first != places.end();) {
    const auto last = std::find_if(
        first, places.end(), [&](const RecordPlace& place) { return place.partition != first->partition; });
    const auto count = std::min(limit, static_cast<std::size_t>(last - first));
    kept.insert(kept.end(), last - static_cast<std::ptrdiff_t>(count), last);
    first = last;
  }
  places = std::move(kept);
}

Result<std::vector<RecordPlace>> KeyIndexImpl::Gather(std::string_view key, std::size_t limit) {
  std::vector<RecordPlace> places;
  {
    const std::scoped_lock lock(mutex_);
    if (!options_.read_only) {
      std::uint64_t unfollowed = 0;
      for (std::uint32_t p = 0; p < options_.partitions; ++p) {
        const TopicPartition where{options_.topic, p};
        unfollowed += log_->End(where) - std::max(followed_[p], log_->Begin(where));
      }
      if (unfollowed > options_.chunk_entries) {
        return Status::Retry("the index in " + options_.path + " is being built and is " +
                             std::to_string(unfollowed) + " records behind; try again later");
      }
    }
    if (Status status = Follow(options_.read_only ? kMaxReadOnlyEntries : SIZE_MAX); !status.ok())
      return status;
    fresh_.Find(key, places);
    leaving_.Find(key, places);
    if (Status status = LookThrough(key, places); !status.ok()) return status;
  }
  // Memory before files: entries that move from memory to the files meanwhile are found twice, and never
  // missed.
  if (Status status = FindInFiles(key, limit, places); !status.ok()) return status;
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  if (limit != SIZE_MAX) KeepLast(limit, places);
  return places;
}

Status KeyIndexImpl::WriteChunk() {
  const std::scoped_lock one(writing_);
  Positions positions;
  {
    const std::scoped_lock lock(mutex_);
    if (leaving_to_.empty()) {  // otherwise a failed attempt has left it
      if (followed_ == indexed_) return Status::Ok();
      std::swap(fresh_, leaving_);
      leaving_.Close();
      leaving_to_ = followed_;
      fresh_since_.reset();
    }
    positions = leaving_to_;
  }
  // From here to the end no other thread changes leaving_.

  const std::string file = options_.path + "/next.sst";
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), file_options_);
  rocksdb::Status status = writer.Open(file);
  const auto put = [&](std::string_view key, std::string_view value) {
    if (status.ok()) {
      status = writer.Put(rocksdb::Slice(key.data(), key.size()), rocksdb::Slice(value.data(), value.size()));
    }
  };
  put(kNameRow, options_.name);
  for (std::uint32_t partition = 0; partition < options_.partitions; ++partition) {
    char position[8];
    StoreNumber(position, positions[partition]);
    put(PositionRow(partition), {position, sizeof position});
  }
  if (Status merged = leaving_.Merge([&](std::string_view entry) {
        put(entry, {});
        return FromRocksdb(status, doing("writing to"));
      });
      !merged.ok()) {
    return merged;
  }
  if (status.ok()) status = writer.Finish();
  rocksdb::IngestExternalFileOptions ingest;
  ingest.move_files = true;
  ingest.snapshot_consistency = false;
  ingest.write_global_seqno = false;
  if (status.ok()) status = db_->IngestExternalFile({file}, ingest);
  if (!status.ok()) return FromRocksdb(status, doing("writing to"));

  const std::scoped_lock lock(mutex_);
  leaving_.Clear();
  leaving_to_.clear();
  indexed_ = std::move(positions);
  return Status::Ok();
}

void KeyIndexImpl::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    Status status = Follow(options_.chunk_entries);
    const bool full = fresh_.entries() >= options_.chunk_entries;
    const bool old = fresh_since_ && std::chrono::steady_clock::now() - *fresh_since_ >= options_.chunk_age;
    if (status.ok() && (full || old)) {
      lock.unlock();
      status = WriteChunk();
      lock.lock();
    }
    const bool failed = !status.ok();
    health_ = std::move(status);
    if (full && !failed) continue;  // more records may be waiting
    wake_.wait_for(lock, options_.follow_every, [&] { return stopping_; });
  }
}

Status KeyIndexImpl::Flush() {
  COBBLESTONE_CHECK(!options_.read_only, "Flush() of an index opened read_only");
  Positions wanted;
  for (std::uint32_t p = 0; p < options_.partitions; ++p) wanted.push_back(log_->End({options_.topic, p}));
  while (true) {
    {
      const std::scoped_lock lock(mutex_);
      if (std::equal(wanted.begin(), wanted.end(), indexed_.begin(), std::less_equal<>()))
        return Status::Ok();
      if (Status status = Follow(options_.chunk_entries); !status.ok()) return status;
    }
    if (Status status = WriteChunk(); !status.ok()) return status;
  }
}

Status KeyIndexImpl::health() const {
  const std::scoped_lock lock(mutex_);
  return health_;
}

std::uint64_t KeyIndexImpl::behind() const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t records = 0;
  for (std::uint32_t p = 0; p < options_.partitions; ++p) {
    const TopicPartition where{options_.topic, p};
    records += log_->End(where) - std::max(indexed_[p], log_->Begin(where));
  }
  return records;
}

std::uint64_t KeyIndexImpl::disk_bytes() const {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(options_.path, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code missing;  // files may be created or deleted meanwhile
    const std::uint64_t size = it->is_regular_file(missing) ? it->file_size(missing) : 0;
    if (!missing) bytes += size;
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<KeyIndex>> KeyIndex::Open(std::unique_ptr<IndexedLog> log,
                                                 const KeyIndexOptions& options) {
  auto index = std::make_unique<KeyIndexImpl>(std::move(log), options);
  if (Status status = index->Start(); !status.ok()) return status;
  return std::unique_ptr<KeyIndex>(std::move(index));
}

}  // namespace cobblestone::stream
