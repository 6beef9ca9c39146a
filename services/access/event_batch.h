// Ingests batches of events from HTTP exactly once. Lines are counted under the name of their source and chained by a
// hash, as in `cobblestone ingest`; both may therefore send the same source.
//
// A repeated batch adds nothing. Its lines are proved equal to the ingested ones if the hash at the beginning of the
// batch is known: at the first line of the source, at the beginning of the last ingested batch (stored with the log,
// so that it survives a crash), and behind lines that were repeated just before. Lines that differ, or that cannot be
// compared, are a conflict, and nothing is appended.
//
// Quotas: events that were not ingested before are charged to their projects, lines that name no project to the first
// project of the sender's rights. A batch beyond a quota is refused whole.
//
// A batch is read twice, line by line: the first pass checks all lines, the second appends the new ones in blocks.
// Besides its body a batch needs memory for its events as envelopes, a few blocks, and the first 1,000 different reasons
// of bad lines.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/fair_mutex.h"
#include "common/base/status.h"
#include "services/embedded/engine.h"
#include "services/events/event_lines.h"
#include "services/gateway/pipeline.h"
#include "services/intake/block.h"
#include "services/intake/quotas.h"

namespace cobblestone::access {

// Iterates over the lines or records of a body, by the rules of files (event_lines.h).
class BatchLines {
 public:
  explicit BatchLines(const gateway::EventBatch& batch);

  // False: the end, or status() tells why the bytes cannot be split. Then raw() is the input of the hash chain; valid
  // until the next call.
  bool Next();
  [[nodiscard]] std::string_view raw() const { return splitter_.raw(); }
  [[nodiscard]] bool too_long() const { return splitter_.too_long(); }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] std::uint64_t passed() const { return passed_; }

 private:
  events::LineSplitter splitter_;
  std::string_view rest_;
  std::uint64_t passed_ = 0;
  Status status_;
};

// The lines of a body that are not blank, after reading, as a queue of bytes in pieces of about 1 MiB: pieces never move, and
// a consumed piece is freed.
class LineQueue {
 public:
  void Put(std::string_view envelope);  // not empty
  void PutBad(const std::string& problem);
  // The oldest remaining line. An empty envelope: a bad line; *problem is its reason, or is empty if the reason was not
  // kept. The views are valid until the next call. The queue must not be empty.
  std::string_view Take(std::string_view* problem);

 private:
  std::string& Room(std::size_t bytes);
  std::size_t TakeNumber();

  std::deque<std::string> pieces_;
  std::size_t taken_ = 0;  // consumed bytes of the first piece
  // Bad lines of a body usually have few reasons. The number of a reason is its place, from 1.
  std::vector<std::string> problems_;
  std::map<std::string, std::size_t, std::less<>> numbers_;
};

// Destination of batches: a seam between the backends. Threads: any.
class EventSink {
 public:
  virtual ~EventSink() = default;
  [[nodiscard]] virtual bool lockstep() const = 0;
  // Position of a source, without claiming the source for sending. May be a moment old if another program sends it.
  virtual Result<intake::ProducerState> Look(const std::string& source) = 0;
  // Exact position, for a caller that continues the source now.
  virtual Result<intake::ProducerState> Producer(const std::string& source) = 0;
  // Beginning of the last ingested batch; line 0: unknown.
  virtual Result<intake::ProducerState> BatchBegin(const std::string& source) = 0;
  // Appends the blocks that `next` returns until it returns false, in order; durable on return. `done` receives the
  // outcome of each durable block, in order. On an error: the status of the block that was not appended.
  virtual Status Append(const std::function<bool(intake::AppendBlock* block)>& next,
                        const std::function<void(const intake::AppendOutcome&)>& done) = 0;
};
std::unique_ptr<EventSink> MakeEngineSink(embedded::Engine& engine);

// Threads: any. Batches of one source run one after the other; batches of other sources do not wait for them.
class BatchIngest {
 public:
  // `quotas` must outlive this object; null: none.
  explicit BatchIngest(std::unique_ptr<EventSink> sink, intake::Quotas* quotas = nullptr)
      : sink_(std::move(sink)), quotas_(quotas) {}

  // Durable on return. kInvalidArgument: bad bytes, a body that is not a batch of its content type, too many lines,
  // or the pipeline runs with `order: lockstep`.
  Result<gateway::EventOutcome> Take(const gateway::EventBatch& batch);
  // As gateway::Pipeline::Throttle().
  std::optional<gateway::Throttled> Throttle(const gateway::IngestRights& rights);

 private:
  // Position up to which repeated lines have been compared.
  struct Compared {
    intake::ProducerState upto;
    std::uint64_t used = 0;
  };

  struct Turns {
    FairMutex mutex;
    std::size_t batches = 0;  // that hold the mutex or wait for it
  };
  class InTurn;

  Result<std::optional<stream::Hash128>> HashBefore(const std::string& source, std::uint64_t line);
  void Remember(const std::string& source, const intake::ProducerState& upto);
  // Appends the rest of `lines`, which continues at `at`.
  Status Append(const gateway::EventBatch& batch, BatchLines& lines, LineQueue& queue,
                intake::ProducerState at, const intake::ProducerState& batch_begin,
                gateway::EventOutcome* outcome);

  const std::unique_ptr<EventSink> sink_;
  intake::Quotas* const quotas_;
  std::mutex mutex_;
  // Guarded by mutex_; by name of the source, while a batch of the source is in progress.
  std::map<std::string, Turns> turns_;
  std::map<std::string, Compared> compared_;  // guarded by mutex_; the most recently used
  std::uint64_t uses_ = 0;                    // guarded by mutex_
};

}  // namespace cobblestone::access
