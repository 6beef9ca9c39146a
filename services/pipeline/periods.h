// Boundaries of periods in a sequence of events that is ingested in lockstep (`replay`, `order: lockstep`): before
// and after each run of broadcasts, each run of members, and each tick. Decisions of a period are applied at its end,
// in sorted order. The boundaries depend on the sequence only: a replay and a running pipeline have the same periods,
// whatever the blocks of events.
//
// A period ends with two or more barriers. At the first barrier GRANTS reads the claims of the period, sorted, and
// decides. The last barrier, with `ends_period`, follows once all resulting records are processed and nothing moves
// between partitions any more: no account of a host, no share that follows such an account, and no event under
// another id of its host. Then ACCOUNTS and TEAMS apply the grants.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/wire/events/event_codec.h"

namespace cobblestone::pipeline {

// The kind of an event, or of the last event, of a period. Frozen numbers: the kind of the last event is
// stored with the log.
enum class PeriodKind : std::uint8_t {
  // No event in this period; or not a source's event (a bad line, or an event that only the pipeline creates).
  kNothing = 0,
  kResults = 1,
  kCatalogue = 2,
  kHosts = 3,
  kUsers = 4,
  kTeams = 5,
  kTick = 6,  // or a barrier that the source sends
  // A barrier of the period's end is sent, and the end may not be complete: no event may join this period.
  kEnding = 7,
};

// Bytes that are not an envelope count as results, whose stage refuses them.
PeriodKind PeriodKindOf(std::string_view envelope);

// An event of this kind is a period of its own: everything before it is processed before the event is sent, and the
// event is processed before the next event is sent.
constexpr bool StandsAlone(PeriodKind period_kind) { return period_kind > PeriodKind::kResults; }

// Whether the period with last event `last` ends before `next`. `asked`: the source requests it. An end that was
// interrupted (kEnding) is repeated, whatever follows.
bool PeriodEndsBefore(PeriodKind last, PeriodKind next, bool asked);

}  // namespace cobblestone::pipeline
