#include "common/stream/table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace cobblestone::stream {
namespace {

template <class T>
void PutBigEndian(T value, char* out) {
  if constexpr (sizeof(T) == 8)
    value = __builtin_bswap64(value);
  else
    value = __builtin_bswap32(value);
  std::memcpy(out, &value, sizeof value);
}

template <class T>
T GetBigEndian(const char* in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  if constexpr (sizeof(T) == 8)
    return __builtin_bswap64(value);
  else
    return __builtin_bswap32(value);
}

// Loops over all objects wait for memory at each of them unless they ask for it this many objects ahead.
constexpr std::size_t kAhead = 16;
constexpr std::uint32_t kCacheLine = 64;

void Prefetch(const EntryBase* entry, std::uint32_t bytes) {
  if (entry == nullptr) return;
  for (std::uint32_t at = 0; at < bytes; at += kCacheLine)
    __builtin_prefetch(reinterpret_cast<const char*>(entry) + at);
}

}  // namespace

void EncodeKey(std::uint8_t table, const Key& key, char* out) {
  out[0] = static_cast<char>(table);
  PutBigEndian(key.project, out + 1);
  PutBigEndian(key.id, out + 5);
  PutBigEndian(key.sub, out + 13);
}

bool DecodeKey(std::string_view bytes, std::uint8_t* table, Key* key) {
  if (bytes.size() != kKeyBytes) return false;
  *table = static_cast<std::uint8_t>(bytes[0]);
  key->project = GetBigEndian<std::uint32_t>(bytes.data() + 1);
  key->id = GetBigEndian<std::uint64_t>(bytes.data() + 5);
  key->sub = GetBigEndian<std::uint64_t>(bytes.data() + 13);
  return true;
}

void TableBase::Damaged(const Key& key, std::string_view what) const {
  Unreadable(Status::Corrupted("state table " + std::to_string(id_) + ", the row of project " +
                               std::to_string(key.project) + ", number " + std::to_string(key.id) +
                               ", part " + std::to_string(key.sub) + ": " + std::string(what)));
}

void TableBase::Unreadable(Status status) const {
  if (host_.failure.ok()) {
    host_.damaged = status.code() == StatusCode::kCorrupted;
    host_.failure = std::move(status);
  }
  throw UnreadableRow();
}

Status TableBase::BadKey() const {
  return Status::Corrupted("state table " + std::to_string(id_) + " has a row with a corrupted key");
}

void TableBase::Insert(EntryBase* entry) {
  if ((used_ + 1) * 4 > slots_.size() * 3) Grow();
  const std::uint64_t hash = HashKey(entry->key);
  std::size_t at = hash & mask_;
  for (; slots_[at].entry != nullptr; at = (at + 1) & mask_)
    COBBLESTONE_CHECK(slots_[at].hash != hash || slots_[at].entry->key != entry->key,
                      "a key occurs twice in one table");
  slots_[at] = {.entry = entry, .hash = hash};
  ++used_;
}

void TableBase::NoteAbsent(const Key& key) {
  constexpr std::uint32_t kAscending = 8;  // a scan costs as much as a few reads
  const bool ascends = key.project == last_absent_.project && last_absent_ < key;
  ascending_ = ascends ? ascending_ + 1 : 0;
  last_absent_ = key;
  if (ascending_ < kAscending || key.project == std::numeric_limits<std::uint32_t>::max()) return;
  ascending_ = 0;
  char bytes[kKeyBytes];
  EncodeKey(id_, key, bytes);
  Key next{.project = key.project + 1, .id = 0, .sub = 0};
  const Status enough = Status::NotFound("the next key");
  const Status s = host_.store->ScanFrom({bytes, kProjectPrefixBytes}, {bytes, kKeyBytes},
                                         [&](std::string_view found, std::string_view) {
                                           std::uint8_t id = 0;
                                           return DecodeKey(found, &id, &next) ? enough : BadKey();
                                         });
  // What cannot be read is reported by the lookup that needs it.
  if (!s.ok() && s.code() != enough.code()) return;
  gap_from_ = key;
  gap_to_ = next;
}

