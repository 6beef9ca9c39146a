// State of a slot: tables of decoded objects over a Store (docs/runtime.md).
//
// Reads: this slot's objects in memory, then the store. A change is made in place and belongs to the commit under way
// ("touched"); after the commit it waits for the next state write ("dirty"). The bytes that a state write takes are
// those of one commit: an object that is changed again while a write is gathering is encoded first (copy on write).
//
// A resident table is in memory as a whole. A table of rows that wait (MarkWaiting) is a cached table that counts the rows that
// only the store has, and keeps a filter of their keys: most look-ups of an absent row read no store.
//
// Threads: a slot and its tables belong to one thread at a time. A table never locks.
// Invariant: an object that is touched or dirty is never evicted. Which objects are in memory decides no result: what a table
// answers depends on its rows alone.
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

// Every state key: which table, then the project, then the subject. As bytes big-endian, so that order is by project.
struct Key {
  std::uint32_t project = 0;
  std::uint64_t id = 0;
  std::uint64_t sub = 0;  // whole numbers of hosts, too: part of a number is not who it is

  friend constexpr auto operator<=>(const Key&, const Key&) = default;
};

inline constexpr std::size_t kKeyBytes = 21;
inline constexpr std::size_t kProjectPrefixBytes = 5;           // of a key: its table and its project
void EncodeKey(std::uint8_t table, const Key& key, char* out);  // kKeyBytes bytes
// False: these are not the bytes of a key.
[[nodiscard]] bool DecodeKey(std::string_view bytes, std::uint8_t* table, Key* key);

inline std::uint64_t HashKey(const Key& key) {
  std::uint64_t h = (key.id + (static_cast<std::uint64_t>(key.project) << 40)) * 0x9E3779B97F4A7C15ull;
  h ^= (key.sub + 0x7F4A7C15ull) * 0xD1342543DE82EF95ull;
  return h ^ (h >> 29);
}

// A table as it is stored: its number among those of a slot, and the schema version of its values.
template <class Value>
struct TableSpec {
  std::uint8_t id = 0;
  std::uint8_t version = 1;
};

// In the version byte of a stored value: integers of 128 bits are varints. Rows of older programs have not got it.
inline constexpr std::uint8_t kVarintWide = 0x80;

// A stored value, appended to `out`: version byte and fields.
template <class Value>
void EncodeRow(const TableSpec<Value>& table, const Value& value, std::string& out) {
  out.push_back(static_cast<char>(table.version | kVarintWide));
  EncodeState(value, out);
}

// kFatal: of a newer version than this program knows.
template <class Value>
Status DecodeRow(const TableSpec<Value>& table, std::string_view bytes, Value& value) {
  const std::string name = "state table " + std::to_string(table.id);
  if (bytes.empty()) return Status::Corrupted("an empty value in " + name);
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  const auto version = static_cast<std::uint8_t>(first & ~kVarintWide);
  if (version > table.version)
    return Status::Fatal(name + " was written by a newer version of this program; run that version");
  StateReader reader(bytes.substr(1), version, (first & kVarintWide) == 0);
  reader(value);
  if (!reader.done()) return Status::Corrupted("a value in " + name + " does not decode");
  return Status::Ok();
}

struct EntryBase {
  Key key;
  bool exists = false;         // false: known to be absent, or erased
  bool touched = false;        // changed in the commit under way
  bool dirty = false;          // changed since the last state write began
  bool flushing = false;       // belongs to the state write under way, not yet encoded
  bool stored = false;         // the store may hold a row for it
  std::uint8_t gone_in = 0;    // the state write that held its deletion (TableHost::write); 0: none
  std::uint8_t used = 0;       // last, at this count of evictions
  std::uint32_t dirty_at = 0;  // its place among the dirty, if it is
  std::uint32_t flush_at = 0;  // its place in the state write that is gathered, if it has one
  std::uint32_t bytes = 0;     // of memory, about: as when it was last read or written
};

// Thrown by a table whose row cannot be read: the stage that asked can neither go on as if the row did not exist nor
// with part of it. TableHost::failure has the reason. Slot catches it and stops.
struct UnreadableRow {};

class TableBase;

// Where a table reports what it does; the slot.
struct TableHost {
  const store::Store* store = nullptr;  // null: no store, memory only (replay)
  std::vector<std::pair<TableBase*, EntryBase*>> touched;
  RowBuffer* flush_rows = nullptr;  // while a state write gathers: where early encodings go
  std::uint8_t write = 0;           // number of the state write under way, 1 to 255; 0: there is none
  Status failure;                   // a read that failed; the slot stops after the record
  bool damaged = false;             // the failure is that of a row: the state is not what was written
  std::uint64_t reads = 0;          // of the store
  std::uint8_t evictions = 0;       // so far; begins again behind 255
  // What came and went without ever reaching this store is written as gone all the same: a checkpoint that another store made
  // may have it.
  bool every_deletion = false;
};

// Bytes of objects by the number of evictions since they were last used; the last one: or more.
using BytesByAge = std::array<std::uint64_t, 16>;

