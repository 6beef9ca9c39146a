// A batch of events that came over HTTP, taken in exactly once: lines are counted under their source's name and chained by a
// hash, as `cobblestone ingest` does, so that both may send the same source.
//
// A batch that is sent again adds nothing. That its lines are those that were taken in is proved where the hash at its
// beginning is known: at the source's first line, at the beginning of the batch that was taken in last (which is kept with
// the log, so that it holds over a death), and behind lines that have just been sent again. Lines that prove to be others, or
// cannot be compared, are a conflict, and nothing is taken.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "services/cobblestone/engine.h"
#include "services/cobblestone/fair_mutex.h"
#include "services/gateway/pipeline.h"

namespace cobblestone {

// One line or record of a batch.
struct BatchLine {
  SourceLine line;
  std::string_view raw;  // what is chained, in the body
  bool broadcast = false;
};

// kInvalidArgument: the bytes cannot be taken apart, from which record on.
Result<std::vector<BatchLine>> ParseEventBatch(const gateway::EventBatch& batch);

// Where batches go: a seam between the backends. Threads: any.
class EventSink {
 public:
  virtual ~EventSink() = default;
  [[nodiscard]] virtual bool lockstep() const = 0;
  virtual Result<ProducerState> Producer(const std::string& source) = 0;
  // Where the batch that was taken in last began; line 0: nobody said.
  virtual Result<ProducerState> BatchBegin(const std::string& source) = 0;
  // One after the other, durable on return. Outcomes of those that were, then the status of the one that was not.
  virtual Status Append(const std::vector<AppendBlock>& blocks, std::vector<AppendOutcome>* outcomes) = 0;
};
std::unique_ptr<EventSink> MakeEngineSink(Engine& engine);

// Threads: any; batches of one source follow each other, those of other sources do not wait for them.
class BatchIngest {
 public:
  explicit BatchIngest(std::unique_ptr<EventSink> sink) : sink_(std::move(sink)) {}

  // Durable on return. kInvalidArgument: the bytes, or the pipeline runs with `order: lockstep`.
  Result<gateway::EventOutcome> Take(const gateway::EventBatch& batch);

 private:
  // How far lines that were sent again have been compared.
  struct Compared {
    ProducerState upto;
    std::uint64_t used = 0;
  };

  struct Turns {
    FairMutex mutex;
    std::size_t batches = 0;  // that have it or wait for it
  };
  class InTurn;

  Result<std::optional<stream::Hash128>> HashBefore(const std::string& source, std::uint64_t line);
  void Remember(const std::string& source, const ProducerState& upto);
  Status Append(const gateway::EventBatch& batch, std::vector<BatchLine>& lines, std::size_t begin,
                ProducerState at, const ProducerState& batch_begin, gateway::EventOutcome* outcome);

  const std::unique_ptr<EventSink> sink_;
  std::mutex mutex_;
  std::map<std::string, Turns> turns_;        // guarded by mutex_; by the source's name, where a batch is on its way
  std::map<std::string, Compared> compared_;  // guarded by mutex_; the last used ones
  std::uint64_t uses_ = 0;                    // guarded by mutex_
};

}  // namespace cobblestone