void TableBase::Grow() {
  std::vector<Place> old = std::move(slots_);
  slots_.assign(old.empty() ? 64 : old.size() * 2, {});
  mask_ = slots_.size() - 1;
  for (const Place& place : old) {
    if (place.entry == nullptr) continue;
    std::size_t at = place.hash & mask_;
    while (slots_[at].entry != nullptr) at = (at + 1) & mask_;
    slots_[at] = place;
  }
}

// Backward-shift deletion: without tombstones, so lookups stay short.
void TableBase::Remove(std::size_t at) {
  EntryBase* const entry = slots_[at].entry;
  bytes_ -= entry->bytes;
  if (entry->exists) {
    --here_;
    if (waits()) CountStored(entry->key, EncodedOf(*entry));
    // Written since the scan that found the gap, and now only in the store.
    if (gap_from_ <= entry->key && entry->key < gap_to_) gap_to_ = entry->key;
  }
  Free(entry);
  --used_;
  std::size_t hole = at;
  for (std::size_t next = (at + 1) & mask_; slots_[next].entry != nullptr; next = (next + 1) & mask_) {
    const std::size_t home = slots_[next].hash & mask_;
    if (((next - home) & mask_) >= ((next - hole) & mask_)) {
      slots_[hole] = slots_[next];
      hole = next;
    }
  }
  slots_[hole] = {};
}

// The filter has four to eight places per row, at most four million. When it doubles, both halves keep the
// counts of the former places, so one count of each row stays too high until no row is left outside of
// memory. The more rows and doublings, the more lookups of absent rows read the store and find nothing.
void TableBase::CountStored(const Key& key, std::size_t bytes) {
  constexpr std::size_t kLeast = 4096;
  constexpr std::size_t kMax = std::size_t{1} << 22;
  ++outside_;
  outside_bytes_ += bytes;
  if (filter_.empty()) {
    filter_.assign(kLeast, 0);
  } else if (outside_ * 4 > filter_.size() && filter_.size() < kMax) {
    const std::size_t half = filter_.size();
    filter_.resize(2 * half);
    std::copy_n(filter_.begin(), half, filter_.begin() + static_cast<std::ptrdiff_t>(half));
  }
  if (std::uint8_t& count = filter_[PlaceOf(key)]; count != 255) ++count;
}

void TableBase::TakeFromOutside(const Key& key, std::size_t encoded) {
  outside_bytes_ -= encoded;
  if (--outside_ == 0) return std::vector<std::uint8_t>().swap(filter_);
  if (std::uint8_t& count = filter_[PlaceOf(key)]; count != 255) --count;
}

void TableBase::Forget(EntryBase* entry) {
  if (entry->dirty) dirty_[entry->dirty_at] = nullptr;
  if (entry->flush_at < flushing_.size() && flushing_[entry->flush_at] == entry)
    flushing_[entry->flush_at] = nullptr;
  std::size_t at = HashKey(entry->key) & mask_;
  while (slots_[at].entry != entry) at = (at + 1) & mask_;
  Remove(at);
}

void TableBase::BeginFlush() {
  COBBLESTONE_CHECK(flushing_.empty(), "a state write started while another one is running");
  flushing_.swap(dirty_);
  gathered_ = 0;
  for (std::size_t at = 0; at < flushing_.size(); ++at) {
    if (at + kAhead < flushing_.size()) Prefetch(flushing_[at + kAhead], sizeof(EntryBase));
    EntryBase* const e = flushing_[at];
    if (e == nullptr) continue;
    e->dirty = false;
    e->flushing = true;
    e->flush_at = e->dirty_at;
  }
}

bool TableBase::GatherFlush(std::size_t* limit, RowBuffer& out) {
  for (; gathered_ < flushing_.size() && *limit > 0; --*limit) {
    if (gathered_ + kAhead < flushing_.size())
      Prefetch(flushing_[gathered_ + kAhead], std::min(entry_bytes_, 8 * kCacheLine));
    EntryBase* e = flushing_[gathered_++];
    if (e == nullptr || !e->flushing) continue;  // erased, or already encoded
    EncodeFlushRow(e, out);
  }
  if (gathered_ < flushing_.size()) return false;
  flushing_.clear();
  gathered_ = 0;
  return true;
}

