#include "common/stream/kafka/state.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/store/rocksdb/rocksdb_store.h"

namespace cobblestone::stream::kafka {

namespace {

namespace fs = std::filesystem;

constexpr char kMarker = '\xff';  // no table has this number
constexpr std::size_t kMarkerKeyBytes = 13;
constexpr std::size_t kKeysPerMarker = 4096;
constexpr std::size_t kSliceBytes = 64u << 10;
constexpr std::size_t kSlicesAhead = 8;
constexpr std::size_t kRestoreBytes = 32u << 20;
constexpr std::string_view kUnfinished = "restoring";

void PutBig(std::uint64_t v, int bytes, std::string* out) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out->push_back(static_cast<char>(v >> shift));
}

std::string MarkerKey(std::uint64_t sequence, std::uint32_t part) {
  std::string key(1, kMarker);
  PutBig(sequence, 8, &key);
  PutBig(part, 4, &key);
  return key;
}

std::uint64_t SequenceOfMarker(std::string_view key) {
  std::uint64_t v = 0;
  for (std::size_t i = 1; i < 9; ++i) v = v << 8 | static_cast<unsigned char>(key[i]);
  return v;
}

struct Unmap {
  void operator()(Trace* trace) const { ::munmap(trace, sizeof *trace); }
};
using MappedTrace = std::unique_ptr<Trace, Unmap>;

// Null if the disk has no space.
MappedTrace MapTrace(const std::string& directory, const std::string& path) {
  std::error_code ignored;
  fs::create_directories(directory, ignored);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (::posix_fallocate(fd, 0, sizeof(Trace)) == 0)
    memory = ::mmap(nullptr, sizeof(Trace), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  return memory == MAP_FAILED ? nullptr : MappedTrace(static_cast<Trace*>(memory));
}

class DirectoryStateSpace final : public StateSpace {
 public:
  DirectoryStateSpace(std::string directory, std::uint64_t block_cache_bytes)
      : directory_(std::move(directory)), memory_(std::make_shared<store::StoreMemory>(block_cache_bytes)) {}

  Result<std::unique_ptr<store::Store>> Open(std::uint32_t slot) override {
    std::error_code error;
    fs::create_directories(directory_, error);
    if (error)
      return Status::Unwritten(error.value(),
                               "cannot create the directory " + directory_ + ": " + error.message());
    auto store =
        store::OpenRocksdbStore({.path = Path(slot), .memory = memory_, .create = true, .read_only = false});
    // Only with the store's lock: otherwise another process has the store open, and may be reading its copy.
    if (store.ok()) RemoveCopy(slot);
    return store;
  }
  Status Remove(std::uint32_t slot) override {
    Status s = store::RemoveRocksdbStore(Path(slot));  // fails while the store is open
    if (s.ok()) RemoveCopy(slot);
    return s;
  }
  Result<std::unique_ptr<store::Store>> OpenCopy(std::uint32_t slot, store::Store& of) override {
    RemoveCopy(slot);
    if (Status s = of.Checkpoint(CopyPath(slot)); !s.ok()) return s;
    return store::OpenRocksdbStore(
        {.path = CopyPath(slot), .memory = memory_, .create = false, .read_only = true});
  }
  void RemoveCopy(std::uint32_t slot) override {
    std::error_code ignored;
    fs::remove_all(CopyPath(slot), ignored);
  }
  Trace* TraceOf(std::uint32_t slot) override {
    const std::lock_guard lock(mutex_);
    auto& mapped = traces_[slot];
    if (mapped == nullptr) mapped = MapTrace(directory_, directory_ + "/" + std::to_string(slot) + ".trace");
    return mapped.get();
  }
  std::vector<std::uint32_t> Slots() override {
    std::vector<std::uint32_t> slots;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory_, error)) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("slot-", 0) != 0) continue;
      const std::string number = name.substr(5);
      if (number.empty() || number.size() > 9 || number.find_first_not_of("0123456789") != std::string::npos)
        continue;
      slots.push_back(static_cast<std::uint32_t>(std::stoul(number)));
    }
    std::sort(slots.begin(), slots.end());
    return slots;
  }

 private:
  [[nodiscard]] std::string Path(std::uint32_t slot) const {
    return directory_ + "/slot-" + std::to_string(slot);
  }
  [[nodiscard]] std::string CopyPath(std::uint32_t slot) const { return Path(slot) + ".copy"; }

  std::string directory_;
  std::shared_ptr<store::StoreMemory> memory_;
  std::mutex mutex_;
  std::map<std::uint32_t, MappedTrace> traces_;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<StateSpace> MakeDirectoryStateSpace(const std::string& directory,
                                                    std::uint64_t block_cache_bytes) {
  return std::make_unique<DirectoryStateSpace>(directory, block_cache_bytes);
}

