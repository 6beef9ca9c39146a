#include "common/stream/kafka/task/death_trace.h"

#include <string>

namespace cobblestone::stream::kafka {

DeathTrace::DeathTrace(Trace* trace) : trace_(trace) {
  if (trace_ == nullptr) return;
  if (trace_->executing != 0) {
    trace_->deaths = trace_->executing == trace_->deadly ? trace_->deaths + 1 : 1;
    trace_->deadly = trace_->executing;
  }
  trace_->executing = 0;
}

Status DeathTrace::CheckExecutable(const JournalEntry& entry) {
  if (trace_ == nullptr || entry.sequence != trace_->deadly || trace_->deaths < kTries) return Status::Ok();
  trace_->deaths = 0;
  return Status::Fatal("re-executing commit " + std::to_string(entry.sequence) + " crashed the program " +
                       std::to_string(kTries) +
                       " times on this machine. A committed record is never skipped: run the version of the "
                       "program that wrote the commit (build " +
                       (entry.build.empty() ? "unknown" : entry.build) + "), or try another machine");
}

}  // namespace cobblestone::stream::kafka
