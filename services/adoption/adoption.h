// The rows of an existing project as a stream of events: the source of `cobblestone adopt`
// (services/access/ingest.h). Depends only on the file of entities, the file of statistics rows and the
// options, so that it can be sent again.
//
// Order: the project's profile; for each user: member and opening, then badges, credit by app, consent and
// tombstones of users (also of users without a row); the same for teams and for hosts; then statistics rows
// in the order of their file. All events have one time and, for each kind, one id: the same event from
// another source is a repeat.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/adoption/adoption_totals.h"
#include "services/events/event_stream.h"
#include "services/export/entities_file.h"

namespace cobblestone::adoption {

// Each further part of an account (AccountFacts) has the next id.
inline constexpr std::uint64_t kEventId = 0x61646f7074;  // "adopt"

struct Options {
  ProjectId project{1};
  double time = 0;         // event time of all events; 0: before every other event
  std::string statistics;  // a file of statistics rows; empty: none
};

// One event, and a function that returns its place in the files, "FILE, line 7", for messages.
using TakeEvent = std::function<Status(const wire::Event&, const std::function<std::string()>&)>;

// All events in order. Ends early with the first status of `take` that is not Ok. InvalidArgument: a row cannot
// belong to an account (an id below 1).
Status ForEachEvent(exports::EntitiesFile& entities, const Options& options, const TakeEvent& take);

// Figures of the files: totals of the rows, number of events, and rows with missing references.
struct Survey {
  Totals totals;
  std::uint64_t events = 0;
  std::uint64_t host_versions = 0;
  std::uint64_t app_versions = 0;
  std::uint64_t apps = 0;
  std::uint64_t owners_missing = 0;    // hosts with a user that has no row
  std::uint64_t hosts_of_nobody = 0;   // hosts without an owner (user 0)
  std::uint64_t founders_missing = 0;  // teams with a founder that has no row
  std::uint64_t teams_missing = 0;     // users with a team that has no row
};

// Checks all events before any is sent: counts them, and fails with the first event that the pipeline would
// refuse by itself (InvalidArgument, with its place). `progress` receives the number of events so far.
Result<Survey> LookAt(exports::EntitiesFile& entities, const Options& options,
                      const std::function<void(std::uint64_t)>& progress);

// `entities` must outlive the stream. `events`: total number, for progress.
std::unique_ptr<events::EventStream> StreamOf(exports::EntitiesFile& entities, const Options& options,
                                              std::uint64_t events);

}  // namespace cobblestone::adoption
