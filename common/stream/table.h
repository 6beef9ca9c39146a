// State of a slot: tables of decoded objects over a Store (docs/runtime.md).
//
// Lookups go to the slot's objects in memory, then to the store. A change is made in place and belongs to the
// current commit ("touched"); after the commit the object is "dirty" until the next state write. A state
// write holds the state as of one commit: an object that changes while the write is being gathered is encoded
// first (copy on write).
//
// A resident table is entirely in memory. A waiting table (MarkWaiting) is a cached table that counts the
// rows that are only in the store and keeps a filter of their keys, so that most lookups of absent rows do
// not read the store.
//
// Threads: a slot and its tables belong to one thread at a time. A table never locks.
// Invariant: a touched or dirty object is never evicted. Results depend on a table's rows only, never on
// which objects are in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/store/store.h"
#include "common/stream/hash128.h"
#include "common/stream/row_buffer.h"
#include "common/stream/state_codec.h"

namespace cobblestone::stream {

// Key of a state row: table, project, subject. Encoded big-endian, so that rows are ordered by project.
struct Key {
  std::uint32_t project = 0;
  std::uint64_t id = 0;
  std::uint64_t sub = 0;  // includes full host numbers: a truncated number does not identify a host

  friend constexpr auto operator<=>(const Key&, const Key&) = default;
};

inline constexpr std::size_t kKeyBytes = 21;
inline constexpr std::size_t kProjectPrefixBytes = 5;           // of a key: table and project
void EncodeKey(std::uint8_t table, const Key& key, char* out);  // kKeyBytes bytes
// False: the bytes are not an encoded key.
[[nodiscard]] bool DecodeKey(std::string_view bytes, std::uint8_t* table, Key* key);

inline std::uint64_t HashKey(const Key& key) {
  std::uint64_t h = (key.id + (static_cast<std::uint64_t>(key.project) << 40)) * 0x9E3779B97F4A7C15ull;
  h ^= (key.sub + 0x7F4A7C15ull) * 0xD1342543DE82EF95ull;
  return h ^ (h >> 29);
}

// A table as stored: its number within the slot, and the schema version of its values. A new version appends fields
// (common/base/added_in.h), and its program still reads rows of all older versions.
template <class Value>
struct TableSpec {
  std::uint8_t id = 0;
  std::uint8_t version = 1;
};

// Appends a stored value to `out`: version byte and fields.
template <class Value>
void EncodeRow(const TableSpec<Value>& table, const Value& value, std::string& out) {
  out.push_back(static_cast<char>(table.version));
  EncodeState(value, out);
}

// kFatal: the row has a newer schema version than this program.
template <class Value>
Status DecodeRow(const TableSpec<Value>& table, std::string_view bytes, Value& value) {
  const std::string name = "state table " + std::to_string(table.id);
  if (bytes.empty()) return Status::Corrupted("an empty value in " + name);
  const auto version = static_cast<std::uint8_t>(bytes[0]);
  if (version > table.version)
    return Status::Fatal(name + " was written by a newer version of this program; run that version");
  StateReader reader(bytes.substr(1), version);
  reader(value);
  if (!reader.done()) return Status::Corrupted("a value in " + name + " cannot be decoded");
  return Status::Ok();
}

struct EntryBase {
  Key key;
  bool exists = false;          // false: known to be absent, or erased
  bool touched = false;         // changed in the current commit
  bool dirty = false;           // changed since the last state write began
  bool flushing = false;        // part of the current state write, not yet encoded
  bool stored = false;          // the store may hold a row for it
  std::uint8_t deleted_in = 0;  // the state write that contains its deletion (TableHost::write); 0: none
  std::uint8_t used = 0;        // count of evictions at the last use (TableHost::evictions)
  std::uint32_t dirty_at = 0;   // index in the dirty list, if dirty
  std::uint32_t flush_at = 0;   // index in the current state write, if part of it
  std::uint32_t bytes = 0;      // approximate memory, as of the last read or write
};

// Thrown by a table whose row cannot be read. The stage cannot continue as if the row did not exist.
// TableHost::failure holds the reason. Slot catches the exception and stops.
struct UnreadableRow {};

class TableBase;

// State shared by a slot and its tables.
struct TableHost {
  const store::Store* store = nullptr;  // null: no store, memory only (replay)
  std::vector<std::pair<TableBase*, EntryBase*>> touched;
  RowBuffer* flush_rows = nullptr;  // set while a state write is gathered: receives early encodings
  std::uint8_t write = 0;           // number of the current state write, 1 to 255; 0: none
  Status failure;                   // of a read; the slot stops after the record
  bool damaged = false;             // the failure is a damaged row: the state differs from what was written
  std::uint64_t reads = 0;          // reads of the store
  std::uint8_t evictions = 0;       // number so far; wraps after 255
  // A row created and erased without reaching this store is still written as a deletion, because a checkpoint
  // that another store made may contain the row.
  bool every_deletion = false;
};

// Bytes of objects by the number of evictions since their last use; the last element includes all older objects.
using BytesByAge = std::array<std::uint64_t, 16>;

// Rows of one kind that wait for an event that has not arrived.
struct WaitingRows {
  std::string_view kind;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  // stored size; 0 for a row that was never written

