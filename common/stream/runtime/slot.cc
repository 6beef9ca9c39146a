#include "common/stream/runtime/slot.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace cobblestone::stream {

namespace {

constexpr char kStateFormat = '\1';  // of a state as a whole

}  // namespace

std::string EncodeSlotMeta(const SlotMeta& meta) {
  std::string out(1, kStateFormat);
  EncodeState(meta, out);
  return out;
}

Result<SlotMeta> DecodeSlotMeta(std::string_view bytes) {
  if (bytes.empty() || bytes[0] != kStateFormat)
    return Status::Fatal("the state was written by a newer version of this program");
  SlotMeta meta;
  StateReader reader(bytes.substr(1));
  reader(meta);
  if (!reader.done()) return Status::Corrupted("the position of the state in the log cannot be decoded");
  return meta;
}

namespace {

// A row of a state write with its key as numbers in the order of its bytes: a sort compares rows many times,
// and the rows themselves are far apart in memory.
struct PlacedRow {
  std::uint64_t first = 0;  // bytes of the key, big-endian
  std::uint64_t second = 0;
  std::uint64_t last = 0;  // the last eight bytes, which overlap those of `second`
  bool deleted = false;
  std::uint32_t length = 0;  // of the value
  const char* at = nullptr;

  friend bool operator<(const PlacedRow& a, const PlacedRow& b) {
    return std::tie(a.first, a.second, a.last) < std::tie(b.first, b.second, b.last);
  }
};
static_assert(kKeyBytes > 16 && kKeyBytes <= 24);

std::uint64_t BigEndian(const char* bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return __builtin_bswap64(value);
}

}  // namespace

std::vector<store::Row> RowsOf(const StateWrite& write) {
  std::vector<PlacedRow> placed;
  placed.reserve(write.objects);
  for (const std::string& piece : write.rows.pieces()) {
    const char* at = piece.data();
    const char* end = at + piece.size();
    while (at < end) {
      PlacedRow row{.first = BigEndian(at),
                    .second = BigEndian(at + 8),
                    .last = BigEndian(at + kKeyBytes - 8),
                    .deleted = at[kKeyBytes] != 0,
                    .at = at};
      std::memcpy(&row.length, at + kKeyBytes + 1, 4);
      placed.push_back(row);
      at += kKeyBytes + 5 + row.length;
    }
  }
  std::sort(placed.begin(), placed.end());
  std::vector<store::Row> rows;
  rows.reserve(placed.size());
  for (const PlacedRow& row : placed)
    rows.push_back(
        {.key = {row.at, kKeyBytes}, .value = {row.at + kKeyBytes + 5, row.length}, .deleted = row.deleted});
  return rows;
}

Status ApplyStateWrite(const StateWrite& write, store::Store& store) {
  return store.Apply(RowsOf(write), EncodeSlotMeta(write.meta));
}

Slot::Slot(SlotOptions options, TableHost& tables) : options_(std::move(options)), tables_(tables) {
  outputs_.resize(options_.topics.size());
  for (std::size_t t = 0; t < options_.topics.size(); ++t) {
    outputs_[t].resize(options_.topics[t].partitions);
    for (std::uint32_t p = 0; p < options_.topics[t].partitions; ++p)
      outputs_[t][p].where = {static_cast<TopicIndex>(t), p};
  }
}

Slot::~Slot() = default;

void Slot::AddStage(std::unique_ptr<Stage> stage, const std::vector<TopicPartition>& inputs) {
  for (TableBase* table : stage->tables()) {
    COBBLESTONE_CHECK(FindTable(table->id()) == nullptr,
                      "two state tables have the number " + std::to_string(table->id()));
    all_tables_.push_back(table);
  }
  std::size_t stage_input = 0;
  for (const TopicPartition& where : inputs) {
    inputs_.push_back({.where = where, .stage = stages_.size(), .stage_input = stage_input++});
    next_.push_back(0);
  }
  stages_.push_back(std::move(stage));
}

