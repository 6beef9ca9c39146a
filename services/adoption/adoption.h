// An existing project's rows as a stream of events: what `cobblestone adopt` sends (ingest.h). A function of the file of
// entities, the file of statistics rows and the options alone, so that it can be sent again.
//
// Order: the project's profile; of each user member and opening, then badges, credit by app, consent and tombstones of users
// (also of such as have no row); the same of teams and of hosts; statistics rows in their file's order. All have one time
// and, for each kind, one id: told again from another source, an event is a repeat.
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

// Of an account's parts (AccountFacts) each has one more than the one before.
inline constexpr std::uint64_t kEventId = 0x61646f7074;  // "adopt"

struct Options {
  ProjectId project{1};
  double time = 0;         // event time of all; 0: before whatever else is told
  std::string statistics;  // a file of statistics rows; empty: none
};

// One event, and where in the files it comes from: "FILE, line 7", for messages.
using TakeEvent = std::function<Status(const wire::Event&, const std::function<std::string()>&)>;

// All events in order. Ends early with what `take` returns, if that is no Ok; InvalidArgument where a row cannot be one of an
// account (a number below 1).
Status ForEachEvent(statistics::EntitiesFile& entities, const Options& options, const TakeEvent& take);

// What was read. `sent_as` is how many events it makes; `passed_over` lines of statistics are of other kinds.
struct Survey {
  Totals totals;
  std::uint64_t events = 0;
  std::uint64_t host_versions = 0;
  std::uint64_t app_versions = 0;
  std::uint64_t apps = 0;
  std::uint64_t owners_missing = 0;    // hosts whose user has no row
  std::uint64_t hosts_of_nobody = 0;   // hosts with user 0
  std::uint64_t founders_missing = 0;  // teams whose founder has no row
  std::uint64_t teams_missing = 0;     // users whose team has no row
};

// Looks at all events before any is sent: counts, and the first that the pipeline would refuse on its own (InvalidArgument,
// with its place). `progress` gets events so far.
Result<Survey> LookAt(statistics::EntitiesFile& entities, const Options& options,
                      const std::function<void(std::uint64_t)>& progress);

// `entities` outlives the stream. `events`: as many as there are, for progress.
std::unique_ptr<EventStream> StreamOf(statistics::EntitiesFile& entities, const Options& options,
                                      std::uint64_t events);

}  // namespace cobblestone::adoption