bool IsUnfinishedRestore(std::string_view meta) { return meta == kUnfinished; }

Status WriteState(const StateWrite& write, std::uint64_t checkpointed, store::Store& store) {
  std::vector<store::Row> rows = RowsOf(write);
  std::deque<std::string> bytes;  // of the markers; a deque keeps their addresses
  Status scanned = store.Scan({&kMarker, 1}, [&](std::string_view key, std::string_view) {
    if (key.size() == kMarkerKeyBytes && SequenceOfMarker(key) <= checkpointed) {
      bytes.emplace_back(key);
      rows.push_back({.key = bytes.back(), .value = {}, .deleted = true});
    }
    return Status::Ok();
  });
  if (!scanned.ok()) return scanned;
  const std::size_t changed = rows.size() - bytes.size();
  std::uint32_t part = 0;
  for (std::size_t at = 0; at < changed; ++part) {
    const std::size_t end = std::min(changed, at + kKeysPerMarker);
    bytes.push_back(MarkerKey(write.meta.sequence, part));
    const std::string_view key = bytes.back();
    bytes.emplace_back();
    for (; at < end; ++at) bytes.back().append(rows[at].key);
    rows.push_back({.key = key, .value = bytes.back(), .deleted = false});
  }
  return store.Apply(rows, EncodeSlotMeta(write.meta));
}

Status DropMarkers(const SlotMeta& meta, store::Store& store) {
  std::vector<std::string> keys;
  Status scanned = store.Scan({&kMarker, 1}, [&](std::string_view key, std::string_view) {
    keys.emplace_back(key);
    return Status::Ok();
  });
  if (!scanned.ok()) return scanned;
  std::vector<store::Row> rows;
  for (const std::string& key : keys) rows.push_back({.key = key, .value = {}, .deleted = true});
  return store.Apply(rows, EncodeSlotMeta(meta));
}

// ---- Into a checkpoint --------------------------------------------------------------------------------------

Status CheckpointSource::Begin() {
  auto bytes = copy_->Meta();
  if (!bytes.ok()) return bytes.status();
  auto meta = DecodeSlotMeta(*bytes);
  if (!meta.ok()) return meta.status();
  meta_ = std::move(*meta);
  Status s = copy_->Scan({&kMarker, 1}, [this](std::string_view key, std::string_view value) {
    if (key.size() != kMarkerKeyBytes || value.size() % kKeyBytes != 0)
      return Status::Corrupted("a marker of changed keys is corrupted");
    if (SequenceOfMarker(key) <= after_) return Status::Ok();
    for (std::size_t at = 0; at < value.size(); at += kKeyBytes)
      keys_.emplace_back(value.substr(at, kKeyBytes));
    return Status::Ok();
  });
  std::sort(keys_.begin(), keys_.end());
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  return s;
}

Status CheckpointSource::ReadSlice(CheckpointSlice* slice) {
  std::size_t bytes = 0;
  if (next_ == 0)
    slice->push_back({.key = std::string(kCheckpointBeginKey), .value = std::to_string(meta_.sequence)});
  while (next_ < keys_.size() && bytes < kSliceBytes) {
    CheckpointRow row{.key = keys_[next_++]};
    Status s = copy_->Get(row.key, &row.value);
    row.deleted = s.code() == StatusCode::kNotFound;
    if (!s.ok() && !row.deleted) return s;
    bytes += row.key.size() + row.value.size();
    slice->push_back(std::move(row));
  }
  return Status::Ok();
}

bool CheckpointSource::Fill() {
  Status s;
  if (!begun_) s = Begin();
  begun_ = true;
  for (;;) {
    if (s.ok()) {
      const std::lock_guard lock(mutex_);
      if (all_read_) return false;
      if (ready_.size() >= kSlicesAhead) return true;
    }
    auto slice = std::make_unique<CheckpointSlice>();
    if (s.ok()) s = ReadSlice(slice.get());
    const std::lock_guard lock(mutex_);
    if (!s.ok()) {
      failure_ = s;
      all_read_ = true;
      return false;
    }
    all_read_ = next_ == keys_.size();
    ready_.push_back(std::move(slice));
  }
}

