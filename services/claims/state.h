// State of CLAIMS, by host and by result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/credit/model/model.h"
#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/wire/events/event_stamp.h"
#include "common/wire/events/field_stamps.h"
#include "services/stage/project_view.h"

namespace cobblestone::claims {

// An event that waits for its partner: its bytes as they arrived, decoded again at the join, and their place in
// this partition's log, so that a later refusal names the right event. Empty: none has arrived.
struct WaitingEvent {
  std::string bytes;
  stream::TopicIndex topic = 0;
  std::uint64_t offset = 0;
  double append_time = 0;  // UNIX s
  std::uint64_t line = 0;  // input line (replay)

  [[nodiscard]] bool empty() const { return bytes.empty(); }
  void Keep(const stream::RecordView& record) {
    bytes = record.value;
    topic = record.where.topic;
    offset = record.offset;
    append_time = record.append_time;
    line = record.line;
  }
  // As it arrived. Valid until the next change.
  [[nodiscard]] stream::RecordView Record(std::uint32_t partition) const {
    return {.where = {topic, partition},
            .offset = offset,
            .append_time = append_time,
            .line = line,
            .value = bytes};
  }
  void Clear() {
    bytes.clear();
    topic = 0;
    offset = line = 0;
    append_time = 0;
  }
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.bytes, s.topic, s.offset, s.append_time, s.line);
  }
};

// A result whose partner (completion or validation) or whose host has not arrived.
struct Pending {
  std::string dispatch;  // bytes of the newest dispatch; a stored dispatch is never refused
  WaitingEvent completion;
  WaitingEvent validation;
  std::uint64_t host = 0;
  std::uint64_t app = 0;
  double since = 0;                   // event time of the first event
  bool waits_for_host = false;        // joined, but the host's member event is missing
  bool has_job = false;               // its trickles are paid while it runs (open_jobs.h)
  std::vector<std::string> replaced;  // dispatches before the newest one, in order of their sent times

  // The line of the decision: the higher input line of completion and validation.
  [[nodiscard]] std::uint64_t line() const { return std::max(completion.line, validation.line); }
  void Clear() {
    dispatch.clear();
    completion.Clear();
    validation.Clear();
    host = app = 0;
    since = 0;
    waits_for_host = has_job = false;
    replaced.clear();
  }
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.dispatch, s.completion, s.validation, s.host, s.app, s.since, s.waits_for_host, s.has_job,
      s.replaced);
  }
};

enum SeenFlag : std::uint8_t {
  kSeenCompletion = 1,
  kSeenValidation = 2,
  kSeenEventId = 4,  // `result` is an event's id: an error that names no result
};

// A decided result, remembered as long as repeats of its events may arrive: forgotten when its day is before
// its app's horizon (stage::Horizon). Hashes of the bytes distinguish a repeat from an event with other
// contents.
struct Seen {
  std::uint64_t result = 0;
  std::uint32_t completion_hash = 0;
  std::uint32_t validation_hash = 0;
  std::uint32_t flags = 0;  // SeenFlag
  std::int32_t day = 0;     // UNIX day on which its window began
  std::uint64_t app = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.result, s.completion_hash, s.validation_hash, s.flags, s.day, s.app);
  }
};

// A closed run of decided results, ascending by result. It never changes. A host that has runs or ended jobs is
// filed in the calendar.
struct SeenRun {
  std::vector<Seen> results;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.results);
  }
};

// The results that a closed run may hold; kept with the host so that most look-ups read no run.
struct RunRange {
  std::uint32_t number = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::int32_t day = 0;   // the latest day of its results
  std::uint64_t app = 0;  // the app of its results; 0: several apps

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.number, s.first, s.last, s.day, s.app);
  }
};

// The opening row of (host, app version): there is at most one.
struct OpeningStamp {
  std::int64_t version = 0;
  std::uint64_t app = 0;  // of anonymous versions; else 0
  wire::EventStamp stamp;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.version, s.app, s.stamp);
  }
};

// The time in UNIX s after which a row that waits since `since` is due.
inline constexpr auto DueAfterDefaultWindow = [](const stream::Key&, const auto& row) {
  return row.since + credit::kDefaultResultWindow;
};

// Order in which the rows of a project expire at a watermark (stage::Expiry).
enum ExpiringTable : std::size_t {
  kOpeningsExpire,
  kTricklesExpire,
  kNamesExpire,
  kReportsExpire,
  kForwardedExpire,
  kPendingExpires
};

// A host whose waiting results and jobs without a price are being released (ClaimsStage::Release).
struct Releasing {
  template <class Self, class F>
  static void Fields(Self&, F&& f) {
    f();
  }
};
inline constexpr stream::TableSpec<Releasing> kReleasingTable{.id = 29, .version = 1};

// The opening balance for a host that no event has named yet. There is at most one, as for a known host.
struct WaitingOpening {
  wire::EventStamp stamp;
  double since = 0;  // UNIX s: its event's time, or its arrival if that is later
  WaitingEvent event;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.stamp, s.since, s.event);
  }
};

struct HostState {
  credit::HostRecord record;
  wire::EventStamp member;   // the newest member event
  wire::EventStamp opening;  // of the account's balance
  std::vector<OpeningStamp> opening_rows;
  std::vector<Seen> open;  // the newest decided results, in order of decision
  std::vector<RunRange> runs;
  std::uint32_t next_run = 0;
  std::vector<std::uint64_t> waiting;   // results that wait for the member event, in order
  std::vector<std::uint64_t> unpriced;  // results whose trickles wait for the member event (open_jobs.h)
  wire::EventStamp merge;               // of a host that has become another host: the event that ended it
  HostId into;                          // the host that it has become
  bool has_ended_jobs = false;          // trickles may still come for jobs of decided results (open_jobs.h)
  bool asked = false;                   // before its member event: a merge into it has asked for its owner
  wire::FieldStamps earlier;            // with `member` (field_stamps.h)

  // No event about the host or its results was ever accepted.
  [[nodiscard]] bool empty() const {
    return !record.known && record.versions.empty() && record.apps.empty() && opening_rows.empty() &&
           open.empty() && runs.empty() && waiting.empty() && unpriced.empty() && !asked;
  }
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.record, s.member, s.opening, s.opening_rows, s.open, s.runs, s.next_run, s.waiting, s.unpriced,
      s.merge, s.into, s.has_ended_jobs, s.asked, s.earlier);
  }
};

// Tables of a slot, as stored (numbers are unique over all stages).
inline constexpr stream::TableSpec<HostState> kHostsTable{.id = 1, .version = 1};
inline constexpr stream::TableSpec<SeenRun> kRunsTable{.id = 2, .version = 1};
inline constexpr stream::TableSpec<Pending> kPendingTable{.id = 3, .version = 1};
inline constexpr stream::TableSpec<stage::ProjectView> kProjectsTable{.id = 4, .version = 1};
inline constexpr stream::TableSpec<WaitingOpening> kOpeningsTable{.id = 7, .version = 1};

}  // namespace cobblestone::claims
