// A slot: partition k of all stages together, with one journal and one state store. It is the unit of
// ownership and of commit. Backends pass records to it and receive commits; the slot is independent of the
// backend.
//
//   Open -> (Process* -> Finish)* : a commit is everything between two Finish calls.
//
// Re-execution: the same calls with the records that a journal entry names; the backend compares the
// fingerprints.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/store/store.h"
#include "common/stream/hash128.h"
#include "common/stream/processor.h"
#include "common/stream/record.h"
#include "common/stream/row_buffer.h"
#include "common/stream/runtime/journal.h"
#include "common/stream/table.h"

namespace cobblestone::stream {

struct SlotInput {
  TopicPartition where;
  std::size_t stage = 0;
  std::size_t stage_input = 0;  // the stage's own index of this input
};

// The log position of a state. Stored with the state.
struct SlotMeta {
  std::uint64_t sequence = 0;       // journal entries executed
  Hash128 hash;                     // chained over commits
  std::uint64_t journal_next = 0;   // offset of the next entry in the journal partition
  std::vector<std::uint64_t> next;  // by input: offset of the next record
  std::uint32_t rules_version = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.sequence, s.hash, s.journal_next, s.next, s.rules_version);
  }
};

std::string EncodeSlotMeta(const SlotMeta& meta);
Result<SlotMeta> DecodeSlotMeta(std::string_view bytes);

struct SlotOutput {
  TopicPartition where;
  std::string payload;  // AppendRecord() format
  std::uint32_t count = 0;
  std::vector<std::size_t> cuts{};  // payload size before each Emitter::Cut(), ascending
};

struct SlotCommit {
  std::vector<SlotOutput> outputs;  // ascending by topic and partition; without the journal
  JournalEntry journal;
  std::uint64_t records = 0;
  // A state write is due after a certain debt: records and their bytes or, in a commit without records, changed
  // rows and their approximate memory.
  std::uint64_t debt = 0;
  std::uint64_t debt_bytes = 0;
};

// The rows of one state write: all objects dirty as of one commit, and the meta of this commit.
struct StateWrite {
  RowBuffer rows;  // TableBase::EncodeFlushRow format
  SlotMeta meta;
  std::size_t objects = 0;
};
// The rows as passed to a store, ascending; valid while the write exists.
std::vector<store::Row> RowsOf(const StateWrite& write);
// Sorts and applies. Any thread.
Status ApplyStateWrite(const StateWrite& write, store::Store& store);

struct SlotOptions {
  std::uint32_t id = 0;
  std::vector<TopicSpec> topics;
  std::uint32_t rules_version = 1;
  bool fingerprint = true;  // false: no hashes (what-if replay)
  // True: every offset of an input is a record. False (Kafka): an offset is a message of one or more records,
  // which share it, and some offsets have no message; gaps are skipped.
  bool dense_offsets = true;
  // Stores a skipped record where an operator can inspect it.
  std::function<void(const RecordView& record, Emitter& out)> set_aside{};
};

class Slot final : private Emitter {
 public:
  Slot(SlotOptions options, TableHost& tables);
  ~Slot() override;

  void AddStage(std::unique_ptr<Stage> stage, const std::vector<TopicPartition>& inputs);

  // Reads the meta row, fills resident tables and counts the rows of waiting tables. Rows of waiting tables
  // are loaded up to about `waiting_bytes`. `store` null: memory only. May be called again after a rewind,
  // with fresh stages only.
  Status Open(const store::Store* store, std::uint64_t waiting_bytes = 0);

  // Loads up to `rows` rows of each hot table. Call after Open and before many records: a scan costs a
  // fraction of single lookups.
  Status Warm(std::size_t rows);

  [[nodiscard]] std::uint32_t id() const { return options_.id; }
  [[nodiscard]] const std::vector<SlotInput>& inputs() const { return inputs_; }
  [[nodiscard]] const SlotMeta& meta() const { return meta_; }  // as of the last Finish
  [[nodiscard]] std::uint64_t next(std::size_t input) const { return next_[input]; }

