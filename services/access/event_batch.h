// A batch of events that came over HTTP, taken in exactly once: lines are counted under their source's name and chained by a
// hash, as `cobblestone ingest` does, so that both may send the same source.
//
// A batch that is sent again adds nothing. That its lines are those that were taken in is proved where the hash at its
// beginning is known: at the source's first line, at the beginning of the batch that was taken in last (which is kept with
// the log, so that it holds over a death), and behind lines that have just been sent again. Lines that prove to be others, or
// cannot be compared, are a conflict, and nothing is taken.
//
// A batch is read twice, line by line: first all of it is checked, then what is new is appended in blocks. Beside its body it
// needs memory for its events as Envelopes, a few blocks, and at most 100 bad lines, whatever the body holds.
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

#include "common/base/fair_mutex.h"
#include "common/base/status.h"
#include "services/embedded/engine.h"
#include "services/gateway/pipeline.h"

namespace cobblestone {

// The lines or records of a body, one after the other.
class BatchLines {
 public:
  explicit BatchLines(const gateway::EventBatch& batch) : format_(batch.format), rest_(batch.body) {}

  // False: there are no more, or status() says why the bytes cannot be taken apart. `raw` is what is chained: a line without its
  // end, and nothing of a blank one; or a record. It lives as long as the body.
  bool Next(std::string_view* raw);
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] std::uint64_t passed() const { return passed_; }

 private:
  bool NextRecord(std::string_view* raw);

  const gateway::EventBatch::Format format_;
  std::string_view rest_;
  std::uint64_t passed_ = 0;
  Status status_;
};

// A queue of bytes in pieces of about a MiB, so that it never moves, and what was taken is freed.
class EnvelopeQueue {
 public:
  void Put(std::string_view envelope);
  // What was put first of what is left, until the next call. There must be one.
  std::string_view Take();

 private:
  std::deque<std::string> pieces_;
  std::size_t taken_ = 0;  // bytes of the first piece
};

// Where batches go: a seam between the backends. Threads: any.
class EventSink {
 public:
  virtual ~EventSink() = default;
  [[nodiscard]] virtual bool lockstep() const = 0;
  // How far a source has come, told without a claim to send it. May be a moment old where another program sends it.
  virtual Result<ProducerState> Look(const std::string& source) = 0;
  // The same for who goes on with the source now: exact.
  virtual Result<ProducerState> Producer(const std::string& source) = 0;
  // Where the batch that was taken in last began; line 0: nobody said.
  virtual Result<ProducerState> BatchBegin(const std::string& source) = 0;
  // The blocks that `next` gives, until it is false, one after the other; durable on return. `done` gets the outcome of each
  // that is durable, in order; then comes the status of the one that was not appended.
  virtual Status Append(const std::function<bool(AppendBlock* block)>& next,
                        const std::function<void(const AppendOutcome&)>& done) = 0;
};
std::unique_ptr<EventSink> MakeEngineSink(Engine& engine);

// Threads: any; batches of one source follow each other, those of other sources do not wait for them.
class BatchIngest {
 public:
  explicit BatchIngest(std::unique_ptr<EventSink> sink) : sink_(std::move(sink)) {}

  // Durable on return. kInvalidArgument: the bytes, too many lines, or the pipeline runs with `order: lockstep`.
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
  // What is left of `lines`, which continues at `at`.
  Status Append(const gateway::EventBatch& batch, BatchLines& lines, EnvelopeQueue& envelopes,
                ProducerState at, const ProducerState& batch_begin, gateway::EventOutcome* outcome);

  const std::unique_ptr<EventSink> sink_;
  std::mutex mutex_;
  std::map<std::string, Turns>
      turns_;  // guarded by mutex_; by the source's name, where a batch is on its way
  std::map<std::string, Compared> compared_;  // guarded by mutex_; the last used ones
  std::uint64_t uses_ = 0;                    // guarded by mutex_
};

}  // namespace cobblestone
