// The part of one slot in the open transaction of its worker: outputs, journal and flags.
//
// Outputs are produced at once, the journal entries of all rounds together before the transaction is flushed.
// Invariant: an object lives at one address, because the producer writes offsets into it until the transaction has ended.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "common/stream/kafka/position.h"
#include "common/stream/kafka/task/task_options.h"
#include "common/stream/kafka/transport.h"
#include "common/stream/runtime/journal.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::kafka {

class SlotTransaction {
 public:
  explicit SlotTransaction(const TaskContext& context) : context_(context) {}
  SlotTransaction(const SlotTransaction&) = delete;
  SlotTransaction& operator=(const SlotTransaction&) = delete;

  // The slot is a part of the open transaction, through records or a part of a checkpoint.
  [[nodiscard]] bool touched() const { return touched_; }
  void Touch() { touched_ = true; }
  // Records of the slot were consumed in the transaction.
  [[nodiscard]] bool consumed() const { return consumed_; }
  void SetConsumed() { consumed_ = true; }
  // The slot failed within the transaction, which must not be committed. Until Rewound().
  [[nodiscard]] bool tainted() const { return tainted_; }
  void Taint() { tainted_ = tainted_ || touched_; }

  // Produces the outputs of a round and keeps its journal entry.
  Outcome Send(Producer& producer, SlotCommit* commit);
  // Produces the journal.
  Outcome WriteJournal(Producer& producer);
  // After WriteJournal() and Producer::Flush(): the end of the journal, if the transaction has entries.
  void AddTo(Position* position) const;
  // The transaction has journal entries.
  [[nodiscard]] bool journal_written() const { return journal_written_; }

  // The transaction has ended, or the slot has left it.
  void Drop();
  // The transaction was aborted.
  void Rewound() { tainted_ = false; }

  [[nodiscard]] std::uint64_t produced() const { return produced_; }  // messages, of all transactions
  void CountProduced() { ++produced_; }

 private:
  Outcome SendOutput(Producer& producer, SlotOutput& output);
  Outcome Produce(Producer& producer, TopicPartition where, std::string value);

  const TaskContext& context_;
  bool touched_ = false;
  bool consumed_ = false;
  bool tainted_ = false;
  std::string journal_payload_;
  bool journal_written_ = false;
  std::uint64_t journal_offset_ = 0;
  std::uint64_t ignored_offset_ = 0;  // of outputs
  std::uint64_t produced_ = 0;
};

}  // namespace cobblestone::stream::kafka
