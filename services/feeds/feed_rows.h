// What FEEDS of a federation hub knows of each project: rows for readers of the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/federation/factors.h"
#include "common/stream/table.h"
#include "common/wire/events/event_stamp.h"
#include "common/wire/events/feeds.h"
#include "common/wire/events/field_stamps.h"

namespace cobblestone::feeds {

// By the hub's number of the project. It exists once an event has registered the project.
struct ProjectRow {
  wire::EventStamp project_stamp;     // of the newest event about it
  wire::FieldStamps project_earlier;  // with project_stamp (field_stamps.h)
  wire::FeedProject project;
  wire::EventStamp versions_stamp;  // not set: the project has reported no app versions
  wire::FeedVersions versions;
  wire::EventStamp health_stamp;  // not set: no condition is known. Its time is the time of the condition
  wire::FeedHealth health;
  std::uint64_t begun = 0;     // the edition whose accounts are arriving; 0: none
  std::uint64_t complete = 0;  // the last complete edition; 0: none
  // The last complete edition with which all accounts were sent: what is older is not in it, nor in a later one.
  std::uint64_t whole = 0;
  std::uint64_t held = 0;  // the last edition that was held; 0: none
  bool announced = false;  // IDENTITY knows when the project's first edition began
  // Of the users of the last complete edition that says it.
  std::optional<credit::MicroTotal> users_micro;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.project_stamp, s.project_earlier, s.project, s.versions_stamp, s.versions, s.health_stamp, s.health,
      s.begun, s.complete, s.whole, s.held, s.announced, s.users_micro);
  }
};

// Editions of a project that are kept: three years of daily files, or a week of a direct feed.
inline constexpr std::size_t kEditionsKept = 1000;

// By project and number of the edition: the ledger of what was imported and what was held. Of each project the newest
// kEditionsKept, and those that ProjectRow names.
struct EditionRow {
  wire::EventStamp begun;  // not set: the edition was held before its first account
  // Of the event that completed or held the edition; not set: its accounts are arriving.
  wire::EventStamp ended;
  wire::FeedEdition edition;  // of the newest event

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.begun, s.ended, s.edition);
  }
};

// By project: the numbers of its rows of editions, in the order in which they were announced.
struct EditionList {
  std::vector<std::uint64_t> numbers;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.numbers);
  }
};

// By project and UNIX day, kept for ever: what the total of the project's users gained with the editions of that day.
struct ProjectDayRow {
  credit::MicroTotal micro = 0;
  std::uint64_t accounts = 0;  // users of the day's last edition
  std::uint64_t edition = 0;   // its number

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.micro, s.accounts, s.edition);
  }
};

// The factors of plan classes as the hub computed them once, by number from 1. All are kept: a factor that a project has
// applied can be explained for ever.
struct FactorsRow {
  double time = 0;  // UNIX s: the tick
  federation::Factors factors;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.time, s.factors);
  }
};

// One row.
struct FactorsState {
  std::uint64_t sequence = 0;  // of the newest factors; 0: none yet
  double computed = 0;         // UNIX s: when they were computed
  double tick = 0;             // UNIX s: the last tick
  std::int64_t sent_day = -1;  // UNIX day of the last tick that was sent to MEMBERS

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.sequence, s.computed, s.tick, s.sent_day);
  }
};

// Tables of a slot, as stored (numbers are unique over all stages).
inline constexpr stream::TableSpec<ProjectRow> kProjectsTable{.id = 80, .version = 1};
inline constexpr stream::TableSpec<EditionRow> kEditionsTable{.id = 81, .version = 1};

// Number 82 is that of kRelayTable (feeds_stage.h).
inline constexpr stream::TableSpec<FactorsRow> kFactorsTable{.id = 83, .version = 1};
inline constexpr stream::TableSpec<FactorsState> kFactorsStateTable{.id = 84, .version = 1};
inline constexpr stream::TableSpec<EditionList> kEditionListsTable{.id = 85, .version = 1};
inline constexpr stream::TableSpec<ProjectDayRow> kProjectDaysTable{.id = 86, .version = 1};

inline stream::Key FactorsKey(std::uint64_t sequence) { return {.project = 0, .id = sequence, .sub = 0}; }
inline stream::Key ProjectKey(ProjectId project) { return {.project = project.value, .id = 0, .sub = 0}; }
inline stream::Key EditionKey(ProjectId project, std::uint64_t edition) {
  return {.project = project.value, .id = edition, .sub = 0};
}
// Times of events are not negative, so neither are days.
inline stream::Key ProjectDayKey(ProjectId project, std::int64_t day) {
  return {.project = project.value, .id = 0, .sub = static_cast<std::uint64_t>(day)};
}

}  // namespace cobblestone::feeds