Status Slot::Open(const store::Store* store, std::uint64_t waiting_bytes) {
  meta_ = SlotMeta{};
  meta_.next.assign(inputs_.size(), 0);
  meta_.rules_version = options_.rules_version;
  tables_.store = store;
  if (store != nullptr) {
    const auto bytes = store->Meta();
    if (bytes.ok()) {
      auto meta = DecodeSlotMeta(*bytes);
      if (!meta.ok()) return meta.status();
      if (meta->next.size() != inputs_.size())
        return Status::Fatal("the state has " + std::to_string(meta->next.size()) +
                             " inputs, but this program has " + std::to_string(inputs_.size()) +
                             "; run the version that wrote the state");
      if (meta->rules_version > options_.rules_version)
        return Status::Fatal("the state of slot " + std::to_string(id()) + " needs rules version " +
                             std::to_string(meta->rules_version) + ", but this program has " +
                             std::to_string(options_.rules_version) +
                             "; run the version of the program that wrote the state");
      meta_ = *meta;
      meta_.rules_version = options_.rules_version;  // of all commits from here on
    } else if (bytes.status().code() != StatusCode::kNotFound) {
      return bytes.status();
    }
    std::uint64_t loaded = 0;  // memory of the loaded rows of waiting tables, bytes
    for (TableBase* table : all_tables_) {
      if (!table->resident() && !table->waits()) continue;
      const char prefix = static_cast<char>(table->id());
      Status s = store->Scan({&prefix, 1}, [&](std::string_view key, std::string_view value) {
        std::uint8_t id = 0;
        Key decoded;
        if (!DecodeKey(key, &id, &decoded)) return table->BadKey();
        if (table->resident()) return table->Load(decoded, value);
        if (loaded >= waiting_bytes) {
          table->CountStored(decoded, value.size());
          return Status::Ok();
        }
        const std::uint64_t before = table->bytes();
        Status read = table->Load(decoded, value);
        loaded += table->bytes() - before;
        return read;
      });
      if (!s.ok()) return s;
    }
  }
  next_ = meta_.next;
  return Guarded([&]() -> Status {
    for (auto& stage : stages_)
      if (Status s = stage->Opened(); !s.ok()) return s;
    LookForUnfinished();
    return Status::Ok();
  });
}

void Slot::LookForUnfinished() {
  unfinished_ = false;
  for (const auto& stage : stages_) unfinished_ = unfinished_ || stage->Unfinished();
}

Status Slot::Warm(std::size_t rows) {
  if (tables_.store == nullptr) return Status::Ok();
  for (TableBase* table : all_tables_) {
    if (table->resident() || table->waits() || !table->hot()) continue;
    const char prefix = static_cast<char>(table->id());
    std::size_t left = rows;
    const Status enough = Status::NotFound("no more rows are requested");
    Status s = tables_.store->Scan({&prefix, 1}, [&](std::string_view bytes, std::string_view value) {
      if (left == 0) return enough;
      --left;
      std::uint8_t id = 0;
      Key key;
      if (!DecodeKey(bytes, &id, &key)) return table->BadKey();
      return table->Has(key) ? Status::Ok() : table->Load(key, value);
    });
    if (!s.ok() && s.code() != enough.code()) return s;
  }
  return Status::Ok();
}

void Slot::Consumed(std::size_t input, const RecordView& record) {
  if (options_.dense_offsets)
    COBBLESTONE_CHECK_EQ(record.offset, next_[input]);
  else
    COBBLESTONE_CHECK(record.offset + 1 >= next_[input], "a record was read twice");
  if (chunks_.empty() || chunks_.back().input != input)
    chunks_.push_back(
        {.input = static_cast<std::uint32_t>(input), .first = record.offset, .end = 0, .count = 0});
  chunks_.back().end = record.offset + 1;
  ++chunks_.back().count;
  next_[input] = record.offset + 1;
  ++records_;
  record_bytes_ += record.value.size();
}

Status Slot::Process(std::size_t input, const RecordView& record) {
  Consumed(input, record);
  const SlotInput& from = inputs_[input];
  return Guarded([&] {
    Stage& stage = *stages_[from.stage];
    stage.Process(from.stage_input, record, *this);
    unfinished_ = unfinished_ || stage.Unfinished();
    return Status::Ok();
  });
}

Status Slot::Skip(std::size_t input, const RecordView& record) {
  Consumed(input, record);
  skipped_.push_back({.input = static_cast<std::uint32_t>(input), .offset = record.offset});
  if (options_.set_aside) options_.set_aside(record, *this);
  return tables_.failure;
}

// Runs a stage. If the stage cannot read a row, its work ends here: the state is damaged, not the record.
template <class Work>
Status Slot::Guarded(Work&& work) {
  try {
    if (Status s = work(); !s.ok()) return s;
  } catch (const UnreadableRow&) {
    COBBLESTONE_CHECK(!tables_.failure.ok(), "a row cannot be read, but no reason is recorded");
  }
  return tables_.failure;
}

Result<SlotCommit> Slot::Finish() {
  if (Status s = Guarded([&] {
        for (auto& stage : stages_) stage->Finish(*this);
        LookForUnfinished();
        return Status::Ok();
      });
      !s.ok())
    return s;
  SlotCommit commit;
  commit.records = records_;
  commit.debt = records_ > 0 ? records_ : std::max<std::uint64_t>(1, tables_.touched.size());
  commit.debt_bytes = record_bytes_;
  if (records_ == 0)
    for (const auto& [table, entry] : tables_.touched) commit.debt_bytes += entry->bytes;
  for (auto& partitions : outputs_) {
    for (SlotOutput& out : partitions) {
      if (out.count == 0) continue;
      const std::size_t size = out.payload.size();
      commit.outputs.push_back(std::move(out));
      out = SlotOutput{.where = commit.outputs.back().where, .payload = {}, .count = 0};
      out.payload.reserve(size);
    }
  }
  meta_.sequence += 1;
  if (options_.fingerprint) meta_.hash = Fingerprint(commit.outputs);
  meta_.next = next_;
  meta_.rules_version = options_.rules_version;
  for (auto& [table, entry] : tables_.touched) table->Committed(entry);
  tables_.touched.clear();
  commit.journal = {.sequence = meta_.sequence,
                    .chunks = std::move(chunks_),
                    .hash = meta_.hash,
                    .skipped = std::move(skipped_),
                    .rules_version = options_.rules_version};
  chunks_.clear();
  skipped_.clear();
  records_ = 0;
  record_bytes_ = 0;
  output_bytes_ = 0;
  return commit;
}