// Rows that wait for an event that has not come, of one kind.
struct WaitingRows {
  std::string_view kind;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  // as they are stored; of a row that was never written 0

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
  // Of memory, about: what its objects hold of their own (strings, lists) is taken for twice what they are encoded in.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Records come back to the same rows of it all the time: worth reading in one go before many are executed (Slot::Warm).
  void MarkHot() { hot_ = true; }
  [[nodiscard]] bool hot() const { return hot_; }
  [[nodiscard]] bool Has(const Key& key) const { return Lookup(key) != nullptr; }

  // Before the slot opens. Its rows wait for an event of others, which may never come, so input alone says how many there are. They
  // are counted, under this kind, and most of them come and go without ever reaching the store. Not for a resident table.
  void MarkWaiting(std::string_view kind) {
    COBBLESTONE_CHECK(!resident_, "rows that wait must not be held in memory");
    waiting_ = kind;
  }
  [[nodiscard]] bool waits() const { return !waiting_.empty(); }
  [[nodiscard]] WaitingRows waiting() const { return {waiting_, rows(), outside_bytes_ + EncodedBytes()}; }
  // How many there are, in memory and in the store. Of a resident table, or of one that waits.
  [[nodiscard]] std::uint64_t rows() const { return here_ + outside_; }
  // Those that only the store has. Of a table that waits.
  [[nodiscard]] std::uint64_t outside() const { return outside_; }
  // A row that only the store has, at open; `bytes`: of its value.
  void CountStored(const Key& key, std::size_t bytes);

  // For the owner: a row whose own parts contradict each other, or bytes in it that do not decode. `what`: of the row,
  // such as "its completion does not decode".
  [[nodiscard]] Status BadKey() const;  // of a row of this table in the store
  [[noreturn]] void Damaged(const Key& key, std::string_view what) const;

  // Version byte and value of an object that exists.
  virtual void Encode(const EntryBase& entry, std::string& out) const = 0;
  // Key and value, or that there is none.
  virtual void Fingerprint(const EntryBase& entry, Hasher& hasher) const = 0;
  // A row as it would be stored, appended to `out`; kNotFound when absent. Between commits.
  virtual Status Read(const Key& key, std::string& out) = 0;
  // All of them, in no order. Between commits.
  virtual Status ReadAll(
      const std::function<Status(const Key& key, std::string_view value)>& visit) const = 0;
  // Brings a row of the store that is not there yet, nor counted (CountStored), into memory as clean. Resident tables are filled so
  // at open.
  virtual Status Load(const Key& key, std::string_view value) = 0;

  // End of a commit: what was touched becomes dirty. What came and went without ever reaching the store is forgotten by tables in
  // which that is the rule (resident ones, and rows that wait).
  void Committed(EntryBase* entry) {
    entry->touched = false;
    if ((resident_ || waits()) && !entry->exists) {
      if (!entry->stored && !host_.every_deletion && !LeavesWithTheWrite(*entry)) return Forget(entry);
      some_gone_ = true;
    }
    if (!entry->dirty) {
      entry->dirty = true;
      entry->dirty_at = static_cast<std::uint32_t>(dirty_.size());
      dirty_.push_back(entry);
    }
  }
  // A state write begins: the dirty set becomes the set to be written. Nothing else is gathered meanwhile.
  void BeginFlush();
  // Looks at up to `*limit` objects of the set, and encodes as rows into `out` (EncodeFlushRow) those that were not
  // encoded early; true when none is left. Takes their number off `*limit`.
  bool GatherFlush(std::size_t* limit, RowBuffer& out);
  [[nodiscard]] std::size_t dirty_count() const { return dirty_.size(); }

  // Adds what may go: objects that the store has as they are.
  void WeighClean(BytesByAge& bytes);
  // Lets go of those that are older than `age`, and of this part of those that are of it. Not while a state write is gathered or
  // applied: the store does not hold the newest bytes yet.
  void Evict(std::size_t age, double part);
  // Drops the objects of a resident or waiting table whose deletion has been written. Likewise not during a state write.
  void EvictGone();

  void EncodeFlushRow(EntryBase* entry, RowBuffer& rows);

