// Sees what slots write, for those who count: metrics. It changes nothing, and what it does is on the slots' time.
#pragma once

#include <string_view>

#include "common/stream/record.h"

namespace cobblestone::stream {

class CommitWatch {
 public:
  virtual ~CommitWatch() = default;

  // On its way to this partition with the commit under way: records one behind the other, in AppendRecord() format. Not
  // where a journal is executed again. One thread at a time.
  virtual void Wrote(TopicPartition where, std::string_view payload) = 0;
  // What was written since the last call is in the log, or never will be. A commit of which nobody knows what became of it
  // counts as the second: it is rare, and what is counted may be a little short for it, never over.
  virtual void Settled(bool committed) = 0;
};

}  // namespace cobblestone::stream