std::unique_ptr<CheckpointSlice> CheckpointSource::Take() {
  const std::lock_guard lock(mutex_);
  if (ready_.empty()) return nullptr;
  auto slice = std::move(ready_.front());
  ready_.pop_front();
  return slice;
}

bool CheckpointSource::finished() const {
  const std::lock_guard lock(mutex_);
  return all_read_ && ready_.empty();
}

bool CheckpointSource::ready() const {
  const std::lock_guard lock(mutex_);
  return all_read_ || !ready_.empty();
}

bool CheckpointSource::wants_more() const {
  const std::lock_guard lock(mutex_);
  return !all_read_ && ready_.size() < kSlicesAhead / 2;
}

Status CheckpointSource::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

// ---- And back -----------------------------------------------------------------------------------------------

Status CheckpointRestore::Add(std::uint64_t offset, std::string_view key, std::string_view value,
                              bool deleted) {
  if (key == kCheckpointBeginKey) {
    begun_ = value;
    begun_at_ = offset;
    return Status::Ok();
  }
  if (key == kCheckpointMetaKey) {
    meta_bytes_ = value;
    if (auto meta = DecodeSlotMeta(value); meta.ok()) meta_ = std::move(*meta);  // else Finish() fails
    return Status::Ok();
  }
  if (key.size() != kKeyBytes || key[0] == kMarker)
    return Status::Corrupted("the checkpoint topic has a row that was not written by a slot");
  ++rows_;
  bytes_ += key.size() + value.size() + 64;
  CheckpointRow& row = pending_[std::string(key)];
  row.value = value;
  row.deleted = deleted;
  return bytes_ < kRestoreBytes ? Status::Ok() : Apply(kUnfinished);
}

Status CheckpointRestore::Apply(std::string_view meta) {
  std::vector<store::Row> rows;
  rows.reserve(pending_.size());
  for (const auto& [key, row] : pending_)
    rows.push_back({.key = key, .value = row.value, .deleted = row.deleted});
  Status s = store_.Apply(rows, meta);
  pending_.clear();
  bytes_ = 0;
  return s;
}

Status CheckpointRestore::Finish() {
  if (!DecodeSlotMeta(meta_bytes_).ok())
    return Status::Corrupted("the checkpoint topic does not have a position in the log");
  return Apply(meta_bytes_);
}

std::optional<std::uint64_t> CheckpointRestore::begin() const {
  if (begun_ != std::to_string(meta_.sequence)) return std::nullopt;
  return begun_at_;
}

Status CheckpointTail::Add(std::string_view key, std::string_view value, bool deleted, bool* applied) {
  *applied = false;
  if (key == kCheckpointBeginKey) {
    begun_ = value;
    return Status::Ok();
  }
  if (key != kCheckpointMetaKey) {
    pending_[std::string(key)] = {.key = std::string(key), .value = std::string(value), .deleted = deleted};
    return Status::Ok();
  }
  const auto rows = std::exchange(pending_, {});
  const auto meta = DecodeSlotMeta(value);
  if (!meta.ok()) return meta.status();
  std::uint64_t have = 0;
  if (const auto bytes = store_.Meta(); bytes.ok()) {
    const auto stored = DecodeSlotMeta(*bytes);
    if (!stored.ok()) return stored.status();
    have = stored->sequence;
  } else if (bytes.status().code() != StatusCode::kNotFound) {
    return bytes.status();
  }
  if (meta->sequence <= have) return Status::Ok();
  if (begun_ != std::to_string(meta->sequence))
    return Status::NotFound("the checkpoint as of commit " + std::to_string(meta->sequence) +
                            " was compacted before the restore");
  std::vector<store::Row> write;
  std::deque<std::string> markers;  // of changes that the checkpoint contains
  Status s = store_.Scan({&kMarker, 1}, [&](std::string_view marker, std::string_view) {
    markers.emplace_back(marker);
    return Status::Ok();
  });
  if (!s.ok()) return s;
  for (const auto& [name, row] : rows)
    write.push_back({.key = name, .value = row.value, .deleted = row.deleted});
  for (const std::string& marker : markers)
    write.push_back({.key = marker, .value = {}, .deleted = true});  // sorts after every row key
  if (s = store_.Apply(write, value); !s.ok()) return s;
  rows_ += rows.size();
  *applied = true;
  return Status::Ok();
}

}  // namespace cobblestone::stream::kafka