 protected:
  [[noreturn]] void Unreadable(Status status) const;
  EntryBase* Lookup(const Key& key) const {
    if (slots_.empty()) return nullptr;
    std::size_t at = HashKey(key) & mask_;
    while (EntryBase* e = slots_[at]) {
      if (e->key == key) return e;
      at = (at + 1) & mask_;
    }
    return nullptr;
  }
  void Insert(EntryBase* entry);
  // `encoded`: bytes of its row.
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
  // Its deletion is in the state write under way: until that is applied, the store still has the row.
  [[nodiscard]] bool LeavesWithTheWrite(const EntryBase& entry) const {
    return !resident_ && entry.gone_in != 0 && entry.gone_in == host_.write;
  }
  // What is not in memory is absent: there is no store, or it has nothing that is not here.
  [[nodiscard]] bool WholeInMemory() const {
    return resident_ || host_.store == nullptr || (waits() && outside_ == 0);
  }
  // A row that is not in memory: false where it is absent for certain.
  [[nodiscard]] bool MayBeInStore(const Key& key) const {
    if (WholeInMemory()) return false;
    return !waits() || filter_[PlaceOf(key)] != 0;
  }
  [[nodiscard]] std::uint64_t EncodedOf(const EntryBase& entry) const {
    return (entry.bytes - entry_bytes_) / 2;
  }
  [[nodiscard]] std::uint64_t EncodedBytes() const { return (bytes_ - used_ * entry_bytes_) / 2; }
  // A row of the store that is in memory from now on.
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
  bool some_gone_ = false;  // EvictGone() may find something
  std::uint32_t entry_bytes_;
  std::string_view waiting_;  // kind of its rows; empty: they do not wait
  std::uint64_t bytes_ = 0;
  std::uint64_t here_ = 0;           // rows that are in memory
  std::uint64_t outside_ = 0;        // rows that only the store has, where they are counted
  std::uint64_t outside_bytes_ = 0;  // of their values
  // By a part of the key's hash, how many of these rows have it, or more; 255: as many or more, for good. Empty where there are none.
  std::vector<std::uint8_t> filter_;
  std::vector<EntryBase*> slots_;
  std::size_t mask_ = 0;
  std::size_t used_ = 0;
  std::vector<EntryBase*> dirty_;     // null: forgotten since
  std::vector<EntryBase*> flushing_;  // null: forgotten since
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
    for (EntryBase* e : slots_)
      if (e != nullptr) delete static_cast<Entry*>(e);
    for (Entry* e : spare_) delete e;
  }

  // A row that the store holds but cannot read, or that does not decode, makes Find, Need, Mutable and Erase throw
  // UnreadableRow.
  // Null when absent. Objects do not move and are let go only between commits, so the pointer lives through the record
  // under way.
  const Value* Find(const Key& key) {
    Entry* e = Resolve(key);
    return e != nullptr && e->exists ? &e->value : nullptr;
  }
  // Of a row that another row, or an earlier look, says there is: where it is absent, the state is damaged.
  const Value& Need(const Key& key) {
    const Value* found = Find(key);
    if (found == nullptr) Damaged(key, "is missing");
    return *found;
  }
  // For changing; made as a default value when absent (*created tells).
  Value& Mutable(const Key& key, bool* created = nullptr) {
    Entry* e = Resolve(key);
    if (e == nullptr) e = Add(key);
    Touch(e);
    if (created != nullptr) *created = !e->exists;
    if (!e->exists) ++here_;
    e->exists = true;  // an absent one is a default value
    return e->value;
  }
  void Erase(const Key& key) {
    Entry* e = Resolve(key);
    if (e == nullptr || !e->exists) return;
    Touch(e);
    e->exists = false;
    --here_;
    if (e->stored)
      e->value = Value{};  // it stays until the store knows: with no memory of its own
    else
      Reset(e->value);
  }
  // All that exist in memory, in no order; for resident tables that is all there is. Nothing may be changed meanwhile.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const EntryBase* e : slots_)
      if (e != nullptr && e->exists) visit(e->key, static_cast<const Entry*>(e)->value);
  }

  // All that exist, in memory and in the store, in no order, without filling the memory. Between commits.
  template <class Visit>
  Status ForEachStored(Visit&& visit) const {
    ForEach(visit);
    const char prefix = static_cast<char>(id_);
    return ForEachOutside({&prefix, 1}, visit);
  }
  // The same within a commit, for a stage: all, and all of a project. Which row comes first depends on what is in memory, so
  // nothing may depend on the order. Nothing of the table may be changed meanwhile; what `visit` is given lives until it returns. A
  // row that cannot be read makes it throw UnreadableRow.
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
  // Rows that only the store has.
  template <class Visit>
  Status ForEachOutside(std::string_view prefix, Visit&& visit) const {
    if (WholeInMemory()) return Status::Ok();
    return host_.store->Scan(prefix, [&](std::string_view bytes, std::string_view value) {
      std::uint8_t id = 0;
      Key key;
      if (!DecodeKey(bytes, &id, &key)) return BadKey();
      if (Lookup(key) != nullptr) return Status::Ok();  // memory is newer
      Value decoded{};
      if (Status s = Decode(value, decoded); !s.ok()) return s;
      visit(key, decoded);
      return Status::Ok();
    });
  }
  // A value with Clear() keeps the memory that it has: what comes and goes all the time needs no allocation.
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
    if (!MayBeInStore(key)) return nullptr;
    char bytes[kKeyBytes];
    EncodeKey(id_, key, bytes);
    ++host_.reads;
    Status s = host_.store->Get({bytes, kKeyBytes}, &scratch_);
    if (s.code() == StatusCode::kNotFound) return Add(key);  // remembered as absent
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

// Lets go of clean objects of these tables, all of one host, where those of them that are not resident hold more than `keep` bytes:
// those first that were used longest ago, whichever table they are of, and an eighth more than it must, so that it need not come
// again at once. (A part of each table instead has what is used all the time go for what is not.)
void EvictTo(std::uint64_t keep, std::span<TableBase* const> tables, TableHost& host);

}  // namespace cobblestone::stream
