// Services that the process provides besides queries of committed state: a seam to the backend that runs the stages.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/gateway/rights/ingest_rights.h"

namespace cobblestone::gateway {

struct Health {
  enum class Grade { kOk, kDegraded, kFailed };
  Grade grade = Grade::kOk;
  std::vector<std::string> problems;  // public text: no paths, no names
};

// Cumulative durable counts; the difference of two readings gives rates.
struct Figures {
  std::uint64_t results = 0;
  std::uint64_t grants = 0;
  std::uint64_t refused = 0;
  std::uint64_t lag = 0;  // records not yet processed
  struct Latency {
    double p50 = 0;  // ms
    double p99 = 0;
  };
  // Of the newest commits; none if the backend does not measure them or has made no commit yet.
  std::optional<Latency> commit;
  struct StageFigures {
    std::string stage;
    std::uint64_t lag = 0;
    std::uint64_t records = 0;
  };
  std::vector<StageFigures> stages;
};

// Lines `first_line`, `first_line` + 1, ... of a source, counted from 0.
struct EventBatch {
  std::string source;
  // Owner of the source, or its future owner. A sender without a digest is the program itself and may use every
  // source.
  Sender sender;
  const IngestRights* rights = nullptr;  // null: every event may be sent
  std::uint64_t first_line = 0;
  enum class Format { kJsonLines, kDelimited } format = Format::kJsonLines;
  std::string_view body;
  // A line that is not an event goes to the refused records, as with `cobblestone ingest`. If false, one such line
  // rejects the whole batch.
  bool refuse_bad_lines = false;
};

struct BadEventLine {
  std::uint64_t line = 0;  // from 0, of the source
  std::string reason;
};

// A request that comes too early, because a project is beyond its quota.
struct Throttled {
  ProjectId project;
  std::string quota;    // "events_per_second" or "bytes_per_second"
  std::string message;  // which project, which quota
  double wait = 0;      // s until the request can be repeated
};

struct EventOutcome {
  std::uint64_t lines = 0;        // ingested lines of the source
  std::uint64_t appended = 0;     // events appended by this batch
  std::uint64_t repeated = 0;     // lines that were ingested before
  std::vector<BadEventLine> bad;  // the first 100
  // All bad lines; without refuse_bad_lines, only those found before reading stopped.
  std::uint64_t bad_lines = 0;
  // The source belongs to another sender: nothing was appended, and no other field is set.
  bool others_source = false;
  // If not empty: events that the sender may not send (the first 100); nothing was appended.
  std::vector<BadEventLine> forbidden;
  // Reason why nothing was appended: the lines do not follow the source's earlier lines, or differ from them.
  std::string conflict;
  // If set: nothing was appended.
  std::optional<Throttled> throttled;
};

// Position of a source.
struct KnownSource {
  std::uint64_t lines = 0;
  std::string hash;   // over all lines, hexadecimal
  std::string owner;  // Sender::owner(); empty: never used over HTTP
};

// Threads: any, several at once.
class Pipeline {
 public:
  virtual ~Pipeline() = default;

  virtual Result<nlohmann::json> Tasks() = 0;
  virtual Health CheckHealth() = 0;
  // kInvalidArgument: the refused record cannot be sent again (it was never an event, or its bytes were not kept).
  // kRetry: no running pipeline can accept it.
  virtual Result<nlohmann::json> Resubmit(std::uint64_t number) = 0;

  virtual Result<KnownSource> Source(const std::string& source) = 0;
  // Durable on return, each line exactly once. kRetry: no running pipeline can accept the batch, or it is stopping.
  virtual Result<EventOutcome> Append(const EventBatch& batch) = 0;
  // Set if Append() would refuse any new event with these rights because of quotas. Returns at once.
  virtual std::optional<Throttled> Throttle(const IngestRights& rights) = 0;

  virtual Result<Figures> Look() = 0;
  // Visits ledger records behind `*ends` (one offset per partition), at most the newest `most`, and moves *ends
  // behind the last record. If *ends is empty, only sets it.
  virtual Status NewGrants(std::vector<std::uint64_t>* ends, std::size_t most,
                           const std::function<void(std::string_view record)>& visit) = 0;

  // In Prometheus' text format.
  virtual Result<std::string> Metrics() = 0;
};

}  // namespace cobblestone::gateway
