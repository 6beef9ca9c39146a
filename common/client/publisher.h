// For projects: events into a deployment on Kafka, exactly once. A source is whoever counts its own events: a file and its
// lines, a project's server and its sequence. What was taken in of it, and how far that goes, is committed in one
// transaction; so after a crash, on either side, the source goes on where state() says, and nothing is there twice.
//
// One publisher at a time for a source: a new one fences the one before. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/stream/hash128.h"
#include "common/stream/kafka/transport.h"

namespace cobblestone::client {

// How far a source was taken in.
struct SourceState {
  std::uint64_t events = 0;  // as the source counts
  stream::Hash128 hash;      // chained over all of it before, by whoever wants to know a source again; else 0
  std::uint32_t said =
      0;  // PublisherOptions::alone: a word of whoever published last, of whichever source, to the next
  // For sources that send in batches: where the batch that was published last begins. 0: nobody said.
  std::uint64_t batch_events = 0;
  stream::Hash128 batch_hash;
  // Who alone may go on with the source over HTTP, without blanks; a publisher only keeps it.
  std::string owner{};

  friend bool operator==(const SourceState&, const SourceState&) = default;
};

std::string EncodeSourceState(const SourceState& state);
Result<SourceState> DecodeSourceState(std::string_view text);

struct PublisherOptions {
  std::string source;            // its name
  std::uint32_t partitions = 8;  // of the deployment: drift is what `cobblestone topics check` finds
  stream::TopicIndex producers_topic = 0;
  bool alone = false;  // a publisher of any source fences the one before, whichever source that was of
};

class Publisher {
 public:
  // Waits until what a former publisher of the source has left open is decided. `cluster` must outlive it.
  static Result<std::unique_ptr<Publisher>> Open(stream::kafka::Cluster& cluster,
                                                 const PublisherOptions& options);

  [[nodiscard]] const SourceState& state() const { return state_; }

  // To the topic and partition where it belongs (wire::RouteEvent). Sent at once, there for nobody before Commit().
  Status Add(std::string_view envelope);
  // For what is no event: to this place.
  Status AddTo(stream::TopicPartition where, std::string_view record);
  // All that was added and the new state, or nothing. Repeats what is necessary while the cluster is away; kFenced:
  // another publisher has taken the source over. Ok: durable, and every reader sees it.
  Status Commit(const SourceState& state);

 private:
  Publisher(stream::kafka::Cluster& cluster, PublisherOptions options)
      : cluster_(cluster), options_(std::move(options)) {}
  Status Prepare();
  Status ReadState();
  stream::kafka::Outcome Send(const SourceState& state);

  struct Added {
    stream::TopicPartition where;
    std::string record;
  };

  stream::kafka::Cluster& cluster_;
  PublisherOptions options_;
  std::unique_ptr<stream::kafka::Producer> producer_;
  SourceState state_;
  std::vector<Added> added_;  // until it is committed, in case it must be sent again
  std::uint64_t ignored_offset_ = 0;
};

}  // namespace cobblestone::client