  // Whether the record at next(input) may be consumed now (Stage::Ready, and no stage is unfinished). Not used
  // during re-execution.
  [[nodiscard]] bool Ready(std::size_t input) const {
    return !unfinished_ && stages_[inputs_[input].stage]->Ready(inputs_[input].stage_input);
  }
  // A stage has work left (Stage::Unfinished): no input is ready, and the backend must call Finish() until this
  // is false, also without records. Each call is a commit.
  [[nodiscard]] bool unfinished() const { return unfinished_; }
  // Consumes the record at next(input), or the next existing record (SlotOptions::dense_offsets). A status
  // other than ok stops the slot, and the commit must be discarded.
  Status Process(std::size_t input, const RecordView& record);
  // Consumes the record without passing it to a stage, because it would crash the program.
  Status Skip(std::size_t input, const RecordView& record);
  [[nodiscard]] std::uint64_t records() const { return records_; }  // in the current commit
  [[nodiscard]] std::uint64_t output_bytes() const { return output_bytes_; }

  // Ends the commit. The caller appends the journal entry of this commit as one record to the journal
  // partition.
  Result<SlotCommit> Finish();
  // Replaces the fingerprint of the last (re-executed) commit with the journal's, which older rules computed.
  void TakeFingerprint(const Hash128& hash) { meta_.hash = hash; }
  // Sets the journal offset after the entry of the last commit. Must be called before a state write begins.
  void JournalWritten(std::uint64_t next) { meta_.journal_next = next; }

  // State writes: call Begin at the end of a commit, Gather between commits until it returns true, Take the
  // write and apply it on a thread, then call StateWriteApplied(). One at a time.
  [[nodiscard]] bool flush_active() const { return flush_ != nullptr || applying_; }
  void BeginStateWrite();
  [[nodiscard]] bool gathering() const { return flush_ != nullptr; }
  // `limit`: the most objects that one call examines, over all tables.
  bool GatherStateWrite(std::size_t limit);
  std::unique_ptr<StateWrite> TakeStateWrite();
  void StateWriteApplied() {
    applying_ = false;
    tables_.write = 0;
  }
  [[nodiscard]] std::size_t dirty_objects() const;
  [[nodiscard]] std::size_t cached_objects() const;
  // Approximate memory of objects that Evict() may evict once they are written.
  [[nodiscard]] std::uint64_t cached_bytes() const;
  [[nodiscard]] std::vector<WaitingRows> waiting() const;  // one element per kind
  // Process() or Finish() failed because a stored row is damaged.
  [[nodiscard]] bool state_damaged() const { return tables_.damaged; }
  // Process(), Finish() or a row read failed, and the current commit must be discarded.
  [[nodiscard]] bool failed() const { return !tables_.failure.ok(); }
  [[nodiscard]] std::uint64_t store_reads() const { return tables_.reads; }

  // Evicts clean objects, least recently used first, until about `keep` bytes are left. Does nothing during a
  // state write.
  void Evict(std::uint64_t keep);

  // Appends a row in stored form to `out`; kNotFound when absent. Between commits.
  Status ReadRow(std::uint8_t table, const Key& key, std::string& out);
  // Visits all rows of a table, in no order. Between commits.
  Status ReadRows(std::uint8_t table,
                  const std::function<Status(const Key& key, std::string_view value)>& visit);

  [[nodiscard]] std::size_t stage_count() const { return stages_.size(); }

 private:
  void Emit(TopicIndex topic, std::uint32_t partition, std::string_view record) override;
  void Cut(TopicIndex topic) override;
  void Fail(Status status) override;
  TableBase* FindTable(std::uint8_t table);
  template <class Work>
  Status Guarded(Work&& work);
  void Consumed(std::size_t input, const RecordView& record);
  void LookForUnfinished();
  Hash128 Fingerprint(const std::vector<SlotOutput>& outputs);

  SlotOptions options_;
  TableHost& tables_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<SlotInput> inputs_;
  std::vector<std::uint64_t> next_;
  SlotMeta meta_;
  std::vector<std::vector<SlotOutput>> outputs_;  // by topic and partition
  std::vector<JournalChunk> chunks_;
  std::vector<JournalSkip> skipped_;
  std::uint64_t records_ = 0;
  std::uint64_t record_bytes_ = 0;
  std::uint64_t output_bytes_ = 0;
  bool unfinished_ = false;  // derived
  std::unique_ptr<StateWrite> flush_;
  bool applying_ = false;
  std::uint8_t last_write_ = 0;  // TableHost::write of the last state write
  std::size_t flush_table_ = 0;
  std::vector<TableBase*> all_tables_;
};

// A slot with its table host; the stages hold tables that report to `tables`.
struct SlotParts {
  std::unique_ptr<TableHost> tables;
  std::unique_ptr<Slot> slot;
};
using SlotFactory = std::function<SlotParts(std::uint32_t slot)>;

}  // namespace cobblestone::stream
