// Observes the outputs of slots for metrics. It changes nothing, and its calls take the slots' time.
#pragma once

#include <string_view>

#include "common/stream/record.h"

namespace cobblestone::stream {

class CommitWatch {
 public:
  virtual ~CommitWatch() = default;

  // Called with records (AppendRecord() format) that the current commit writes to a partition. Not called
  // during re-execution. One thread at a time.
  virtual void Wrote(TopicPartition where, std::string_view payload) = 0;
  // The records written since the last call are in the log (true), or never will be (false). A commit with an
  // unknown outcome counts as false: metrics may then be slightly low, never high.
  virtual void Settled(bool committed) = 0;
};

}  // namespace cobblestone::stream