  friend bool operator==(const WaitingRows&, const WaitingRows&) = default;
};

class TableBase {
 public:
  TableBase(TableHost& host, std::uint8_t id, std::uint8_t version, bool resident, std::uint32_t entry_bytes)
      : host_(host), id_(id), version_(version), resident_(resident), entry_bytes_(entry_bytes) {}
  virtual ~TableBase() = default;
  TableBase(const TableBase&) = delete;
  TableBase& operator=(const TableBase&) = delete;

  [[nodiscard]] std::uint8_t id() const { return id_; }
  [[nodiscard]] bool resident() const { return resident_; }
  [[nodiscard]] std::size_t size() const { return used_; }
  // Approximate memory. Memory owned by the objects (strings, lists) is estimated as twice their encoded
  // size.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Most records use rows of this table repeatedly: Slot::Warm() reads them in one scan before many records
  // are executed.
  void MarkHot() { hot_ = true; }
  [[nodiscard]] bool hot() const { return hot_; }
  [[nodiscard]] bool Has(const Key& key) const { return Lookup(key) != nullptr; }

  // Declares a waiting table; call before the slot opens. Its rows wait for events that may never arrive, so
  // only the input limits their number. They are counted under this kind, and most are erased before they
  // reach the store. Not for a resident table.
  void MarkWaiting(std::string_view kind) {
    COBBLESTONE_CHECK(!resident_, "waiting rows must not be held in memory");
    waiting_ = kind;
  }
  [[nodiscard]] bool waits() const { return !waiting_.empty(); }
  [[nodiscard]] WaitingRows waiting() const { return {waiting_, rows(), outside_bytes_ + EncodedBytes()}; }
  // Rows in memory and in the store. Resident and waiting tables only.
  [[nodiscard]] std::uint64_t rows() const { return here_ + outside_; }
  // Rows that are only in the store. Waiting tables only.
  [[nodiscard]] std::uint64_t outside() const { return outside_; }
  // Counts a row that is only in the store, at open; `bytes`: size of its value.
  void CountStored(const Key& key, std::size_t bytes);

  // For a row of this table in the store whose key does not decode.
  [[nodiscard]] Status BadKey() const;
  // For the table's owner: reports a row that contradicts itself or contains bytes that do not decode. `what`
  // describes the damage, such as "its completion does not decode".
  [[noreturn]] void Damaged(const Key& key, std::string_view what) const;

  // Appends version byte and value of an existing object.
  virtual void Encode(const EntryBase& entry, std::string& out) const = 0;
  // Adds key and value, or the fact that the row is absent.
  virtual void Fingerprint(const EntryBase& entry, Hasher& hasher) const = 0;
  // Appends a row in stored form to `out`; kNotFound when absent. Between commits.
  virtual Status Read(const Key& key, std::string& out) = 0;
  // Visits all rows, in no order. Between commits.
  virtual Status ReadAll(
      const std::function<Status(const Key& key, std::string_view value)>& visit) const = 0;
  // Loads a row from the store as clean; it must be neither in memory nor counted (CountStored). Fills
  // resident tables at open.
  virtual Status Load(const Key& key, std::string_view value) = 0;

