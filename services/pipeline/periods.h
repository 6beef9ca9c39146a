// Where periods end in a sequence of events that is taken in in lockstep (`replay`, `order: lockstep`): before and behind
// each run of broadcasts, each run of members, and each tick. What is decided in a period is applied at its end, sorted. A
// function of the sequence alone, so that a replay and a running pipeline have the same periods, however the events come in
// blocks.
//
// A period ends with two barriers or more. At the first GRANTS takes the claims of the period, sorted, and decides. When all
// that comes of it has come to rest, and no account of a host is on its way from one partition to another, nor a share behind
// it, nor an event under another number of its host, the last one goes through, with `ends_period`: ACCOUNTS and TEAMS apply what
// was granted.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/wire/events/event_codec.h"

namespace cobblestone {

// What an event is, or what was said last. Frozen numbers: one is stored with the log.
enum class Said : std::uint8_t {
  kNothing = 0,  // in this period; or an event that is none (a bad line, what the pipeline alone makes)
  kResults = 1,
  kCatalogue = 2,
  kHosts = 3,
  kUsers = 4,
  kTeams = 5,
  kTick = 6,  // or a barrier that the source sends
};

// Bytes that are no envelope are refused as results are.
Said SaidBy(std::string_view envelope);

// A run of its own: a period, everything before it has been processed when it comes, and it when the next one does.
constexpr bool StandsAlone(Said said) { return said > Said::kResults; }

// Whether the period in which `last` was said ends before `next`. `asked`: the source wants it.
bool PeriodEndsBefore(Said last, Said next, bool asked);

}  // namespace cobblestone
