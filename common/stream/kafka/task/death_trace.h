// The record of deaths of the process on this machine: a small mapped file (Trace) shows the work of the
// process at its death. Without a trace every death counts as a death during the processing of records.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <utility>

#include "common/base/status.h"
#include "common/stream/kafka/state.h"
#include "common/stream/runtime/journal.h"

namespace cobblestone::stream::kafka {

// Attempts at a record or commit at which the process dies.
inline constexpr std::uint32_t kTries = 3;

class DeathTrace {
 public:
  // `trace` null: there is none. Counts a death during a re-execution before this process.
  explicit DeathTrace(Trace* trace);

  // The process is processing records as the owner, or has stopped doing so.
  void Processing(bool is) {
    if (trace_ != nullptr) trace_->processing = is ? 1 : 0;
  }
  // The process is re-executing this commit; 0: none.
  void Executing(std::uint64_t sequence) {
    if (trace_ != nullptr) trace_->executing = sequence;
  }

  // Whether the process may have died while it processed records, since the last call.
  bool TakeProcessing() {
    return trace_ == nullptr ? std::exchange(untraced_, false) : std::exchange(trace_->processing, 0) != 0;
  }
  // kFatal: the process has died kTries times at this commit. The next call allows new attempts: an operator has
  // restarted the program.
  Status CheckExecutable(const JournalEntry& entry);
  // The commit was re-executed, and the process lives.
  void Executed(std::uint64_t sequence) {
    if (trace_ != nullptr && sequence == trace_->deadly) trace_->deaths = 0;
  }

 private:
  Trace* const trace_;
  bool untraced_ = true;  // without a trace: it is unknown what this process did before
};

}  // namespace cobblestone::stream::kafka