  // End of a commit: the touched object becomes dirty. Resident and waiting tables forget an erased object
  // that never reached the store.
  void Committed(EntryBase* entry) {
    entry->touched = false;
    if ((resident_ || waits()) && !entry->exists) {
      if (!entry->stored && !host_.every_deletion && !LeavesWithTheWrite(*entry)) return Forget(entry);
      some_deleted_ = true;
    }
    if (!entry->dirty) {
      entry->dirty = true;
      entry->dirty_at = static_cast<std::uint32_t>(dirty_.size());
      dirty_.push_back(entry);
    }
  }
  // Begins a state write of the dirty objects. No other write may be gathering.
  void BeginFlush();
  // Examines up to `*limit` objects of the state write and encodes into `out` (EncodeFlushRow) those not
  // encoded early. Subtracts the number examined from `*limit`. True when none is left.
  bool GatherFlush(std::size_t* limit, RowBuffer& out);
  [[nodiscard]] std::size_t dirty_count() const { return dirty_.size(); }

  // Adds the bytes of objects that can be evicted: those equal to their stored row.
  void WeighClean(BytesByAge& bytes);
  // Evicts clean objects older than `age`, and the fraction `part` of those of exactly that age. Not while a
  // state write is gathered or applied: the store does not yet hold the newest values.
  void Evict(std::size_t age, double part);
  // Frees objects of a resident or waiting table whose deletion has been written. Not during a state write
  // either.
  void EvictDeleted();

  void EncodeFlushRow(EntryBase* entry, RowBuffer& rows);

 protected:
  [[noreturn]] void Unreadable(Status status) const;
  EntryBase* Lookup(const Key& key) const {
    if (slots_.empty()) return nullptr;
    const std::uint64_t hash = HashKey(key);
    std::size_t at = hash & mask_;
    for (; slots_[at].entry != nullptr; at = (at + 1) & mask_)
      if (slots_[at].hash == hash && slots_[at].entry->key == key) return slots_[at].entry;
    return nullptr;
  }
  void Insert(EntryBase* entry);
  // False: the store may have a row with this key, which is not in memory.
  [[nodiscard]] bool KnownAbsent(const Key& key) {
    if (key < gap_from_ || !(key < gap_to_)) return false;
    gap_from_ = key;
    return true;
  }
  // The store was read and has no row with this key. When absent keys of a project come in ascending order, as in the
  // first import of a file, one scan finds the next key that there is, and the keys before it are not read.
  void NoteAbsent(const Key& key);
  // `encoded`: size of the row.
  void Weigh(EntryBase* entry, std::size_t encoded) {
    bytes_ -= entry->bytes;
    entry->bytes = entry_bytes_ + static_cast<std::uint32_t>(2 * encoded);
    bytes_ += entry->bytes;
  }
  virtual void Free(EntryBase* entry) = 0;
  void Touch(EntryBase* entry) {
    if (entry->flushing) FlushEarly(entry);
    if (!entry->touched) {
      entry->touched = true;
      host_.touched.emplace_back(this, entry);
    }
    entry->used = host_.evictions;
  }
  [[nodiscard]] static bool IsClean(const EntryBase& entry) {
    return !entry.touched && !entry.dirty && !entry.flushing;
  }
  // The current state write contains the row's deletion: until the write is applied, the store still has the
  // row.
  [[nodiscard]] bool LeavesWithTheWrite(const EntryBase& entry) const {
    return !resident_ && entry.deleted_in != 0 && entry.deleted_in == host_.write;
  }
  // True if a row that is not in memory is absent: there is no store, or every stored row is in memory.
  [[nodiscard]] bool WholeInMemory() const {
    return resident_ || host_.store == nullptr || (waits() && outside_ == 0);
  }
  // For a row that is not in memory: false if it is certainly absent.
  [[nodiscard]] bool MayBeInStore(const Key& key) const {
    if (WholeInMemory()) return false;
    return !waits() || filter_[PlaceOf(key)] != 0;
  }
  [[nodiscard]] std::uint64_t EncodedOf(const EntryBase& entry) const {
    return (entry.bytes - entry_bytes_) / 2;
  }
  [[nodiscard]] std::uint64_t EncodedBytes() const { return (bytes_ - used_ * entry_bytes_) / 2; }
  // A row of the store is now in memory.
  void Brought(const Key& key, std::size_t encoded) {
    ++here_;
    if (waits()) TakeFromOutside(key, encoded);
  }
  [[nodiscard]] std::size_t PlaceOf(const Key& key) const {
    return (HashKey(key) * 0xD1342543DE82EF95ull >> 32) & (filter_.size() - 1);
  }
  void TakeFromOutside(const Key& key, std::size_t encoded);
  [[nodiscard]] std::size_t AgeOf(const EntryBase& entry) const {
    return std::min<std::size_t>(static_cast<std::uint8_t>(host_.evictions - entry.used),
                                 std::tuple_size_v<BytesByAge> - 1);
  }
  void FlushEarly(EntryBase* entry);

