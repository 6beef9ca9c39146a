// What the process must do itself, beside answering from committed state: a seam to whatever runs the stages.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "services/gateway/ingest_rights.h"

namespace cobblestone::gateway {

struct Health {
  enum class Grade { kOk, kDegraded, kFailed };
  Grade grade = Grade::kOk;
  std::vector<std::string> problems;  // for everybody: no path, no name
};

// Cumulative, as far as it is durable; rates are made of two of them.
struct Figures {
  std::uint64_t results = 0;
  std::uint64_t grants = 0;
  std::uint64_t refused = 0;
  std::uint64_t lag = 0;  // records that wait
  struct Latency {
    double p50 = 0;  // ms
    double p99 = 0;
  };
  std::optional<Latency> commit;  // of commits since the last look, where they are measured
  struct StageFigures {
    std::string stage;
    std::uint64_t lag = 0;
    std::uint64_t records = 0;
  };
  std::vector<StageFigures> stages;
};

// Lines `first_line`, `first_line` + 1, ... of a source, from 0.
struct EventBatch {
  std::string source;
  // Whose source it is, or becomes; a sender without a digest is the program itself, and may use every source.
  Sender sender;
  const IngestRights* rights = nullptr;  // null: every event may be sent
  std::uint64_t first_line = 0;
  enum class Format { kJsonLines, kDelimited } format = Format::kJsonLines;
  std::string_view body;
  // A line that is no event is kept among what is refused, as `cobblestone ingest` does; else nothing of the batch is taken.
  bool refuse_bad_lines = false;
};

struct BadEventLine {
  std::uint64_t line = 0;  // from 0, of the source
  std::string reason;
};

struct EventOutcome {
  std::uint64_t lines = 0;        // of the source, taken in so far
  std::uint64_t appended = 0;     // events, now
  std::uint64_t repeated = 0;     // lines that had been taken in before
  std::vector<BadEventLine> bad;  // the first 100
  // All of them; without refuse_bad_lines, as many as were found before the batch was read no further.
  std::uint64_t bad_lines = 0;
  // The source belongs to another sender: nothing was taken, and nothing else is told.
  bool others_source = false;
  // Not empty: the sender may not send these events (the first 100 of them), and nothing was taken.
  std::vector<BadEventLine> forbidden;
  // Why nothing was taken: the source's lines do not follow what it has sent before, or are others.
  std::string conflict;
};

// How far a source was taken in.
struct KnownSource {
  std::uint64_t lines = 0;
  std::string hash;   // over them, in hexadecimal digits
  std::string owner;  // Sender::owner(); empty: nobody's over HTTP
};

// Threads: any, several at once.
class Pipeline {
 public:
  virtual ~Pipeline() = default;

  virtual Result<nlohmann::json> Tasks() = 0;
  virtual Health CheckHealth() = 0;
  // kInvalidArgument: it never was an event. kRetry: nothing runs here that could take it.
  virtual Result<nlohmann::json> Resubmit(std::uint64_t number) = 0;

  virtual Result<KnownSource> Source(const std::string& source) = 0;
  // Durable on return, each line once. kRetry: nothing runs here that could take it, or it stops.
  virtual Result<EventOutcome> Append(const EventBatch& batch) = 0;

  virtual Result<Figures> Look() = 0;
  // Records of the ledger behind `*ends` (by partition), the newest `most` of them at most, and *ends moved behind all of them.
  // An empty *ends is only set.
  virtual Status NewGrants(std::vector<std::uint64_t>* ends, std::size_t most,
                           const std::function<void(std::string_view record)>& visit) = 0;

  // Prometheus' text format.
  virtual Result<std::string> Metrics() = 0;
};

}  // namespace cobblestone::gateway