// Row: table key, deleted, length of the value, value. A row that was created and erased without reaching the
// store is omitted, unless host_.every_deletion is set.
void TableBase::EncodeFlushRow(EntryBase* entry, RowBuffer& rows) {
  entry->flushing = false;
  if (!entry->exists && !entry->stored && !host_.every_deletion) return;
  std::string& out = rows.Piece();
  const std::size_t start = out.size();
  out.resize(start + kKeyBytes + 5);
  EncodeKey(id_, entry->key, out.data() + start);
  out[start + kKeyBytes] = entry->exists ? 0 : 1;
  if (entry->exists) Encode(*entry, out);
  const auto length = static_cast<std::uint32_t>(out.size() - start - kKeyBytes - 5);
  std::memcpy(out.data() + start + kKeyBytes + 1, &length, 4);
  entry->stored = entry->exists;
  entry->deleted_in = entry->exists ? 0 : host_.write;
  Weigh(entry, length);
}

void TableBase::FlushEarly(EntryBase* entry) {
  COBBLESTONE_CHECK(host_.flush_rows != nullptr, "an object waits for a state write that is not running");
  EncodeFlushRow(entry, *host_.flush_rows);
}

void TableBase::WeighClean(BytesByAge& bytes) {
  for (std::size_t at = 0; at < slots_.size(); ++at) {
    Prefetch(slots_[(at + kAhead) & mask_].entry, sizeof(EntryBase));
    EntryBase* const e = slots_[at].entry;
    if (e == nullptr) continue;
    const std::size_t age = AgeOf(*e);
    if (age + 1 == bytes.size())  // the object must not appear young when the count wraps
      e->used = static_cast<std::uint8_t>(host_.evictions - age);
    if (IsClean(*e)) bytes[age] += e->bytes;
  }
}

void TableBase::Evict(std::size_t age, double part) {
  constexpr double kAll = 4294967296.0;
  const auto below = static_cast<std::uint64_t>(part * kAll);
  for (std::size_t at = 0; at < slots_.size();) {
    Prefetch(slots_[(at + kAhead) & mask_].entry, sizeof(EntryBase));
    const EntryBase* e = slots_[at].entry;
    if (e != nullptr && IsClean(*e)) {
      const std::size_t of = AgeOf(*e);
      // Selects by hash, so the same objects each time: among objects used equally often a fixed part stays
      // in memory and is found at the next use.
      if (of > age || (of == age && (slots_[at].hash * 0xD1342543DE82EF95ull) >> 32 < below)) {
        Remove(at);  // another object may have moved here
        continue;
      }
    }
    ++at;
  }
}

void TableBase::EvictDeleted() {
  if (!some_deleted_) return;
  some_deleted_ = false;
  for (std::size_t at = 0; at < slots_.size();) {
    const EntryBase* e = slots_[at].entry;
    if (e != nullptr && !e->exists) {
      if (IsClean(*e)) {
        Remove(at);  // another object may have moved here
        continue;
      }
      some_deleted_ = true;
    }
    ++at;
  }
}

void EvictTo(std::uint64_t keep, std::span<TableBase* const> tables, TableHost& host) {
  std::uint64_t held = 0;
  for (const TableBase* table : tables)
    if (!table->resident()) held += table->bytes();
  if (held <= keep) return;
  std::uint64_t excess = held - keep + keep / 8;
  BytesByAge clean{};
  for (TableBase* table : tables)
    if (!table->resident()) table->WeighClean(clean);
  std::size_t age = clean.size() - 1;
  for (; age > 0 && clean[age] < excess; --age) excess -= clean[age];
  const double part =
      clean[age] > excess ? static_cast<double>(excess) / static_cast<double>(clean[age]) : 1.0;
  for (TableBase* table : tables)
    if (!table->resident()) table->Evict(age, part);
  ++host.evictions;
}

}  // namespace cobblestone::stream