  TableHost& host_;
  std::uint8_t id_;
  std::uint8_t version_;
  bool resident_;
  bool hot_ = false;
  bool some_deleted_ = false;  // EvictDeleted() may find something
  std::uint32_t entry_bytes_;
  std::string_view waiting_;  // kind of its rows; empty: not a waiting table
  std::uint64_t bytes_ = 0;
  std::uint64_t here_ = 0;           // rows in memory
  std::uint64_t outside_ = 0;        // rows only in the store, if counted
  std::uint64_t outside_bytes_ = 0;  // size of their values
  // Counting filter over a hash of the keys of rows that are only in the store. 255 is an upper limit that is
  // never decremented. Empty if there are no such rows.
  std::vector<std::uint8_t> filter_;
  // The hash of the key is beside the entry, since nearly every lookup that passes another entry would read it from
  // memory that is not in the cache.
  struct Place {
    EntryBase* entry = nullptr;
    std::uint64_t hash = 0;
  };
  std::vector<Place> slots_;
  std::size_t mask_ = 0;
  std::size_t used_ = 0;
  // From gap_from_ to before gap_to_ no row is only in the store.
  Key gap_from_;
  Key gap_to_;
  Key last_absent_;
  std::uint32_t ascending_ = 0;       // absent keys in ascending order, last_absent_ included
  std::vector<EntryBase*> dirty_;     // null: forgotten
  std::vector<EntryBase*> flushing_;  // null: forgotten
  std::size_t gathered_ = 0;

 private:
  void Forget(EntryBase* entry);
  void Remove(std::size_t at);
  void Grow();
};

template <class Value>
class Table final : public TableBase {
 public:
  struct Entry : EntryBase {
    Value value{};
  };

  // A newer schema version in the store stops the slot.
  Table(TableHost& host, const TableSpec<Value>& spec, bool resident)
      : TableBase(host, spec.id, spec.version, resident, sizeof(Entry)) {}
  ~Table() override {
    for (const Place& place : slots_) delete static_cast<Entry*>(place.entry);
    for (Entry* e : spare_) delete e;
  }

  // Find, Need, Mutable and Erase throw UnreadableRow if the store cannot read the row or the row does not
  // decode.
  // Find returns null if the row is absent. Objects do not move and are evicted only between commits, so the
  // pointer stays valid while the current record is processed.
  const Value* Find(const Key& key) {
    Entry* e = Resolve(key);
    return e != nullptr && e->exists ? &e->value : nullptr;
  }
  // For a row that must exist (another row or an earlier lookup says so). An absent row means that the state
  // is damaged.
  const Value& Need(const Key& key) {
    const Value* found = Find(key);
    if (found == nullptr) Damaged(key, "is missing");
    return *found;
  }
  // For changes; creates a default value if the row is absent (*created is then true).
  Value& Mutable(const Key& key, bool* created = nullptr) {
    Entry* e = Resolve(key);
    if (e == nullptr) e = Add(key);
    Touch(e);
    if (created != nullptr) *created = !e->exists;
    if (!e->exists) ++here_;
    e->exists = true;  // an absent object holds a default value
    return e->value;
  }
  void Erase(const Key& key) {
    Entry* e = Resolve(key);
    if (e == nullptr || !e->exists) return;
    Touch(e);
    e->exists = false;
    --here_;
    if (e->stored)
      e->value = Value{};  // kept without memory of its own until the deletion is written
    else
      Reset(e->value);
  }
  // Visits all rows in memory, in no order; for resident tables these are all rows. `visit` must not change
  // the table.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const Place& place : slots_)
      if (place.entry != nullptr && place.entry->exists)
        visit(place.entry->key, static_cast<const Entry*>(place.entry)->value);
  }

