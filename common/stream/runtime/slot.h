// A slot: partition k of all stages together, with one journal and one state store; the unit of ownership and of
// commit. Backends feed it records and take commits from it; the slot knows nothing of where they come from.
//
//   Open -> (Process* -> Finish)* : a commit is what lies between two Finish calls.
//
// Executing again: the same calls with the records that a journal entry names; CheckAgainst() compares.
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
  std::size_t stage_input = 0;  // the stage's own number for it
};

// Where in the log a state is. Stored with it.
struct SlotMeta {
  std::uint64_t sequence = 0;       // journal entries executed
  Hash128 hash;                     // chained
  std::uint64_t journal_next = 0;   // offset of the next entry in the journal's partition
  std::vector<std::uint64_t> next;  // per input
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
  std::vector<std::size_t> cuts{};  // bytes of the payload before each Emitter::Cut(), ascending
};

struct SlotCommit {
  std::vector<SlotOutput> outputs;  // ascending by topic and partition; the journal is not among them
  JournalEntry journal;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  // of these records
};

// Rows of one state write: all objects dirty as of one commit, and the meta of that commit.
struct StateWrite {
  RowBuffer rows;  // TableBase::EncodeFlushRow format
  SlotMeta meta;
  std::size_t objects = 0;
};
// The rows as a store takes them, ascending; they live as long as the write.
std::vector<store::Row> RowsOf(const StateWrite& write);
// Sorts and applies. Any thread.
Status ApplyStateWrite(const StateWrite& write, store::Store& store);

struct SlotOptions {
  std::uint32_t id = 0;
  std::vector<TopicSpec> topics;
  std::uint32_t rules_version = 1;
  bool fingerprint = true;  // false: no hashes (what-if replay)
  // Every offset of an input is a record. False where offsets count messages of one or more records each, and some
  // offsets are of no message (Kafka): then records of one message share its offset, and gaps are passed over.
  bool dense_offsets = true;
  // Puts a record that is passed over where it can be looked at.
  std::function<void(const RecordView& record, Emitter& out)> set_aside{};
};

class Slot final : private Emitter {
 public:
  Slot(SlotOptions options, TableHost& tables);
  ~Slot() override;

  void AddStage(std::unique_ptr<Stage> stage, const std::vector<TopicPartition>& inputs);

  // Reads the meta row, fills resident tables, and counts the rows that wait; of these as many are brought into memory as take no
  // more than `waiting_bytes`, about. `store` null: memory only. May be called again after a rewind with fresh stages only.
  Status Open(const store::Store* store, std::uint64_t waiting_bytes = 0);

  // After Open, before many records: brings up to `rows` rows of each hot table into memory. One after the other they
  // cost a fraction of what each does when a record asks for it.
  Status Warm(std::size_t rows);

  [[nodiscard]] std::uint32_t id() const { return options_.id; }
  [[nodiscard]] const std::vector<SlotInput>& inputs() const { return inputs_; }
  [[nodiscard]] const SlotMeta& meta() const { return meta_; }  // as of the last Finish
  [[nodiscard]] std::uint64_t next(std::size_t input) const { return next_[input]; }

  // Whether the record at next(input) may be consumed now (Stage::Ready). Not asked where a journal is executed again.
  [[nodiscard]] bool Ready(std::size_t input) const {
    return stages_[inputs_[input].stage]->Ready(inputs_[input].stage_input);
  }
  // Consumes the record at next(input), or the next one there is (SlotOptions::dense_offsets). A status other than ok
  // stops the slot; nothing of the commit may be used.
  Status Process(std::size_t input, const RecordView& record);
  // Consumes it as Process() does, and shows it to no stage: it would crash the program.
  Status Skip(std::size_t input, const RecordView& record);
  [[nodiscard]] std::uint64_t records() const { return records_; }  // in the commit under way
  [[nodiscard]] std::uint64_t output_bytes() const { return output_bytes_; }

  // Ends the commit. The journal's partition gets one record per commit: this one's entry.
  Result<SlotCommit> Finish();
  // Of the last commit, which was executed again: that of the program that made it.
  void TakeFingerprint(const Hash128& hash) { meta_.hash = hash; }
  // Where the journal goes on behind the entry of the last commit. To be told before a state write begins.
  void JournalWritten(std::uint64_t next) { meta_.journal_next = next; }

  // State writes: Begin at a commit's end, Gather in slices between commits until it says true, then hand the write to
  // a thread and tell when it was applied. One at a time.
  [[nodiscard]] bool flush_active() const { return flush_ != nullptr || applying_; }
  void BeginStateWrite();
  [[nodiscard]] bool gathering() const { return flush_ != nullptr; }
  // `limit`: the most objects that one call examines, summed over all tables.
  bool GatherStateWrite(std::size_t limit);
  std::unique_ptr<StateWrite> TakeStateWrite();
  void StateWriteApplied() {
    applying_ = false;
    tables_.write = 0;
  }
  [[nodiscard]] std::size_t dirty_objects() const;
  [[nodiscard]] std::size_t cached_objects() const;
  [[nodiscard]] std::uint64_t cached_bytes()
      const;  // of memory, about: of objects that Evict() may let go of once they are written
  [[nodiscard]] std::vector<WaitingRows> waiting() const;  // one for each kind
  // Process() or Finish() failed because a row of the store is not what was written.
  [[nodiscard]] bool state_damaged() const { return tables_.damaged; }
  // Process(), Finish() or a read of a row failed, and the commit under way is of no use.
  [[nodiscard]] bool failed() const { return !tables_.failure.ok(); }
  [[nodiscard]] std::uint64_t store_reads() const { return tables_.reads; }

  // Lets go of clean objects beyond `keep` bytes of all, those first that were used longest ago; nothing while a state write is on its
  // way.
  void Evict(std::uint64_t keep);

  // A row of a table as it would be stored, appended to `out`; kNotFound when absent. Between commits.
  Status ReadRow(std::uint8_t table, const Key& key, std::string& out);
  // All rows of a table, in no order. Between commits.
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
  Hash128 Fingerprint(const std::vector<SlotOutput>& outputs);

  SlotOptions options_;
  TableHost& tables_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<SlotInput> inputs_;
  std::vector<std::uint64_t> next_;
  SlotMeta meta_;
  std::vector<std::vector<SlotOutput>> outputs_;  // by topic, by partition
  std::vector<JournalChunk> chunks_;
  std::vector<JournalSkip> skipped_;
  std::uint64_t records_ = 0;
  std::uint64_t record_bytes_ = 0;
  std::uint64_t output_bytes_ = 0;
  std::unique_ptr<StateWrite> flush_;
  bool applying_ = false;
  std::uint8_t last_write_ = 0;  // TableHost::write of the state write that was begun last
  std::size_t flush_table_ = 0;
  std::vector<TableBase*> all_tables_;
};

// What a slot is made of; stages hold tables that report to `tables`.
struct SlotParts {
  std::unique_ptr<TableHost> tables;
  std::unique_ptr<Slot> slot;
};
using SlotFactory = std::function<SlotParts(std::uint32_t slot)>;

}  // namespace cobblestone::stream
