// Publishes events to a deployment on Kafka, exactly once; for projects. A source is a producer that counts
// its own events: a file and its lines, a project's server and its sequence. The ingested events and the
// source's progress are committed in one transaction. After a crash on either side the source continues from
// state(), and no event is ingested twice.
//
// A source has one publisher at a time: a new publisher fences the previous publisher. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/stream/hash128.h"
#include "common/stream/kafka/transport.h"

namespace cobblestone::client {

// Ingest progress of a source.
struct SourceState {
  std::uint64_t events = 0;  // counted by the source
  stream::Hash128 hash;      // chained over all earlier events, by callers that verify the source; else 0
  // PublisherOptions::alone: a value that a publisher of any source leaves for the next publisher.
  std::uint32_t period_kind = 0;
  // For sources that send in batches: the start of the last published batch. 0: unknown.
  std::uint64_t batch_events = 0;
  stream::Hash128 batch_hash;
  // The only identity that may continue the source over HTTP, without blanks; a publisher only stores it.
  std::string owner{};

  friend bool operator==(const SourceState&, const SourceState&) = default;
};

std::string EncodeSourceState(const SourceState& state);
Result<SourceState> DecodeSourceState(std::string_view text);

// The last tick of each project, UNIX s; project 0: of all projects. Sources of one project share them, because each
// file may be a source of its own.
using LastTicks = std::map<ProjectId, double>;
// Rows of the producers' topic, next to those of the sources. DecodeTickRow: none if the row is of a source.
struct TickRow {
  std::string key;
  std::string value;
};
TickRow EncodeTickRow(ProjectId project, double time);
Result<std::optional<std::pair<ProjectId, double>>> DecodeTickRow(std::string_view key,
                                                                  std::string_view value);

struct PublisherOptions {
  std::string source;            // its name
  std::uint32_t partitions = 8;  // of the deployment; `cobblestone topics check` detects a mismatch
  stream::TopicIndex producers_topic = 0;
  bool alone = false;  // a new publisher of any source fences the previous publisher of any source
};

class Publisher {
 public:
  // Waits until transactions of a former publisher of the source have ended. `cluster` must outlive the
  // publisher.
  static Result<std::unique_ptr<Publisher>> Open(stream::kafka::Cluster& cluster,
                                                 const PublisherOptions& options);

  [[nodiscard]] const SourceState& state() const { return state_; }
  // As stored when this publisher was opened, or by its own commits.
  [[nodiscard]] const LastTicks& ticks() const { return ticks_; }

  // Adds an event for its topic and partition (wire::RouteEvent). Readers see it after Commit() only.
  void Add(std::string_view envelope);
  // Adds a record to a given partition.
  void AddTo(stream::TopicPartition where, std::string_view record);
  // Removes the records that were added since the last Commit().
  void Discard() { added_.clear(); }
  // Commits all added records, the new state and the ticks that have changed, or nothing. Retries while the cluster is
  // unavailable. kFenced: another publisher has taken over the source. Ok: durable and visible to every reader.
  Status Commit(const SourceState& state, const LastTicks& changed = {});

 private:
  Publisher(stream::kafka::Cluster& cluster, PublisherOptions options)
      : cluster_(cluster), options_(std::move(options)) {}
  Status Prepare();
  Status ReadState();
  stream::kafka::Outcome Send(const SourceState& state, const LastTicks& changed);

  struct Added {
    stream::TopicPartition where;
    std::string record;
  };

  stream::kafka::Cluster& cluster_;
  PublisherOptions options_;
  std::unique_ptr<stream::kafka::Producer> producer_;
  SourceState state_;
  LastTicks ticks_;
  std::vector<Added> added_;  // kept until the commit, in case they must be sent again
  std::uint64_t ignored_offset_ = 0;
};

}  // namespace cobblestone::client
