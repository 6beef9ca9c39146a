// What the claims stage remembers, by host and by result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/credit/model/model.h"
#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/wire/events/field_words.h"
#include "common/wire/events/word.h"
#include "services/stage/project_view.h"

namespace cobblestone::claims {

// An event that waits for its partner: its bytes as they came, decoded again when they are joined, and where they lie in
// this partition's log, so that a refusal that comes late names the right event. Empty: none has come.
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
  // As it came. Lives until the next change.
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

// A result whose partner (completion or validation), or whose host, has not come.
struct Pending {
  std::string dispatch;  // the newest one's bytes; never refused once it is here
  WaitingEvent completion;
  WaitingEvent validation;
  std::uint64_t host = 0;
  std::uint64_t app = 0;
  double since = 0;                   // event time of the first of them
  bool waits_for_host = false;        // joined but for the host's member event
  bool has_job = false;               // its trickles are paid while it runs (open_jobs.h)
  std::vector<std::string> replaced;  // dispatches before the newest one, in order of their sent times

  // Highest input line of both: the one that decides.
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
    f(s.dispatch, s.completion, s.validation, s.host, s.app, s.since, s.waits_for_host, AddedIn<2>(s.has_job),
      AddedIn<3>(s.replaced));
  }
};

enum SeenFlag : std::uint8_t {
  kSeenCompletion = 1,
  kSeenValidation = 2,
  kSeenEventId = 4,  // `result` is an event's id: an error that names no result
};

// A decided result, as long as repeats of its events may come: forgotten when its day is before its app's horizon
// (wire::Horizon). Hashes of the bytes tell a repeat from other contents.
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

// A closed run of decided results, ascending by result. Never changed again. A host that has any, or ended jobs, is filed in
// the calendar.
struct SeenRun {
  std::vector<Seen> results;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.results);
  }
};

// Which results a closed run may hold; kept with the host so that most look-ups read nothing.
struct RunRange {
  std::uint32_t number = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::int32_t day = 0;   // latest of its results
  std::uint64_t app = 0;  // theirs; 0: of several apps

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.number, s.first, s.last, s.day, s.app);
  }
};

// An opening row of (host, app version): there is one.
struct OpeningWord {
  std::int64_t version = 0;
  std::uint64_t app = 0;  // of anonymous versions; else 0
  wire::Word word;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.version, s.app, s.word);
  }
};

// The balance that an event gives a host which no event has named yet. There is one, as there is of a host that is known.
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
  kHeldExpire,
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

struct WaitingOpening {
  wire::Word word;
  double since = 0;        // UNIX s: its event's time, or later where it came later
  std::uint64_t line = 0;  // input line (replay)
  std::string event;       // as it came

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.word, s.since, s.line, s.event);
  }
};

struct HostState {
  credit::HostRecord record;
  wire::Word member;   // the newest member event
  wire::Word opening;  // of the account's balance
  std::vector<OpeningWord> opening_rows;
  std::vector<Seen> open;  // decided last, in order of decision
  std::vector<RunRange> runs;
  std::uint32_t next_run = 0;
  std::vector<std::uint64_t> waiting;   // results that wait for the member event, in order
  std::vector<std::uint64_t> unpriced;  // and those whose trickles do (open_jobs.h)
  wire::Word merge;                     // the event that ended it, as one that has become another host:
  HostId into;                          // this one
  bool has_ended_jobs = false;          // trickles may still come for jobs of decided results (open_jobs.h)
  bool asked = false;                   // before its member event: another host is to become it
  wire::FieldWords earlier;             // with `member`

  // Nothing was ever said of it, or of its results, but what was refused.
  [[nodiscard]] bool empty() const {
    return !record.known && record.versions.empty() && record.apps.empty() && opening_rows.empty() &&
           open.empty() && runs.empty() && waiting.empty() && unpriced.empty() && !asked;
  }
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.record, s.member, s.opening, s.opening_rows, s.open, s.runs, s.next_run, s.waiting,
      AddedIn<2>(s.unpriced), AddedIn<3>(s.merge), AddedIn<3>(s.into), AddedIn<4>(s.has_ended_jobs),
      AddedIn<5>(s.asked), AddedIn<6>(s.earlier));
  }
};

// Tables of a slot, as stored (numbers are unique over all stages).
inline constexpr stream::TableSpec<HostState> kHostsTable{.id = 1, .version = 6};
inline constexpr stream::TableSpec<SeenRun> kRunsTable{.id = 2, .version = 1};
inline constexpr stream::TableSpec<Pending> kPendingTable{.id = 3, .version = 3};
inline constexpr stream::TableSpec<wire::ProjectView> kProjectsTable{.id = 4, .version = 2};
inline constexpr stream::TableSpec<WaitingOpening> kOpeningsTable{.id = 7, .version = 1};

}  // namespace cobblestone::claims