  // Visits all rows, in memory and in the store, in no order, without loading them. Between commits.
  template <class Visit>
  Status ForEachStored(Visit&& visit) const {
    ForEach(visit);
    const char prefix = static_cast<char>(id_);
    return ForEachOutside({&prefix, 1}, visit);
  }
  // The same within a commit, for a stage: all rows, or all rows of a project. The order depends on what is
  // in memory, so no result may depend on it. `visit` must not change the table; its arguments are valid
  // until it returns. Throws UnreadableRow if a row cannot be read.
  template <class Visit>
  void Walk(Visit&& visit) const {
    if (Status s = ForEachStored(visit); !s.ok()) Unreadable(std::move(s));
  }
  template <class Visit>
  void WalkProject(std::uint32_t project, Visit&& visit) const {
    ForEach([&](const Key& key, const Value& value) {
      if (key.project == project) visit(key, value);
    });
    char first[kKeyBytes];
    EncodeKey(id_, {.project = project, .id = 0, .sub = 0}, first);
    if (Status s = ForEachOutside({first, kProjectPrefixBytes}, visit); !s.ok()) Unreadable(std::move(s));
  }
  // The `limit` smallest keys of a project, from `from` on, for whose rows `wanted(key, value)` is true. Ascending.
  // Visits the rows in memory in no order, then the rows that are only in the store in order of their keys, from
  // `from` on and only as far as needed. Within a commit, as WalkProject.
  template <class Wanted>
  std::vector<Key> FirstKeys(const Key& from, std::size_t limit, Wanted&& wanted) const {
    std::vector<Key> here;
    ForEach([&](const Key& key, const Value& value) {
      if (key.project != from.project || key < from || !wanted(key, value)) return;
      here.push_back(key);
      if (here.size() >= 2 * limit) {  // bounds the memory
        std::nth_element(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(limit), here.end());
        here.resize(limit);
      }
    });
    std::sort(here.begin(), here.end());
    if (here.size() > limit) here.resize(limit);
    std::vector<Key> outside;
    auto merged = here.begin();  // keys before it are smaller than the last one of `outside`
    const Status enough = Status::NotFound("enough keys");
    char first[kKeyBytes];
    EncodeKey(id_, from, first);
    Status s = ForEachOutsideFrom(
        {first, kProjectPrefixBytes}, {first, kKeyBytes}, [&](const Key& key, const Value& value) {
          while (merged != here.end() && *merged < key) ++merged;
          if (outside.size() + static_cast<std::size_t>(merged - here.begin()) >= limit) return enough;
          if (wanted(key, value)) outside.push_back(key);
          return Status::Ok();
        });
    if (!s.ok() && s.code() != enough.code()) Unreadable(std::move(s));
    const auto middle = static_cast<std::ptrdiff_t>(here.size());
    here.insert(here.end(), outside.begin(), outside.end());
    std::inplace_merge(here.begin(), here.begin() + middle, here.end());
    if (here.size() > limit) here.resize(limit);
    return here;
  }

  void Encode(const EntryBase& entry, std::string& out) const override {
    EncodeRow<Value>({.id = id_, .version = version_}, static_cast<const Entry&>(entry).value, out);
  }
  void Fingerprint(const EntryBase& entry, Hasher& hasher) const override {
    hasher.Scalar(static_cast<std::uint32_t>(id_ << 1 | (entry.exists ? 1 : 0)));
    hasher.Scalar(entry.key.project);
    hasher.Scalar(entry.key.id);
    hasher.Scalar(entry.key.sub);
    if (!entry.exists) return;
    FingerprintWriter<Hasher> writer(hasher);
    writer(static_cast<const Entry&>(entry).value);
  }
  Status Load(const Key& key, std::string_view bytes) override {
    auto entry = std::make_unique<Entry>();
    entry->key = key;
    if (Status s = Decode(bytes, entry->value); !s.ok()) return s;
    entry->exists = true;
    entry->stored = true;
    entry->used = host_.evictions;
    Weigh(entry.get(), bytes.size());
    Insert(entry.release());
    ++here_;
    return Status::Ok();
  }
  Status Decode(std::string_view bytes, Value& value) const {
    return DecodeRow<Value>({.id = id_, .version = version_}, bytes, value);
  }
  Status Read(const Key& key, std::string& out) override {
    const Entry* e = nullptr;
    try {
      e = Resolve(key);
    } catch (const UnreadableRow&) {
      return host_.failure;
    }
    if (!host_.failure.ok()) return host_.failure;
    if (e == nullptr || !e->exists) return Status::NotFound("no such row");
    Encode(*e, out);
    return Status::Ok();
  }
  Status ReadAll(const std::function<Status(const Key& key, std::string_view value)>& visit) const override {
    std::string bytes;
    Status ended;
    Status status = ForEachStored([&](const Key& key, const Value& value) {
      if (!ended.ok()) return;
      bytes.clear();
      EncodeRow<Value>({.id = id_, .version = version_}, value, bytes);
      ended = visit(key, bytes);
    });
    return ended.ok() ? status : ended;
  }