// Covers the previous fingerprint, every output in order, and the changed objects in the order of their first change.
// This order is deterministic under one rules version; another version may change other rows.
Hash128 Slot::Fingerprint(const std::vector<SlotOutput>& outputs) {
  Hasher hasher;
  hasher.Scalar(meta_.hash.low);
  hasher.Scalar(meta_.hash.high);
  hasher.Scalar(meta_.sequence);
  hasher.Scalar(options_.rules_version);
  for (const SlotOutput& out : outputs) {
    hasher.Scalar(out.where.topic);
    hasher.Scalar(out.where.partition);
    hasher.Scalar(static_cast<std::uint64_t>(out.payload.size()));
    hasher.Bytes(out.payload);
  }
  for (const auto& [table, entry] : tables_.touched) table->Fingerprint(*entry, hasher);
  return hasher.Digest();
}

void Slot::BeginStateWrite() {
  COBBLESTONE_CHECK(!flush_active(), "two state writes at the same time");
  COBBLESTONE_CHECK_EQ(records_, 0u);
  flush_ = std::make_unique<StateWrite>();
  flush_->meta = meta_;
  flush_table_ = 0;
  last_write_ = static_cast<std::uint8_t>(last_write_ % 255 + 1);
  tables_.write = last_write_;
  tables_.flush_rows = &flush_->rows;
  for (TableBase* table : all_tables_) {
    flush_->objects += table->dirty_count();
    table->BeginFlush();
  }
}

bool Slot::GatherStateWrite(std::size_t limit) {
  while (flush_table_ < all_tables_.size()) {
    if (!all_tables_[flush_table_]->GatherFlush(&limit, flush_->rows)) return false;
    ++flush_table_;
  }
  tables_.flush_rows = nullptr;
  return true;
}

std::unique_ptr<StateWrite> Slot::TakeStateWrite() {
  applying_ = true;
  return std::move(flush_);
}

std::size_t Slot::dirty_objects() const {
  std::size_t n = 0;
  for (const TableBase* table : all_tables_) n += table->dirty_count();
  return n;
}

std::size_t Slot::cached_objects() const {
  std::size_t n = 0;
  for (const TableBase* table : all_tables_) n += table->size();
  return n;
}

std::uint64_t Slot::cached_bytes() const {
  std::uint64_t n = 0;
  for (const TableBase* table : all_tables_)
    if (!table->resident()) n += table->bytes();
  return n;
}

std::vector<WaitingRows> Slot::waiting() const {
  std::vector<WaitingRows> all;
  for (const TableBase* table : all_tables_) {
    if (!table->waits()) continue;
    const WaitingRows one = table->waiting();
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const WaitingRows& other) { return other.kind == one.kind; });
    if (same == all.end()) {
      all.push_back(one);
    } else {
      same->rows += one.rows;
      same->bytes += one.bytes;
    }
  }
  return all;
}

TableBase* Slot::FindTable(std::uint8_t table) {
  for (TableBase* one : all_tables_)
    if (one->id() == table) return one;
  return nullptr;
}

Status Slot::ReadRow(std::uint8_t table, const Key& key, std::string& out) {
  TableBase* found = FindTable(table);
  return found != nullptr ? found->Read(key, out) : Status::NotFound("the slot has no such table");
}

Status Slot::ReadRows(std::uint8_t table,
                      const std::function<Status(const Key& key, std::string_view value)>& visit) {
  const TableBase* found = FindTable(table);
  return found != nullptr ? found->ReadAll(visit) : Status::Ok();
}

void Slot::Evict(std::uint64_t keep) {
  if (flush_active()) return;
  for (TableBase* table : all_tables_)
    if (table->resident() || table->waits()) table->EvictDeleted();
  EvictTo(keep, all_tables_, tables_);
}

void Slot::Emit(TopicIndex topic, std::uint32_t partition, std::string_view record) {
  SlotOutput& out = outputs_[topic][partition];
  AppendRecord(out.payload, record);
  ++out.count;
  output_bytes_ += record.size();
}

void Slot::Cut(TopicIndex topic) {
  for (SlotOutput& out : outputs_[topic])
    if (!out.payload.empty()) out.cuts.push_back(out.payload.size());
}

void Slot::Fail(Status status) {
  if (tables_.failure.ok()) tables_.failure = std::move(status);
}

}  // namespace cobblestone::stream