 protected:
  void Free(EntryBase* entry) override {
    auto* e = static_cast<Entry*>(entry);
    if (spare_.size() >= kSpareEntries) {
      delete e;
      return;
    }
    static_cast<EntryBase&>(*e) = EntryBase{};
    Reset(e->value);
    spare_.push_back(e);
  }

 private:
  // Visits rows that are only in the store.
  template <class Visit>
  Status ForEachOutside(std::string_view prefix, Visit&& visit) const {
    return ForEachOutsideFrom(prefix, prefix, [&](const Key& key, const Value& value) {
      visit(key, value);
      return Status::Ok();
    });
  }
  // `visit` returns a status; other than ok, it ends the scan and is returned.
  template <class Visit>
  Status ForEachOutsideFrom(std::string_view prefix, std::string_view from, Visit&& visit) const {
    if (WholeInMemory()) return Status::Ok();
    return host_.store->ScanFrom(prefix, from, [&](std::string_view bytes, std::string_view value) {
      std::uint8_t id = 0;
      Key key;
      if (!DecodeKey(bytes, &id, &key)) return BadKey();
      if (Lookup(key) != nullptr) return Status::Ok();  // memory is newer
      Value decoded{};
      if (Status s = Decode(value, decoded); !s.ok()) return s;
      return visit(key, decoded);
    });
  }
  // A value with Clear() keeps its allocated memory for reuse.
  static void Reset(Value& value) {
    if constexpr (requires { value.Clear(); })
      value.Clear();
    else
      value = Value{};
  }
  Entry* Add(const Key& key) {
    Entry* e = nullptr;
    if (spare_.empty()) {
      e = new Entry;
    } else {
      e = spare_.back();
      spare_.pop_back();
    }
    e->key = key;
    e->used = host_.evictions;
    Weigh(e, 0);
    Insert(e);
    return e;
  }
  Entry* Resolve(const Key& key) {
    if (EntryBase* e = Lookup(key)) {
      e->used = host_.evictions;
      return static_cast<Entry*>(e);
    }
    if (!MayBeInStore(key) || KnownAbsent(key)) return nullptr;
    char bytes[kKeyBytes];
    EncodeKey(id_, key, bytes);
    ++host_.reads;
    Status s = host_.store->Get({bytes, kKeyBytes}, &scratch_);
    if (s.code() == StatusCode::kNotFound) {
      NoteAbsent(key);
      return Add(key);  // cache the absence
    }
    Value value{};
    if (s.ok()) s = Decode(scratch_, value);
    if (!s.ok()) Unreadable(std::move(s));
    Entry* e = Add(key);
    e->value = std::move(value);
    e->exists = true;
    e->stored = true;
    Weigh(e, scratch_.size());
    Brought(key, scratch_.size());
    return e;
  }

  static constexpr std::size_t kSpareEntries = 4096;
  std::vector<Entry*> spare_;  // with default values
  std::string scratch_;
};

// Evicts clean objects of these tables, all of one host, if the tables that are not resident hold more than
// `keep` bytes. The least recently used objects of all tables go first. Evicts keep / 8 bytes more than
// needed, so that the next call does not have to evict again at once. (Evicting a share of each table would
// evict hot objects of one table in favor of cold objects of another.)
void EvictTo(std::uint64_t keep, std::span<TableBase* const> tables, TableHost& host);

}  // namespace cobblestone::stream
